/**
 * FM_001: a worker is slow, its lease times out, and a second worker is given the same task.
 * Then both say that they are done.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { LEASE_MS, StoryWorker } from './story-worker.ts'

export function bothWorkersFinish(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const slow = new StoryWorker('slow', authority, ledger)
  const quick = new StoryWorker('quick', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  slow.take()
  authority.advance(LEASE_MS)
  authority.must({ type: 'ExpireLease' })
  quick.take()

  return { authority, ledger, answers: { slow: slow.commit(), quick: quick.commit() } }
}
