/**
 * Which entries are news for other processes, and of what kind.
 */
import type { Entry } from '../../../kernel/index.ts'
import type { NewsKind } from '../../news.ts'
import { isListed } from '../../state/task-snapshot.ts'
import type { AppliedEntry } from '../transaction/working-set.ts'

/** At most: that an entry of a type may be all of this. */
const BY_TYPE: Readonly<Record<Entry['type'], readonly NewsKind[]>> = {
  JobSubmitted: ['work', 'upkeep'],
  JobReleased: ['work', 'upkeep'],
  JobCancelled: ['ends', 'work', 'interrupts', 'upkeep'],
  JobForgotten: [],
  StageOpened: ['work'],
  LeaseGranted: [],
  ExecutionStarted: [],
  LeaseExtended: [],
  LeaseReleased: ['work'],
  StepRecorded: [],
  ExecutionCommitted: ['ends', 'work'],
  EffectStarted: [],
  EffectFinished: ['ends', 'work'],
  EffectFailed: ['ends', 'work'],
  EffectResolved: ['ends', 'work'],
  TaskFailed: ['ends', 'work'],
  LeaseExpired: ['ends', 'work', 'interrupts'],
  LeaseRevoked: ['ends', 'work', 'interrupts'],
  ReportRefused: [],
  TaskStopped: ['ends', 'work', 'interrupts'],
  TaskRetried: ['work'],
  TaskForced: ['ends', 'work', 'interrupts'],
  QueueConfigured: ['work'],
  QueuePaused: [],
  QueueResumed: ['work'],
  ScheduleSet: ['schedules'],
  ScheduleFired: [],
  ScheduleRemoved: ['schedules'],
}

/** Of an entry of which only the type is known; one of a newer version is news of every kind. */
export function newsOfType(type: string): readonly NewsKind[] | null {
  return Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type as Entry['type']] : null
}

/** `mayStop`: whether a queue has limits of its own. */
export function newsOf(
  done: AppliedEntry,
  mayStop: (queue: string) => boolean,
): readonly NewsKind[] {
  const kinds = BY_TYPE[done.entry.type]
  if (kinds.length === 0) return kinds
  return kinds.filter((kind) => {
    if (kind === 'work') return isWork(done, mayStop)
    return kind === 'upkeep' ? done.job?.task === null : true
  })
}

/** It can be taken now, or it left room for others that wait for a limit. */
function isWork({ entry, job, task }: AppliedEntry, mayStop: (queue: string) => boolean): boolean {
  // Of several tasks, or of a queue. A pipeline has nothing to take before a stage is opened.
  if (task === null) return entry.type !== 'JobSubmitted'
  const { limits, queue } = task.policy
  const isWaiting = job !== null && isListed(job, task) && task.dueAt <= entry.at
  return isWaiting || limits.length > 0 || mayStop(queue)
}

/** When a task can be taken; null: it was not time that it waited for when its entry was decided. */
export function dueAtOf({ entry, job, task }: AppliedEntry): number | null {
  if (task === null || job === null || !isListed(job, task)) return null
  return task.dueAt > entry.at ? task.dueAt : null
}
