/**
 * FM_012: a worker falls silent before it takes the answer that is there, and another one takes it. Then the
 * first comes back, finds the next answer, and takes that for the same wait.
 */
import type { Rules } from '../../../../src/kernel/index.ts'
import { Authority } from '../../../support/authority.ts'
import { plain } from '../../../support/specs.ts'
import { Ledger } from '../ledger.ts'
import type { Story } from '../story.ts'
import { approval } from '../waits.ts'
import { LEASE_MS, Worker } from '../worker.ts'

export interface TwoEnds extends Story {
  readonly second: Worker
}

export function twoWorkersEndIt(rules: Rules): TwoEnds {
  const authority = new Authority(rules)
  const ledger = new Ledger()
  const first = new Worker('first', authority, ledger)
  const second = new Worker('second', authority, ledger)

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
