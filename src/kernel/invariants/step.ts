/**
 * What must hold between the state before an entry and the state after it.
 *
 * This is how a log is audited: every entry must have been legitimate when it was written.
 */
import {
  executionStatus,
  hasPassedDeadline,
  isEnding,
  isUnderWay,
  jobState,
  missedDeadline,
  missedStart,
} from '../derive.ts'
import type {
  Entry,
  JobReplaced,
  LeaseGranted,
  LeaseRevoked,
  TaskEntry,
  TaskStopped,
} from '../entries.ts'
import type { ParentRef, Task } from '../model.ts'
import { headOf, NOT_OPENED } from '../model.ts'
import { childId, tickId } from '../ids.ts'
import {
  effectMayMove,
  executionMayMove,
  isFinal,
  jobMayMove,
  PIPELINE_JOB_TRANSITIONS,
  PLAIN_JOB_TRANSITIONS,
  taskMayMove,
} from '../transitions.ts'
import { isSuspended } from '../waits.ts'
import type { World } from '../world.ts'
import { countTallies, findTask } from '../world.ts'
import { checkCallMove } from './calls.ts'
import type { Violation } from './invariant.ts'
import { Findings } from './invariant.ts'
import { checkWaitMove } from './waits.ts'

/** Entries that only the holder of the current lease can cause. */
const UNDER_LEASE: ReadonlySet<Entry['type']> = new Set<Entry['type']>([
  'ExecutionStarted',
  'LeaseExtended',
  'LeaseReleased',
  'StepRecorded',
  'StreamAppended',
  'WaitEnded',
  'ExecutionSuspended',
  'ExecutionContinued',
  'ExecutionCommitted',
  'TaskFailed',
  'EffectStarted',
  'EffectFailed',
])

export function stepViolations(before: World, entry: Entry, after: World): Violation[] {
  const found = new Findings(() => entry.type)
  checkHead(before, entry, found)
  if ('job' in entry) {
    checkJobMove(before, entry, after, found)
    if ('segment' in entry) {
      const task = findTask(before, entry.job, entry.stage, entry.segment)
      const next = findTask(after, entry.job, entry.stage, entry.segment)
      if (task !== undefined && next !== undefined) checkTaskMove(task, entry, next, found)
      if (entry.type === 'EffectFinished') {
        const child = task?.commit?.effects[entry.effect]?.promise.child
        // With a key the child may be another job, which may be forgotten.
        const submitted = child == null || child.key !== null || isChild(before, entry)
        found.expect(submitted, 7, 'a child was recorded that is not there')
      }
    }
  }
  checkCallMove(before, entry, found)
  if (entry.type === 'TaskStopped') checkStop(before, entry, found)
  if (entry.type === 'TaskRescheduled') {
    const job = before.jobs.get(entry.job)
    const ending = job !== undefined && isEnding(job, countTallies(before, job))
    found.expect(!ending, 10, 'a task of a job was rescheduled although it is ending')
  }
  if (entry.type === 'JobReplaced') checkReplaced(before, entry, found)
  if (entry.type === 'LeaseGranted') checkInTime(before, entry, found)
  if (entry.type === 'JobCancelled') {
    const job = before.jobs.get(entry.job)
    const inTime = !entry.deadline || (job !== undefined && hasPassedDeadline(job, entry.at))
    found.expect(inTime, 9, 'a job was cancelled by a deadline that had not passed')
  }
  if (entry.type === 'JobReleased') {
    const job = before.jobs.get(entry.job)
    const ending = job !== undefined && isEnding(job, countTallies(before, job))
    found.expect(!ending, 10, 'a job was released although it is ending')
  }
  if (entry.type === 'MessageKept') {
    const job = before.jobs.get(entry.job)
    const ending = job !== undefined && isEnding(job, countTallies(before, job))
    found.expect(!ending, 10, 'a message was kept for a job that is ending')
  }
  if (entry.type === 'ScheduleFired') {
    const fired = before.schedules.get(entry.schedule)?.firedTick ?? null
    found.expect(fired === null || fired < entry.tick, 5, 'a tick was fired twice')
    const job = before.jobs.get(tickId(entry.schedule, entry.tick))
    const submitted = job?.spec.schedule?.tick === entry.tick
    found.expect(entry.skipped || submitted, 7, 'a tick was recorded whose job is not there')
  }
  return found.violations
}

/** The job that the effect stands for is there, and came from it. */
function isChild(before: World, parent: ParentRef): boolean {
  const child = before.jobs.get(childId(parent))
  return child?.spec.parent?.job === parent.job
}

/** Nothing begins after the deadline, written or not. */
function checkInTime(before: World, entry: LeaseGranted, found: Findings): void {
  const job = before.jobs.get(entry.job)
  const task = findTask(before, entry.job, entry.stage, entry.segment)
  if (job === undefined || task === undefined) return
  const isLate = missedDeadline(job, task, entry.at)
  found.expect(!isLate, 9, () => `${job.id} was granted after its deadline`)
}

/** Nothing was begun, nothing is over, and nothing is too late. */
function checkReplaced(before: World, entry: JobReplaced, found: Findings): void {
  const job = before.jobs.get(entry.job)
  if (job === undefined) return
  const { task, opened } = job
  const hasBegun =
    task === null
      ? opened?.some((segments) => segments !== NOT_OPENED) === true
      : task.attempt > 0 || task.state !== 'WAITING'
  found.expect(!hasBegun, 13, () => `${job.id} was replaced although it had begun`)
  const ending = isEnding(job, countTallies(before, job))
  found.expect(!ending, 10, () => `${job.id} was replaced although it is ending`)
  const isLate = hasPassedDeadline(job, entry.at) || (task !== null && missedStart(task, entry.at))
  found.expect(!isLate, 9, () => `${job.id} was replaced when it was too late for it`)
}

/** Work is taken away for a reason only. */
function checkStop(before: World, entry: TaskStopped, found: Findings): void {
  const job = before.jobs.get(entry.job)
  const task = findTask(before, entry.job, entry.stage, entry.segment)
  if (job === undefined || task === undefined) return
  const holds =
    entry.reason === 'ending'
      ? isEnding(job, countTallies(before, job))
      : task.startBy !== null && task.attempt === 0 && entry.at >= task.startBy
  found.expect(holds, 9, () => `a task was stopped by ${entry.reason}, which is not so`)
}

function headBefore(before: World, entry: Entry): { version: number; time: number } | undefined {
  if ('queue' in entry) return before.queues.get(entry.queue)
  if ('schedule' in entry) return before.schedules.get(entry.schedule)
  if ('segment' in entry) return findTask(before, entry.job, entry.stage, entry.segment)
  const job = before.jobs.get(entry.job)
  return job === undefined ? undefined : headOf(job)
}

function checkHead(before: World, entry: Entry, found: Findings): void {
  const head = headBefore(before, entry)
  found.expect(
    entry.version === (head?.version ?? 0) + 1,
    5,
    () => `version ${entry.version} after ${head?.version ?? 0}`,
  )
  found.expect(entry.at >= (head?.time ?? 0), 5, () => `time ${entry.at} after ${head?.time ?? 0}`)
}

function checkJobMove(
  before: World,
  entry: Entry & { job: string },
  after: World,
  found: Findings,
): void {
  const job = before.jobs.get(entry.job)
  const next = after.jobs.get(entry.job)
  if (job === undefined) {
    found.expect(entry.type === 'JobSubmitted', 8, () => `there is no job ${entry.job}`)
    return
  }
  const from = jobState(job, countTallies(before, job), entry.at)
  if (next === undefined) {
    found.expect(isFinal(from), 4, () => `${job.id} was forgotten while ${from}`)
    return
  }
  // What goes on needs what it was given.
  const isTooEarly = entry.type === 'JobErased' && !isFinal(from)
  found.expect(!isTooEarly, 4, () => `${job.id} was erased while ${from}`)
  const to = jobState(next, countTallies(after, next), entry.at)
  const table = job.task === null ? PIPELINE_JOB_TRANSITIONS : PLAIN_JOB_TRANSITIONS
  found.expect(jobMayMove(table, from, to), 6, () => `${job.id} went from ${from} to ${to}`)
  found.expect(
    !isFinal(from) || entry.type === 'ReportRefused' || entry.type === 'JobErased',
    4,
    () => `${job.id} is ${from} and was changed`,
  )
}

function checkTaskMove(task: Task, entry: TaskEntry, next: Task, found: Findings): void {
  found.expect(
    taskMayMove(task.state, next.state, entry.type),
    6,
    () => `a task went from ${task.state} to ${next.state}`,
  )
  const final = task.state === 'COMPLETED' || task.state === 'FAILED'
  found.expect(
    !final || entry.type === 'ReportRefused',
    4,
    () => `a task is ${task.state} and was changed`,
  )
  if (UNDER_LEASE.has(entry.type)) checkAuthority(task, entry, found)
  checkGrowth(task, entry, next, found)
  checkExecutions(task, entry, next, found)
  checkCommitted(task, entry, next, found)
  checkWaitMove(task, entry, next, found)
  if (next.streams.length > 0) checkStreamMove(task, entry, next, found)
}

/** Only an append moves a stream, and from where it was. */
function checkStreamMove(task: Task, entry: TaskEntry, next: Task, found: Findings): void {
  for (const { name, next: end } of next.streams) {
    const begin = task.streams.find((one) => one.name === name)?.next ?? 0
    const appended = entry.type === 'StreamAppended' && entry.name === name ? entry : null
    found.expect(
      end === begin + (appended?.values.length ?? 0),
      13,
      () => `stream '${name}' went from ${begin} to ${end}`,
    )
  }
  const { length } = task.streams
  found.expect(next.streams.length >= length, 13, 'a stream was dropped')
}

function checkAuthority(task: Task, entry: TaskEntry, found: Findings): void {
  const { lease: number } = entry as TaskEntry & { lease: number }
  found.expect(
    task.lease?.number === number,
    1,
    () => `accepted under lease ${number}, but ${task.lease?.number ?? 'none'} is held`,
  )
  const endsAt = task.lease?.expiresAt ?? Infinity
  found.expect(
    entry.at < endsAt,
    9,
    () => `accepted ${entry.at - endsAt} ms after the lease ran out`,
  )
}

function checkGrowth(task: Task, entry: TaskEntry, next: Task, found: Findings): void {
  const grants = entry.type === 'LeaseGranted' ? 1 : 0
  found.expect(
    next.attempt === task.attempt + grants,
    5,
    () => `attempt ${task.attempt} became ${next.attempt}`,
  )
  found.expect(
    next.retries >= task.retries,
    5,
    () => `retries ${task.retries} became ${next.retries}`,
  )
  found.expect(next.budget >= task.budget, 5, 'the budget shrank')
  const snoozed = entry.type === 'TaskFailed' && entry.free ? 1 : 0
  found.expect(
    next.snoozes === task.snoozes + snoozed,
    5,
    () => `snoozes ${task.snoozes} became ${next.snoozes}`,
  )
  if (entry.type === 'LeaseGranted') {
    found.expect(
      task.lease === null,
      1,
      () => `lease ${entry.lease} was granted while lease ${task.lease?.number} is held`,
    )
    found.expect(task.dueAt <= entry.at, 9, 'a task was granted before it was due')
  }
  if ('lease' in entry && (entry.type === 'LeaseExpired' || entry.type === 'LeaseRevoked')) {
    found.expect(
      task.lease?.number === entry.lease,
      1,
      () => `lease ${entry.lease} was ended, but it is not held`,
    )
  }
  if (entry.type === 'LeaseRevoked') checkRevocation(task, entry, found)
  if (entry.type === 'TaskRescheduled') checkRescheduled(task, found)
  if (
    entry.type === 'TaskRetried' ||
    entry.type === 'TaskForced' ||
    entry.type === 'TaskRescheduled'
  ) {
    found.expect(
      entry.attempt === task.attempt,
      4,
      () => `decided at attempt ${entry.attempt}, done at ${task.attempt}`,
    )
  }
}

/** What a worker has, what is committed, or what waits in a suspension, is where it is. */
function checkRescheduled(task: Task, found: Findings): void {
  found.expect(task.state === 'WAITING', 9, () => `a task was rescheduled while ${task.state}`)
  found.expect(task.commit === null, 3, 'a task was rescheduled after its commit')
  found.expect(!isSuspended(task), 12, 'a task was rescheduled in a suspension')
}

/** A lease is taken from who was seen silent, and by presence only if nothing is on its way. */
function checkRevocation(task: Task, entry: LeaseRevoked, found: Findings): void {
  const extension = task.lease?.extension ?? null
  found.expect(
    entry.extension === null || entry.extension === extension,
    1,
    () => `decided at extension ${entry.extension}, done at ${extension}`,
  )
  const effects = task.commit?.effects ?? []
  found.expect(
    !entry.presence || !effects.some(isUnderWay),
    3,
    'presence took a lease while an effect may be on its way',
  )
}

function checkExecutions(task: Task, entry: TaskEntry, next: Task, found: Findings): void {
  for (const lease of task.leases) {
    const later = next.leases.find((one) => one.number === lease.number)
    if (later === undefined) continue
    const from = executionStatus(task, lease)
    const to = executionStatus(next, later)
    found.expect(
      executionMayMove(from, to, entry.type),
      6,
      () => `an execution went from ${from} to ${to}`,
    )
    found.expect(
      !lease.refused || entry.type !== 'ReportRefused' || entry.lease !== lease.number,
      4,
      'refused twice',
    )
  }
}

/** The commit is the boundary: what it says stands, and only its effects go on. */
function checkCommitted(task: Task, entry: TaskEntry, next: Task, found: Findings): void {
  if (task.commit === null) return
  const same =
    next.commit !== null && next.commit.lease === task.commit.lease && next.output === task.output
  found.expect(same, 3, 'a second commit replaced the first')
  found.expect(next.steps.length === task.steps.length, 3, 'a step was recorded after the commit')
  task.commit.effects.forEach((effect, i) => {
    const later = next.commit?.effects[i]
    if (later === undefined) return
    found.expect(
      effectMayMove(effect.state, later.state, entry.type),
      3,
      () => `effect ${i} went from ${effect.state} to ${later.state}`,
    )
    const repeated = effect.state === 'UNKNOWN' && later.state === 'STARTED'
    found.expect(
      !repeated || effect.promise.idempotent,
      3,
      () => `effect ${i} was silently repeated`,
    )
    if (entry.type === 'EffectFinished' && entry.effect === i) {
      found.expect(
        effect.starts.includes(entry.lease),
        3,
        `effect ${i} was finished by a lease that never started it`,
      )
    }
    if (entry.type === 'EffectResolved' && entry.effect === i) {
      found.expect(
        effect.starts.at(-1) === entry.start,
        3,
        `effect ${i} was resolved for an older start`,
      )
    }
  })
}
