/**
 * FM_003: a worker reports on work that the system has long recovered from. The authority
 * restarted, somebody else finished the job, or the job's id is in its second life.
 */
import type { Rules } from '../kernel/index.ts'
import { replay } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { LEASE_MS, StoryWorker } from './story-worker.ts'

/** What a user reads is written down before and after the stale report. */
export interface Reading {
  readonly before: string | null
  readonly after: string | null
}

/** The job was recovered and is over; then its first worker reports another result. */
export function aStaleResultArrives(rules: Rules): Story & { readonly read: Reading } {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const stale = new StoryWorker('stale', authority, ledger)
  const fresh = new StoryWorker('fresh', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  stale.take()
  restart(authority)
  authority.advance(LEASE_MS)
  authority.must({ type: 'ExpireLease' })
  fresh.take()

  const answers = { fresh: fresh.commit({ output: '"fresh"' }), stale: '' }
  const before = authority.task().output
  answers.stale = stale.commit({ output: '"stale"' })
  return { authority, ledger, answers, read: { before, after: authority.task().output } }
}

/** The job is cancelled and forgotten, and its id used again: lease numbers start anew. */
export function aReportFromAnEarlierLife(rules: Rules, nameOfPresent = 'present'): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const old = new StoryWorker('old', authority, ledger)
  const present = new StoryWorker(nameOfPresent, authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain({ input: '"old order"' }) })
  old.take()
  authority.must({ type: 'CancelJob' })
  authority.advance(1)
  authority.must({ type: 'ForgetJob', endedBefore: authority.now })
  authority.must({ type: 'SubmitJob', spec: plain({ input: '"new order"' }) })
  present.take()

  const answers = {
    old: old.commit({ output: '"old order paid"' }),
    present: present.commit({ output: '"new order paid"' }),
  }
  return { authority, ledger, answers }
}

/** The authority forgets everything and computes its state again from the log. */
export function restart(authority: Authority): void {
  authority.world = replay(authority.log)
}
