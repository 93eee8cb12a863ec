/**
 * Fires due times: submits their jobs first, then records the times.
 *
 * The id of a job is made of its schedule and its time, so an engine that does this twice, or at the
 * same time as another, makes one job. If the process ends in between, the next round finds the time
 * not recorded, and does both again.
 */
import type { Command, Rejection } from '../../kernel/index.ts'
import { tickId } from '../../kernel/index.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Answer, Store } from '../../store/index.ts'
import { Refused } from '../errors.ts'
import type { Due } from './due-times.ts'

export interface FiringParts {
  readonly store: Store
  readonly batcher: CommandBatcher
  readonly onError: (error: Error) => void
}

type Submit = Extract<Command, { type: 'SubmitJob' }>

/** Another engine has fired it, or the schedule is gone. */
const NO_LONGER_DUE: ReadonlySet<Rejection['code']> = new Set<Rejection['code']>([
  'TickFired',
  'UnknownSchedule',
])

/** How many commands it took. */
export async function fire(parts: FiringParts, due: readonly Due[]): Promise<number> {
  const submits = due.flatMap(submitsOf)
  const answers = submits.length === 0 ? [] : await parts.batcher.sendAll(submits)
  const records: Command[] = []
  let at = 0
  for (const { id, times, record } of due) {
    let hasJob = false
    for (const [i] of times.entries()) {
      hasJob = await hasOwnJob(parts, submits[at + i] as Submit, answers[at + i] as Answer)
    }
    at += times.length
    records.push({ type: 'FireSchedule', schedule: id, tick: record, skipped: !hasJob })
  }
  const recorded = await parts.batcher.sendAll(records)
  recorded.forEach(({ rejection }, i) => {
    if (rejection === null) return
    parts.onError(new Refused(`Recording a time of schedule ${due[i]?.id}`, rejection))
  })
  return submits.length + records.length
}

function submitsOf({ id, stored, times }: Due): Submit[] {
  return times.map((tick) => ({
    type: 'SubmitJob',
    job: tickId(id, tick),
    spec: { ...stored.spec, schedule: { id, tick } },
  }))
}

/** Whether the time has its own job now. One that can have none is passed over, on record. */
async function hasOwnJob(
  { store, onError }: FiringParts,
  { job: id, spec }: Submit,
  { value, rejection }: Answer,
): Promise<boolean> {
  // Another job holds the unique key: the job of an earlier time, as a rule.
  if (rejection === null) return value === id
  if (NO_LONGER_DUE.has(rejection.code)) return false
  // It may have been made by what the schedule was a moment ago.
  const view = rejection.code === 'IdReused' ? await store.query({ kind: 'job', job: id }) : null
  const { schedule } = view?.job.spec ?? { schedule: null }
  if (schedule !== null && schedule.tick === spec.schedule?.tick) return true
  const time = new Date(spec.schedule?.tick ?? 0).toISOString()
  onError(new Refused(`The job of schedule ${spec.schedule?.id} for ${time}`, rejection))
  return false
}
