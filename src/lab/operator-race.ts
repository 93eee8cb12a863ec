/**
 * FM_009: an operator retries a task that looks dead, while another is still about to act:
 * the worker that was only slow, or another operator.
 */
import type { Rules } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { plain, retry } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { answerOf } from './story.ts'
import { LEASE_MS, StoryWorker } from './story-worker.ts'

interface Dead {
  readonly authority: Authority
  readonly ledger: DeedLedger
  readonly slow: StoryWorker
}

/** A task without retries whose only worker fell silent: DEAD, at attempt 1. */
function aTaskThatLooksDead(rules: Rules): Dead {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const slow = new StoryWorker('slow', authority, ledger)
  authority.must({ type: 'SubmitJob', spec: plain({}, { retry: retry({ max: 0 }) }) })
  slow.take()
  authority.advance(LEASE_MS)
  authority.must({ type: 'ExpireLease' })
  return { authority, ledger, slow }
}

/** The operator retries; then the worker that was given up reports, and the new one too. */
export function theSlowWorkerReportsAfterTheRetry(rules: Rules): Story {
  const { authority, ledger, slow } = aTaskThatLooksDead(rules)
  const next = new StoryWorker('next', authority, ledger)
  const retried = answerOf(authority.send({ type: 'RetryTask', attempt: 1 }))
  next.take()
  return { authority, ledger, answers: { retried, slow: slow.commit(), next: next.commit() } }
}

/**
 * Ann looks at attempt 1 and decides to retry. Before she does, Bob sets the task going again;
 * it dies once more, and he charges the card by hand. Now Ann's retry arrives, and whatever it
 * sets free is run. Last, Bob puts on record what he did.
 */
export function anOperatorActsOnAnOldView(rules: Rules): Story {
  const { authority, ledger } = aTaskThatLooksDead(rules)
  const second = new StoryWorker('second', authority, ledger)
  const third = new StoryWorker('third', authority, ledger)

  authority.must({ type: 'ForceTask', by: 'bob', attempt: 1, to: 'WAITING', output: null })
  second.take()
  authority.advance(LEASE_MS)
  authority.must({ type: 'ExpireLease' })
  ledger.record('charge', 'bob')

  const ann = answerOf(authority.send({ type: 'RetryTask', by: 'ann', attempt: 1 }))
  third.take()
  third.commit()
  const paid = { by: 'bob', attempt: 2, to: 'COMPLETED', output: '"paid by hand"' } as const
  const bob = answerOf(authority.send({ type: 'ForceTask', ...paid }))
  return { authority, ledger, answers: { ann, bob } }
}
