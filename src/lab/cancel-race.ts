/**
 * FM_010: a customer cancels at the very moment at which the worker commits. One of the two is
 * first in the log, and the other one must be told.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain, promise } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { answerOf } from './story.ts'
import { StoryWorker } from './story-worker.ts'

/** The worker has committed and is charging the card when the cancel arrives. */
export function theCommitIsFirst(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  const commit = worker.commit({ effects: [promise({ name: 'charge' })] })
  worker.perform(0)
  const cancel = answerOf(authority.send({ type: 'CancelJob', by: 'customer' }))
  return { authority, ledger, answers: { commit, cancel } }
}

/** The cancel is in the log when the worker reports that it is done. */
export function theCancelIsFirst(rules: Rules): Story {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  const cancel = answerOf(authority.send({ type: 'CancelJob', by: 'customer' }))
  return { authority, ledger, answers: { cancel, commit: worker.commit() } }
}
