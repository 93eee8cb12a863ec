/**
 * One job of a schedule at once, because a person asks for it. It stands for no due time: it has an id of its own, and nothing
 * of the schedule changes. On record are who asked for it, why, and from which schedule it came.
 */
import type { Rejection, SubmitJob } from '../../kernel/index.ts'
import type { Answer } from '../../store/index.ts'
import type { Actor } from '../actor.ts'
import { actorOfRun } from '../actor.ts'
import { Refused } from '../errors.ts'
import type { StoredSchedule } from './stored-schedule.ts'

export interface RunScheduleOptions extends Actor {
  /** Of the job. Default: a random one. */
  readonly id?: string
}

export function submitNow(
  schedule: string,
  { spec }: StoredSchedule,
  job: string,
  actor: Actor,
): SubmitJob {
  const asked = actorOfRun(actor, `now from schedule '${schedule}'`)
  return { type: 'SubmitJob', job, spec: { ...spec, schedule: null, asked } }
}

/** The id of the job. Throws if there is none: another one with its unique key is no answer to a person who wants it run. */
export function submittedNow(
  schedule: string,
  { job, spec }: SubmitJob,
  { value, rejection }: Answer,
): string {
  const refusal: Rejection | null =
    rejection ?? (value === job ? null : keyHeld(String(value), spec.key))
  if (refusal !== null) throw new Refused(`Running schedule '${schedule}' now`, refusal)
  return job
}

function keyHeld(holder: string, key: string | null): Rejection {
  return {
    code: 'KeyReused',
    check: 'run-now',
    message: `Job ${holder} has its key '${key}' and is not over. Nothing was submitted.`,
    details: { job: holder },
  }
}
