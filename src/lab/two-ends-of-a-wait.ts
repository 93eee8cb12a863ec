/**
 * FM_012: a worker falls silent before it takes the answer that is there, and another one takes it. Then the
 * first comes back, finds the next answer, and takes that for the same wait.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { approval } from './approval-wait.ts'
import { LEASE_MS, StoryWorker } from './story-worker.ts'

export interface TwoEnds extends Story {
  readonly second: StoryWorker
}

export function twoWorkersEndIt(rules: Rules): TwoEnds {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const first = new StoryWorker('first', authority, ledger)
  const second = new StoryWorker('second', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  first.take()
  authority.must({ type: 'SendMessage', id: 'm1', name: 'approval', value: '"yes"' })
  authority.must({ type: 'SendMessage', id: 'm2', name: 'approval', value: '"no"' })
  authority.now += LEASE_MS
  authority.must({ type: 'ExpireLease', lease: 1 })
  second.take()
  const live = second.endWait(approval(), 'm1')
  const late = first.endWait(approval(), 'm2')
  return { authority, ledger, second, answers: { live, late } }
}
