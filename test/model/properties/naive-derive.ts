/**
 * The state of stages and jobs in the naive model: the tables of the design, line by line, over
 * what the histories say.
 */
import type { JobState, StageSpec, StageState } from '../../../src/kernel/index.ts'
import type { JobHistory } from './naive-history.ts'
import { facts, isPlain, jobDueAt, last } from './naive-history.ts'
import type { TaskReading } from './naive-task.ts'
import { heldLease, readTask } from './naive-task.ts'

export interface StageReading {
  readonly name: string
  readonly onFailure: boolean
  readonly tolerate: number
  readonly after: readonly string[]
  readonly opened: boolean
  readonly tasks: readonly TaskReading[]
}

/** What was read stands until the history of the job changes; its state also depends on the time. */
interface Reading {
  readonly changes: number
  readonly stages: readonly StageReading[]
  at: number
  state: JobState
}

const readings = new WeakMap<JobHistory, Reading>()

function readJob(job: JobHistory): Reading {
  const known = readings.get(job)
  if (known?.changes === job.changes) return known
  const { changes } = job
  const reading: Reading = { changes, stages: readStagesAnew(job), at: -1, state: 'CREATED' }
  readings.set(job, reading)
  return reading
}

export function readStages(job: JobHistory): readonly StageReading[] {
  return readJob(job).stages
}

export function jobState(job: JobHistory, now: number): JobState {
  const reading = readJob(job)
  if (reading.at !== now) {
    reading.state = deriveState(job, reading.stages, now)
    reading.at = now
  }
  return reading.state
}

function readStagesAnew(job: JobHistory): StageReading[] {
  const only = { name: 'only', onFailure: false, tolerate: 0, after: [] }
  const shapes: readonly Pick<StageSpec, 'name' | 'onFailure' | 'tolerate' | 'after'>[] = job.spec
    .stages ?? [only]
  const openings = new Set(facts(job.facts, 'OpenStage').map((fact) => fact.command.stage))
  return shapes.map(({ name, onFailure, tolerate, after }, index) => ({
    name,
    onFailure,
    tolerate,
    after,
    opened: isPlain(job) || openings.has(index),
    tasks: job.tasks.filter((task) => task.stage === index).map((task) => readTask(job, task)),
  }))
}

export function isOpen(task: TaskReading): boolean {
  return task.state === 'WAITING' || task.state === 'LEASED'
}

function diedCommitted(task: TaskReading): boolean {
  return task.state === 'DEAD' && task.committedBy !== null
}

export function stageState(stage: StageReading): StageState {
  if (!stage.opened) return 'NEW'
  const lost = stage.tasks.filter((task) => task.state === 'FAILED' || task.state === 'DEAD')
  if (lost.length > stage.tolerate || stage.tasks.some(diedCommitted)) return 'ERROR'
  if (!stage.tasks.some(isOpen)) return 'DONE'
  return stage.tasks.some((task) => task.state === 'LEASED') ? 'RUNNING' : 'READY'
}

function isErrorByDead(stage: StageReading): boolean {
  return stageState(stage) === 'ERROR' && stage.tasks.some((task) => task.state === 'DEAD')
}

export function isHeld(job: JobHistory): boolean {
  return job.spec.held && last(job.facts, 'ReleaseJob') === undefined
}

/** A cancelled job is not kept waiting any more: what is to run on failure may run. */
export function isHeldBack(job: JobHistory): boolean {
  return isHeld(job) && !isCancelled(job)
}

export function isCancelled(job: JobHistory): boolean {
  return facts(job.facts, 'CancelJob').length > 0
}

export function isEnding(job: JobHistory, stages: readonly StageReading[]): boolean {
  const failed = stages.some(
    (stage) =>
      !stage.onFailure &&
      stage.tasks.filter((task) => task.state === 'FAILED').length > stage.tolerate,
  )
  return isCancelled(job) || failed
}

/** Nothing is open, and nobody has to look at something that was committed. */
export function isSettled(stages: readonly StageReading[]): boolean {
  return !stages.some((stage) => stage.tasks.some((task) => isOpen(task) || diedCommitted(task)))
}

function deriveState(job: JobHistory, stages: readonly StageReading[], now: number): JobState {
  const tasks = stages.flatMap((stage) => stage.tasks)
  const open = tasks.filter(isOpen)
  const ending = isEnding(job, stages)
  const granted = tasks.some((task) => task.leases.length > 0)
  const allOpened = stages.every((stage) => !stage.onFailure || stage.opened)
  if (ending && isSettled(stages) && allOpened) return 'FAILED'
  if (ending && (open.length > 0 || !tasks.some(diedCommitted))) return 'RUNNING'
  if (!ending && stages.every((stage) => stage.onFailure || stageState(stage) === 'DONE')) {
    return 'SUCCEEDED'
  }
  if (stages.some(isErrorByDead) && open.length === 0) return 'QUARANTINED'
  // A plain job is due with its task, which an operator may have forced to be due at once.
  const dueAt = isPlain(job) ? (tasks[0]?.dueAt ?? 0) : jobDueAt(job)
  if ((isHeldBack(job) || now < dueAt) && !granted) return 'CREATED'
  if (open.some((task) => heldLease(task) !== undefined)) return 'RUNNING'
  const retried = (task: TaskReading): boolean => task.leases.length > 0 && now < task.dueAt
  if (open.length > 0 && open.every(retried)) {
    return open.some((task) => task.suspended !== null) ? 'SUSPENDED' : 'RETRYING'
  }
  return isPlain(job) || !granted ? 'QUEUED' : 'RUNNING'
}

export function isFinal(state: JobState): boolean {
  return state === 'SUCCEEDED' || state === 'FAILED'
}

/** When the last thing happened that the end of a job depends on. */
export function jobEndedAt(job: JobHistory): number {
  const ends = readStages(job).flatMap((stage) => stage.tasks.map((task) => task.endedAt ?? 0))
  return Math.max(job.submittedAt, ...ends, ...job.facts.map((fact) => fact.at))
}

const PLAIN: Readonly<Record<JobState, string>> = {
  CREATED: 'CREATED QUEUED SUCCEEDED FAILED',
  QUEUED: 'QUEUED CREATED RUNNING RETRYING SUCCEEDED FAILED',
  RUNNING: 'RUNNING SUCCEEDED FAILED SUSPENDED RETRYING QUARANTINED QUEUED',
  SUSPENDED: 'SUSPENDED QUEUED SUCCEEDED FAILED',
  RETRYING: 'RETRYING QUEUED SUCCEEDED FAILED',
  QUARANTINED: 'QUARANTINED QUEUED SUCCEEDED FAILED',
  SUCCEEDED: '',
  FAILED: '',
}

function hasBegun(state: JobState): boolean {
  return state !== 'CREATED' && state !== 'QUEUED'
}

/** Whether a change by an entry that locks the job may take the job from one state to the other. */
export function mayMove(job: JobHistory, from: JobState, to: JobState): boolean {
  if (isPlain(job)) return PLAIN[from].split(' ').includes(to)
  if (isFinal(from)) return false
  if (from === to || isFinal(to)) return true
  return !hasBegun(from) || hasBegun(to)
}
