/**
 * FM_013: a job that calls another one suspends, and its worker dies BEFORE it submits the callee. In a second
 * story the caller has gone on without it when a slow process submits it at last.
 */
import type { Rules } from '../kernel/index.ts'
import { calleeId } from '../kernel/index.ts'
import { Authority } from './authority.ts'
import { call, plain } from './specs.ts'
import { DeedLedger } from './deed-ledger.ts'
import type { Story } from './story.ts'
import { answerOf } from './story.ts'
import { StoryWorker } from './story-worker.ts'

export const CALL = { ...call(), delayMs: 1_000 }
const { callee: spec } = CALL
export const CALLEE = calleeId(spec!.caller!)

/** What the worker, or upkeep, sends. */
export function submitCallee(authority: Authority): string {
  return answerOf(authority.send({ type: 'SubmitJob', job: CALLEE, spec: spec! }))
}

export interface CallerDies extends Story {
  readonly worker: StoryWorker
}

export function theCallerDies(rules: Rules): CallerDies {
  const authority = new Authority(rules)
  const ledger = new DeedLedger()
  const worker = new StoryWorker('worker', authority, ledger)

  authority.must({ type: 'SubmitJob', spec: plain() })
  worker.take()
  const suspend = worker.suspend(CALL)
  return { authority, ledger, worker, answers: { suspend } }
}

/** The time of the call is over, and the caller pays by other means. Then the callee is submitted. */
export function theSubmitIsLate(rules: Rules): CallerDies {
  const story = theCallerDies(rules)
  const { authority, worker, ledger } = story
  authority.now += 1_000
  worker.take()
  worker.commit()
  const submit = submitCallee(authority)
  const other = new StoryWorker('other', authority, ledger)
  if (other.take({ job: CALLEE }) === 'committed') other.commit()
  return { ...story, answers: { ...story.answers, submit } }
}
