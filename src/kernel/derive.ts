/**
 * What nobody writes down: the state of an execution, a stage and a job.
 *
 * Each is a pure function of the records and the time. A pipeline's tasks are summed up in
 * one `Tally` per stage, so that deriving costs the same for ten segments as for 100,000;
 * whoever holds the tasks keeps the tallies (`tallyOf` counts them all, `addToTally` follows one).
 */
import type {
  Effect,
  EffectPromise,
  ExecutionStatus,
  Job,
  JobState,
  Lease,
  LeaseEnd,
  StageState,
  Task,
  Waiting,
} from './model.ts'
import { NOT_OPENED, segmentsOf, stageIndex, stagesOf } from './model.ts'
import { isSuspended } from './waits.ts'

/** The tasks of one stage, counted. */
export interface Tally {
  waiting: number
  leased: number
  completed: number
  failed: number
  dead: number
  /** Of the dead: those that died after their commit. */
  deadCommitted: number
  /** Of the waiting, leased and dead: those that have a commit. */
  committedOpen: number
  /** Tasks that were ever granted. */
  granted: number
  /** Of the waiting: those that are in a suspension, due or not. */
  suspended: number
  /** When the last task became COMPLETED, FAILED or DEAD. */
  endedAt: number
  /** The earliest time at which some waiting task does not wait for a retry; Infinity if none waits. */
  retryAt: number
}

export function emptyTally(): Tally {
  return {
    waiting: 0,
    leased: 0,
    completed: 0,
    failed: 0,
    dead: 0,
    deadCommitted: 0,
    committedOpen: 0,
    granted: 0,
    suspended: 0,
    endedAt: 0,
    retryAt: Infinity,
  }
}

export function tallyOf(tasks: readonly Task[]): Tally {
  const tally = emptyTally()
  for (const task of tasks) {
    addToTally(tally, task, 1)
    if (task.state === 'WAITING') tally.retryAt = Math.min(tally.retryAt, readyAt(task))
  }
  return tally
}

/** Counts a task in (+1) or out (-1). `retryAt` is left alone: it is a minimum, not a sum. */
export function addToTally(tally: Tally, task: Task, by: 1 | -1): void {
  switch (task.state) {
    case 'WAITING':
      tally.waiting += by
      if (isSuspended(task)) tally.suspended += by
      break
    case 'LEASED':
      tally.leased += by
      break
    case 'COMPLETED':
      tally.completed += by
      break
    case 'FAILED':
      tally.failed += by
      break
    case 'DEAD':
      tally.dead += by
      if (isHeldTask(task)) tally.deadCommitted += by
      break
  }
  if (task.commit !== null && task.state !== 'COMPLETED') tally.committedOpen += by
  if (task.attempt > 0) tally.granted += by
  tally.endedAt = Math.max(tally.endedAt, task.endedAt ?? 0)
}

/** Nobody took it in time: written or not, it is never granted any more. */
export function missedStart(task: Task, now: number): boolean {
  return task.startBy !== null && task.attempt === 0 && now >= task.startBy
}

/** Written or not: nothing but what is committed goes on, and what is to run on failure. */
export function hasPassedDeadline(job: Job, now: number): boolean {
  return job.deadlineAt !== null && now >= job.deadlineAt
}

/** Whether the deadline of its job stops a task from being granted. */
export function missedDeadline(job: Job, task: Task, now: number): boolean {
  if (task.commit !== null || !hasPassedDeadline(job, now)) return false
  return stagesOf(job)[task.stage]?.onFailure !== true
}

/** Something is neither over nor committed, or a stage is still to open: there is something to cancel. */
export function isUndecided(job: Job, tallies: Tallies): boolean {
  if (job.task !== null) return job.task.commit === null
  return stagesOf(job).some((stage, i) => {
    if (segmentsOf(job, i) === NOT_OPENED) return !stage.onFailure
    const tally = tallies[i]
    return tally !== undefined && tally.waiting + tally.leased + tally.dead > tally.committedOpen
  })
}

/** Some task is DEAD after its commit: only a person can say what became of an effect of it. */
export function hasHeldEffects({ task }: Pick<Job, 'task'>, tallies: Tallies): boolean {
  if (task !== null) return isHeldTask(task)
  return tallies.some(({ deadCommitted }) => deadCommitted > 0)
}

/** Of one task. */
export function isHeldTask({ state, commit }: Task): boolean {
  return state === 'DEAD' && commit !== null
}

/** A first attempt is ready whenever it is due: only a retry time counts as backing off. */
export function readyAt(task: Task): number {
  return task.attempt === 0 ? 0 : task.dueAt
}

/** Whether it happens, or happened, only its receiver knows; running it again may do it twice. */
export function isUnderWay({ state, promise }: Effect): boolean {
  return state === 'STARTED' && !promise.idempotent
}

/** The execution that a lease started, or, for a lease granted after the commit, resumed. */
export function executionStatus(task: Task, lease: Lease): ExecutionStatus {
  if (task.commit !== null && lease.number >= task.commit.lease) {
    return task.state === 'COMPLETED' ? 'DONE' : 'COMMITTED'
  }
  if (lease.endedBy === 'ExecutionSuspended' || lease.endedBy === 'ExecutionContinued') {
    return 'SUSPENDED'
  }
  if (lease.endedBy !== null) return 'ABORTED'
  return lease.startedAt === null ? 'LEASED' : 'IN_PROGRESS'
}

/** Whether a lease ended without a word of its worker. */
export function isLost(endedBy: LeaseEnd | null | undefined): boolean {
  return endedBy === 'LeaseExpired' || endedBy === 'LeaseRevoked'
}

/**
 * Whether a task may be what kills its workers: its last two leases were lost. A claim whose best task is such
 * a one grants it alone; any other claim passes all of them over. So tasks that were lost together with the one
 * that is to blame are not lost with it again and again, until they all are in quarantine, and what stands
 * behind hundreds of them does not wait for them. A store lists them apart, so that passing over reads nothing.
 */
export function isSuspect({ lease, leases, commit }: Task): boolean {
  if (leases.length < 2 || commit !== null) return false
  const last = leases.length - (lease === null ? 1 : 2)
  return isLost(leases[last]?.endedBy) && isLost(leases[last - 1]?.endedBy)
}

/**
 * Whether the next loss of such a task would be its last. It is not run beside any other such task, from its
 * start to its end: whichever of them kills the process, no other is given up for it.
 */
export function isLastChance(task: Task): boolean {
  return task.retries >= task.budget && isSuspect(task)
}

export function stageState(segments: number, tally: Tally, tolerate: number): StageState {
  if (segments === NOT_OPENED) return 'NEW'
  if (tally.failed + tally.dead > tolerate || tally.deadCommitted > 0) return 'ERROR'
  if (tally.waiting + tally.leased === 0) return 'DONE'
  return tally.leased > 0 ? 'RUNNING' : 'READY'
}

/** Tallies of a pipeline, one per stage; none for a plain job, whose task is at hand. */
export type Tallies = readonly Tally[]
export const NO_TALLIES: Tallies = []

export function jobState(job: Job, tallies: Tallies, now: number): JobState {
  return job.task === null ? pipelineState(job, tallies, now) : plainState(job, job.task, now)
}

/** What says in which state the job of a task is. */
export interface TaskStanding extends Pick<Task, 'state' | 'attempt' | 'dueAt'> {
  readonly waiting: Pick<Waiting, 'suspended'> | null
}

/** Of a plain job; of a segment, as if it were one. */
export function plainState(job: Pick<Job, 'held'>, task: TaskStanding, now: number): JobState {
  switch (task.state) {
    case 'COMPLETED':
      return 'SUCCEEDED'
    case 'FAILED':
      return 'FAILED'
    case 'DEAD':
      return 'QUARANTINED'
    case 'LEASED':
      return 'RUNNING'
    case 'WAITING':
      if (task.attempt === 0) return job.held || task.dueAt > now ? 'CREATED' : 'QUEUED'
      if (task.dueAt <= now) return 'QUEUED'
      return isSuspended(task) ? 'SUSPENDED' : 'RETRYING'
  }
}

function pipelineState(job: Job, tallies: Tallies, now: number): JobState {
  const sum = summary(job, tallies)
  if (sum.ending) {
    if (!sum.open && !sum.deadCommitted && sum.onFailureOpened) return 'FAILED'
    if (sum.open || !sum.deadCommitted) return 'RUNNING'
  } else if (sum.allDone) {
    return 'SUCCEEDED'
  }
  if (sum.deadError && !sum.open) return 'QUARANTINED'
  if ((job.held || job.dueAt > now) && !sum.granted) return 'CREATED'
  if (sum.leased) return 'RUNNING'
  if (sum.open && sum.retryAt > now) return sum.suspended ? 'SUSPENDED' : 'RETRYING'
  return sum.granted ? 'RUNNING' : 'QUEUED'
}

interface Summary {
  ending: boolean
  open: boolean
  leased: boolean
  granted: boolean
  suspended: boolean
  /** Some task is DEAD after its commit. */
  deadCommitted: boolean
  /** Some stage is ERROR by a DEAD task. */
  deadError: boolean
  /** Every stage but on-failure ones is DONE. */
  allDone: boolean
  onFailureOpened: boolean
  retryAt: number
}

function summary(job: Job, tallies: Tallies): Summary {
  const sum: Summary = {
    ending: job.cancelled !== null,
    open: false,
    leased: false,
    granted: false,
    suspended: false,
    deadCommitted: false,
    deadError: false,
    allDone: true,
    onFailureOpened: true,
    retryAt: Infinity,
  }
  const stages = stagesOf(job)
  for (let i = 0; i < stages.length; i++) {
    const stage = stages[i] as (typeof stages)[number]
    const tally = tallies[i] as Tally
    const state = stageState(segmentsOf(job, i), tally, stage.tolerate)
    if (tally.waiting + tally.leased > 0) sum.open = true
    if (tally.leased > 0) sum.leased = true
    if (tally.granted > 0) sum.granted = true
    if (tally.suspended > 0) sum.suspended = true
    if (tally.deadCommitted > 0) sum.deadCommitted = true
    if (state === 'ERROR' && tally.dead > 0) sum.deadError = true
    if (stage.onFailure) {
      if (state === 'NEW') sum.onFailureOpened = false
    } else {
      if (state !== 'DONE') sum.allDone = false
      if (tally.failed > stage.tolerate) sum.ending = true
    }
    if (tally.waiting > 0 && tally.retryAt < sum.retryAt) sum.retryAt = tally.retryAt
  }
  return sum
}

/** Nothing is held back any more once the job is cancelled: an on-failure stage is to run. */
export function isHeldBack(job: Job): boolean {
  return job.held && job.cancelled === null
}

/** Cancelled, or more tasks of some stage FAILED than it tolerates: nothing new starts. */
export function isEnding(job: Job, tallies: Tallies): boolean {
  if (job.task !== null) return job.task.state === 'FAILED'
  return summary(job, tallies).ending
}

/** No task is open, and none is DEAD after its commit: the moment for on-failure stages. */
export function isSettled(job: Job, tallies: Tallies): boolean {
  const sum = summary(job, tallies)
  return !sum.open && !sum.deadCommitted
}

export function stageIsDone(job: Job, tallies: Tallies, stage: number): boolean {
  const spec = stagesOf(job)[stage]
  const tally = tallies[stage]
  if (spec === undefined || tally === undefined) return false
  return stageState(segmentsOf(job, stage), tally, spec.tolerate) === 'DONE'
}

export function prerequisitesDone(job: Job, tallies: Tallies, stage: number): boolean {
  const after = stagesOf(job)[stage]?.after ?? []
  return after.every((name) => stageIsDone(job, tallies, stageIndex(job, name)))
}

/** The stages that could be opened now, by index: what an orchestrator proposes. */
export function openableStages(job: Job, tallies: Tallies): number[] {
  const stages = stagesOf(job)
  const ending = isEnding(job, tallies)
  const openable: number[] = []
  for (let i = 0; i < stages.length; i++) {
    if (segmentsOf(job, i) !== NOT_OPENED) continue
    if (stages[i]?.onFailure === true) {
      // One at a time: an opened on-failure stage has open tasks until it is through.
      if (ending && openable.length === 0 && isSettled(job, tallies)) openable.push(i)
    } else if (!isHeldBack(job) && !ending && prerequisitesDone(job, tallies, i)) {
      openable.push(i)
    }
  }
  return openable
}

/** What a plain job is once a commit of it stands; null: that is for its effects to say. */
export function stateByCommit(effects: readonly EffectPromise[]): JobState | null {
  return effects.length === 0 ? 'SUCCEEDED' : null
}

/** When the newest task of a job came to its end, or the job's own newest entry was written, BEFORE it was erased. */
export function jobEndedAt(job: Job, tallies: Tallies): number {
  if (job.task !== null) return job.task.endedAt ?? 0
  const last = job.erased?.timeBefore ?? job.time
  return tallies.reduce((latest, tally) => Math.max(latest, tally.endedAt), last)
}
