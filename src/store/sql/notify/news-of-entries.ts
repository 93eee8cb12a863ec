/**
 * Which entries are news for other processes, and of what kind.
 */
import type { Entry } from '../../../kernel/index.ts'
import type { NewsKind } from '../../notice.ts'
import { isListed } from '../../state/task-snapshot.ts'
import type { AppliedEntry } from '../transaction/working-set.ts'

/** What an entry of a type can be news of, at most. */
const BY_TYPE: Readonly<Record<Entry['type'], readonly NewsKind[]>> = {
  JobSubmitted: ['work', 'upkeep'],
  JobReleased: ['work', 'upkeep'],
  JobReplaced: ['work'],
  JobCancelled: ['ends', 'work', 'interrupts', 'upkeep'],
  JobErased: [],
  JobForgotten: [],
  StageOpened: ['work'],
  LeaseGranted: [],
  ExecutionStarted: [],
  LeaseExtended: [],
  LeaseReleased: ['work'],
  StepRecorded: [],
  StreamAppended: [],
  WaitEnded: [],
  ExecutionSuspended: ['work'],
  ExecutionContinued: ['work'],
  MessageSent: ['work'],
  MessageKept: [],
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
  TaskRescheduled: ['work'],
  QueueConfigured: ['work'],
  QueuePaused: [],
  QueueResumed: ['work'],
  ScheduleSet: ['schedules'],
  ScheduleFired: [],
  ScheduleRemoved: ['schedules'],
}

/** Null: the type is of a newer version, and may be news of every kind. */
export function newsOfType(type: string): readonly NewsKind[] | null {
  return Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type as Entry['type']] : null
}

/** `mayBeRestricted`: whether a queue may be paused, or have limits of its own. */
export function newsOf(
  applied: AppliedEntry,
  mayBeRestricted: (queue: string) => boolean,
): readonly NewsKind[] {
  const kinds = BY_TYPE[applied.entry.type]
  if (kinds.length === 0) return kinds
  return kinds.filter((kind) => {
    if (kind === 'work') return isWork(applied, mayBeRestricted)
    return kind === 'upkeep' ? applied.job?.task === null : true
  })
}

/** Its task is ready, or it left room for others that wait for a limit. */
function isWork(
  { entry, job, task }: AppliedEntry,
  mayBeRestricted: (queue: string) => boolean,
): boolean {
  // It is about several tasks, or about a queue. A pipeline has no task before a stage is opened.
  if (task === null) return entry.type !== 'JobSubmitted' && entry.type !== 'JobReplaced'
  const { limits, queue } = task.policy
  const isWaiting = job !== null && isListed(job, task) && task.dueAt <= entry.at
  return isWaiting || limits.length > 0 || mayBeRestricted(queue)
}

/** When its task will be due; null: it is due already, or does not wait. */
export function dueAtOf({ entry, job, task }: AppliedEntry): number | null {
  if (task === null || job === null || !isListed(job, task)) return null
  return task.dueAt > entry.at ? task.dueAt : null
}
