/**
 * Schedules: set, fired tick by tick, removed.
 *
 * When a tick is due is the engine's arithmetic. Here it is only made sure that a tick's job
 * is submitted before the tick is recorded, and never after.
 */
import { committed, reject } from '../answers.ts'
import type { FireSchedule, RemoveSchedule, SetSchedule } from '../commands.ts'
import type { Guard, Reads } from '../guards.ts'
import { safety, validation } from '../guards.ts'
import type { Rule } from './rule.ts'

function nextVersion(reads: Reads): number {
  return (reads.schedule?.version ?? 0) + 1
}

function scheduleHead(reads: Reads): Reads['schedule'] {
  return reads.schedule
}

/** A change that rests on what its sender read must not undo one that he did not read. */
const versionSeen: Guard<SetSchedule> = validation(
  'version-seen',
  'The schedule is as the sender saw it, if he says what he saw.',
  ({ schedule, seen }, reads) => {
    const version = reads.schedule?.version ?? 0
    return seen === null || seen === version
      ? null
      : reject(
          'ScheduleChanged',
          `Schedule ${schedule} is at version ${version}, not ${seen}: look again first.`,
          { version },
        )
  },
)

export const setSchedule: Rule<SetSchedule> = {
  repeat: ({ definition }, reads) =>
    reads.schedule?.definition === definition ? committed(null, null) : null,
  guards: [versionSeen],
  entry: ({ schedule, definition, by, reason }, reads, now) => ({
    type: 'ScheduleSet',
    at: now,
    version: nextVersion(reads),
    schedule,
    definition,
    by,
    reason,
  }),
  head: scheduleHead,
  locksJob: false,
}

const scheduleKnown: Guard<FireSchedule> = validation(
  'schedule-known',
  'The schedule was set at some time.',
  (command, reads) =>
    reads.schedule === null
      ? reject('UnknownSchedule', `There is no schedule ${command.schedule}: set it first.`)
      : null,
)

/** Also for a schedule that was removed in between: what was submitted must be recorded. */
const tickSubmitted: Guard<FireSchedule> = safety(
  'tick-submitted',
  'The job of the tick is durably submitted, unless the tick is skipped.',
  (command, reads) =>
    command.skipped || reads.originSubmitted
      ? null
      : reject(
          'TickNotSubmitted',
          `The job of schedule ${command.schedule} for tick ${command.tick} was not submitted yet.`,
          { tick: command.tick },
        ),
)

export const fireSchedule: Rule<FireSchedule> = {
  repeat: ({ tick }, reads) =>
    (reads.schedule?.firedTick ?? -1) >= tick ? committed(null, null) : null,
  guards: [scheduleKnown, tickSubmitted],
  entry: ({ schedule, tick, skipped }, reads, now) => ({
    type: 'ScheduleFired',
    at: now,
    version: nextVersion(reads),
    schedule,
    tick,
    skipped,
  }),
  head: scheduleHead,
  locksJob: false,
}

export const removeSchedule: Rule<RemoveSchedule> = {
  repeat: (_command, reads) => (reads.schedule?.definition == null ? committed(null, null) : null),
  guards: [],
  entry: ({ schedule, by, reason }, reads, now) => ({
    type: 'ScheduleRemoved',
    at: now,
    version: nextVersion(reads),
    schedule,
    by,
    reason,
  }),
  head: scheduleHead,
  locksJob: false,
}
