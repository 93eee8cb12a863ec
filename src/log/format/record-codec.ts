/**
 * Records as bytes, for checkpoints: a job with its tasks.
 *
 * What follows from where a record stands (of a task: its job, its place, its policy) is not written,
 * nor what a job or a task has that nothing happened to yet: a waiting task takes one byte.
 *
 * What is read equals what was written in more than its values: the held lease is the newest
 * of the list, a task's policy is the one in the job's spec, empty lists are the shared one,
 * and fields stand in the order in which `apply` creates them, so that records that were read
 * and records that were made are of one shape to the virtual machine.
 */
import type {
  Commit,
  Effect,
  EffectState,
  Erased,
  Intervention,
  Job,
  JobSpec,
  Lease,
  Replaced,
  Resolution,
  StageTasks,
  Step,
  Tallies,
  Task,
  TaskState,
  TaskStream,
} from '../../kernel/index.ts'
import {
  deadlineOf,
  emptyTally,
  NO_TALLIES,
  NONE,
  NOT_OPENED,
  policyOf,
  tallyOf,
} from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { readLease, writeLease } from './lease-codec.ts'
import {
  readFailure,
  readPromise,
  readSpec,
  writeFailure,
  writePromise,
  writeSpec,
} from './spec-codec.ts'
import { readKeptMessages, readWaiting, writeKeptMessages, writeWaiting } from './waiting-codec.ts'

// The first seven are the likely ones: with no others the mask takes one byte.
const JOB_TASK = 1
const JOB_POSITIONS = 2
const JOB_DUE_AT = 4
const JOB_OPENED = 8
const JOB_STAGES = 16
const JOB_TIME = 32
const JOB_VERSION = 64
/** Other than its spec says: it was released. */
const JOB_HELD = 128
const JOB_CANCELLED = 256
const JOB_MESSAGES = 512
const JOB_ERASED = 1_024
const JOB_REPLACED = 2_048

/** Of a job, and of a task, that nothing happened to since it was created. */
const FIRST_VERSION = 1

function jobMask(job: Job, spec: JobSpec, stages: StageTasks | null): number {
  let mask = 0
  if (job.task !== null) mask |= JOB_TASK
  if (job.firstPosition !== 0 || job.lastPosition !== 0) mask |= JOB_POSITIONS
  if (job.dueAt !== job.submittedAt) mask |= JOB_DUE_AT
  if (job.opened !== null) mask |= JOB_OPENED
  if (stages !== null) mask |= JOB_STAGES
  if (job.time !== job.submittedAt) mask |= JOB_TIME
  if (job.version !== FIRST_VERSION) mask |= JOB_VERSION
  if (job.held !== spec.held) mask |= JOB_HELD
  if (job.cancelled !== null) mask |= JOB_CANCELLED
  if (job.messages.length > 0) mask |= JOB_MESSAGES
  if (job.replaced !== null) mask |= JOB_REPLACED
  if (job.erased !== null) mask |= JOB_ERASED
  return mask
}

/** What a task's record is relative to. */
type TaskOrigin = Pick<Job, 'spec' | 'dueAt'>

/** Times are written as from when the job was submitted. */
export function writeReplaced(writer: ByteWriter, replaced: Replaced, submittedAt: number): void {
  writer.count(replaced.ids.length)
  for (const id of replaced.ids) writer.text(id)
  writer.timeFrom(submittedAt, replaced.at)
  writer.text(replaced.input)
  writer.count(replaced.definitionVersion)
}

export function readReplaced(reader: ByteReader, submittedAt: number): Replaced {
  return {
    ids: reader.list(() => reader.text()),
    at: reader.timeFrom(submittedAt),
    input: reader.text(),
    definitionVersion: reader.count(),
  }
}

/** The id comes first: see `peekJobId`. */
export function writeJob(writer: ByteWriter, job: Job, stages: StageTasks | null): void {
  const { submittedAt, firstPosition, cancelled, dueAt } = job
  // Once, and not for each of its tasks: it may have to be read.
  const { spec } = job
  const mask = jobMask(job, spec, stages)
  writer.text(job.id)
  writer.count(mask)
  writer.time(submittedAt)
  writeSpec(writer, spec)
  if (mask & JOB_POSITIONS) {
    writer.count(firstPosition)
    writer.integer(job.lastPosition - firstPosition)
  }
  if (mask & JOB_DUE_AT) writer.timeFrom(submittedAt, job.dueAt)
  if (mask & JOB_TIME) writer.timeFrom(submittedAt, job.time)
  if (mask & JOB_VERSION) writer.count(job.version)
  if (cancelled !== null) {
    writer.timeFrom(submittedAt, cancelled.at)
    writer.text(cancelled.by)
    writer.text(cancelled.reason)
    writer.flag(cancelled.deadline)
  }
  if (job.erased !== null) writeErased(writer, job.erased, submittedAt)
  if (job.opened !== null) writeOpened(writer, job.opened)
  if (mask & JOB_MESSAGES) writeKeptMessages(writer, job.messages)
  if (job.replaced !== null) writeReplaced(writer, job.replaced, submittedAt)
  if (job.task !== null) writeTask(writer, job.task, { spec, dueAt }, submittedAt)
  if (stages !== null) writeStages(writer, { spec, dueAt }, submittedAt, stages)
}

export interface JobRecord {
  readonly job: Job
  /** The tasks of a pipeline; null for a plain job. */
  readonly stages: StageTasks | null
}

/** Told of each task of a pipeline, stage by stage and in order. */
export type KeepsTask = (task: Task) => boolean

/** A pipeline's tasks, counted. */
export function recordTallies({ stages }: JobRecord): Tallies {
  if (stages === null) return NO_TALLIES
  return stages.map((tasks) => (tasks === null ? emptyTally() : tallyOf(tasks)))
}

/**
 * `keeps`: whether a task of a pipeline becomes part of the record, where only a few of very many are of use. Those
 * that are kept stand at the places of their segments no more.
 */
export function readJob(
  reader: ByteReader,
  interning: Interning,
  keeps: KeepsTask | null = null,
): JobRecord {
  const id = reader.text()
  const mask = reader.count()
  const submittedAt = reader.time()
  const spec = readSpec(reader, interning)
  const firstPosition = mask & JOB_POSITIONS ? reader.count() : 0
  const lastPosition = mask & JOB_POSITIONS ? reader.timeFrom(firstPosition) : 0
  const dueAt = mask & JOB_DUE_AT ? reader.timeFrom(submittedAt) : submittedAt
  const time = mask & JOB_TIME ? reader.timeFrom(submittedAt) : submittedAt
  const version = mask & JOB_VERSION ? reader.count() : FIRST_VERSION
  const job: Job = {
    id,
    spec,
    version,
    time,
    submittedAt,
    dueAt,
    deadlineAt: deadlineOf(spec, submittedAt),
    held: mask & JOB_HELD ? !spec.held : spec.held,
    cancelled: mask & JOB_CANCELLED ? readCancelled(reader, interning, submittedAt) : null,
    erased: mask & JOB_ERASED ? readErased(reader, interning, submittedAt) : null,
    opened: mask & JOB_OPENED ? readOpened(reader) : null,
    task: null,
    messages: mask & JOB_MESSAGES ? readKeptMessages(reader, interning) : NONE,
    replaced: null,
    firstPosition,
    lastPosition,
  }
  if (mask & JOB_REPLACED) setReplaced(job, readReplaced(reader, submittedAt))
  if (mask & JOB_TASK) {
    if (spec.policy === null) throw reader.malformed('a task has no policy')
    job.task = readTask(reader, interning, job, 0, 0, submittedAt)
  }
  const hasStages = (mask & JOB_STAGES) !== 0
  return { job, stages: hasStages ? readStages(reader, interning, job, keeps) : null }
}

/** Its deadline follows from when it was replaced, and is not written. */
export function setReplaced(job: Job, replaced: Replaced): void {
  job.replaced = replaced
  job.deadlineAt = deadlineOf(job.spec, replaced.at)
}

/** What was submitted, of the job whose record comes next; the rest of it is not read. */
export function readJobSpec(reader: ByteReader, interning: Interning): JobSpec {
  reader.text()
  reader.count()
  reader.time()
  return readSpec(reader, interning)
}

/** Where the job begins whose record comes next. */
export function peekFirstPosition(reader: ByteReader, interning: Interning): number {
  reader.text()
  const mask = reader.count()
  reader.time()
  readSpec(reader, interning)
  return mask & JOB_POSITIONS ? reader.count() : 0
}

/** The id of the job whose record comes next; the reader stays where it is. */
export function peekJobId(reader: ByteReader): string {
  const { at } = reader
  const id = reader.text()
  reader.at = at
  return id
}

function readCancelled(
  reader: ByteReader,
  interning: Interning,
  submittedAt: number,
): NonNullable<Job['cancelled']> {
  const at = reader.timeFrom(submittedAt)
  const by = interning.read(reader)
  return { at, by, reason: interning.read(reader), deadline: reader.flag() }
}

export function writeErased(writer: ByteWriter, erased: Erased, submittedAt: number): void {
  writer.timeFrom(submittedAt, erased.at)
  writer.timeFrom(submittedAt, erased.timeBefore)
  writer.text(erased.by)
  writer.text(erased.reason)
}

export function readErased(reader: ByteReader, interning: Interning, submittedAt: number): Erased {
  const at = reader.timeFrom(submittedAt)
  const timeBefore = reader.timeFrom(submittedAt)
  const by = interning.read(reader)
  return { at, by, reason: interning.read(reader), timeBefore }
}

function writeOpened(writer: ByteWriter, opened: readonly number[]): void {
  writer.count(opened.length)
  // A stage that is not opened is the one below zero.
  for (const segments of opened) writer.count(segments - NOT_OPENED)
}

function readOpened(reader: ByteReader): number[] {
  const opened: number[] = []
  for (let left = reader.length(); left > 0; left--) opened.push(reader.count() + NOT_OPENED)
  return opened
}

/**
 * The tasks of a stage were all created when it was opened, and most likely the last one is
 * touched last: its time stands for that of all that nothing happened to.
 */
function writeStages(
  writer: ByteWriter,
  job: TaskOrigin,
  submittedAt: number,
  stages: StageTasks,
): void {
  writer.count(stages.length)
  for (const tasks of stages) {
    writer.count(tasks === null ? 0 : tasks.length + 1)
    const last = tasks?.at(-1)
    if (tasks === null || last === undefined) continue
    writer.timeFrom(submittedAt, last.time)
    for (const task of tasks) writeTask(writer, task, job, last.time)
  }
}

function readStages(
  reader: ByteReader,
  interning: Interning,
  job: Job,
  keeps: KeepsTask | null,
): StageTasks {
  const stages: StageTasks = []
  const count = reader.length()
  for (let stage = 0; stage < count; stage++) {
    const length = reader.count() - 1
    if (length > reader.end - reader.at) throw reader.malformed(`${length} tasks are not there`)
    if (length < 0) {
      stages.push(null)
      continue
    }
    const tasks: Task[] = []
    stages.push(tasks)
    if (length === 0) continue
    if (job.spec.stages?.[stage] === undefined) throw reader.malformed('tasks have no stage')
    const created = reader.timeFrom(job.submittedAt)
    for (let segment = 0; segment < length; segment++) {
      const task = readTask(reader, interning, job, stage, segment, created)
      if (keeps === null || keeps(task)) tasks.push(task)
    }
  }
  return stages
}

/** The lowest three bits of a task's mask. */
const STATES: readonly TaskState[] = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD']
const STATE_BITS = 7
const TASK_VERSION = 1 << 3
const TASK_TIME = 1 << 4
const TASK_DUE_AT = 1 << 5
const TASK_START_BY = 1 << 6
const TASK_ATTEMPT = 1 << 7
const TASK_RETRIES = 1 << 8
const TASK_BUDGET = 1 << 9
const TASK_LEASES = 1 << 10
/** The newest lease is held. */
const TASK_HELD = 1 << 11
const TASK_STEPS = 1 << 12
const TASK_COMMIT = 1 << 13
const TASK_OUTPUT = 1 << 14
const TASK_ERROR = 1 << 15
const TASK_INPUT = 1 << 16
const TASK_INTERVENTIONS = 1 << 17
const TASK_ENDED = 1 << 18
const TASK_DEFINITION = 1 << 19
const TASK_WAITING = 1 << 20
const TASK_SNOOZES = 1 << 24
/** Other than its policy says: it was rescheduled. */
const TASK_QUEUE = 1 << 25
/** Other than its job's. */
const TASK_PRIORITY = 1 << 26
const TASK_STREAMS = 1 << 29

function stateCode(state: TaskState): number {
  return state === 'WAITING' ? 0 : STATES.indexOf(state)
}

/** Fields that differ from those of a task that was created at `created` and never touched. */
function taskMask(task: Task, { spec }: TaskOrigin, created: number, dueAt: number): number {
  let mask = stateCode(task.state)
  if (task.version !== FIRST_VERSION) mask |= TASK_VERSION
  if (task.time !== created) mask |= TASK_TIME
  if (task.dueAt !== dueAt) mask |= TASK_DUE_AT
  if (task.startBy !== null) mask |= TASK_START_BY
  if (task.attempt !== 0) mask |= TASK_ATTEMPT
  if (task.retries !== 0) mask |= TASK_RETRIES
  if (task.budget !== task.policy.retry.max) mask |= TASK_BUDGET
  if (task.leases.length > 0) mask |= TASK_LEASES
  if (task.lease !== null) mask |= TASK_HELD
  if (task.steps.length > 0) mask |= TASK_STEPS
  if (task.commit !== null) mask |= TASK_COMMIT
  if (task.output !== null) mask |= TASK_OUTPUT
  if (task.error !== null) mask |= TASK_ERROR
  if (task.input !== null) mask |= TASK_INPUT
  if (task.interventions.length > 0) mask |= TASK_INTERVENTIONS
  if (task.endedAt !== null) mask |= TASK_ENDED
  if (task.definitionVersion !== 0) mask |= TASK_DEFINITION
  if (task.waiting !== null) mask |= TASK_WAITING
  if (task.snoozes !== 0) mask |= TASK_SNOOZES
  if (task.policy.queue !== policyOf(spec, task.stage).queue) mask |= TASK_QUEUE
  if (task.priority !== spec.priority) mask |= TASK_PRIORITY
  if (task.streams.length > 0) mask |= TASK_STREAMS
  return mask
}

/**
 * `here`: those that were read before. `sinceSubmit`: no new input dropped steps, so that those which
 * the job was submitted with are among them.
 */
export type StepsElsewhere = (
  here: readonly Step[],
  count: number,
  sinceSubmit: boolean,
) => readonly Step[]

function readSteps(
  reader: ByteReader,
  interning: Interning,
  stepsElsewhere: StepsElsewhere | null,
  sinceSubmit: boolean,
): Step[] {
  const here = reader.list(() => readStep(reader, interning))
  if (stepsElsewhere === null) return here
  return [...here, ...stepsElsewhere(here, reader.count(), sinceSubmit)]
}

/**
 * `created`: when its stage was opened, or thereabouts. Times are written as from then. `stepsHere`: how
 * many of its steps are written, from the first on; only the number of the others is. Infinity: all are.
 */
export function writeTask(
  writer: ByteWriter,
  task: Task,
  job: TaskOrigin,
  created: number,
  stepsHere = Infinity,
): void {
  const firstDueAt = Math.max(job.dueAt, created)
  const mask = taskMask(task, job, created, firstDueAt)
  writer.count(mask)
  if (mask === 0) return
  if (mask & TASK_QUEUE) writer.text(task.policy.queue)
  if (mask & TASK_VERSION) writer.count(task.version)
  if (mask & TASK_TIME) writer.timeFrom(created, task.time)
  if (mask & TASK_DUE_AT) writer.timeFrom(firstDueAt, task.dueAt)
  if (task.startBy !== null) writer.timeFrom(firstDueAt, task.startBy)
  if (mask & TASK_ATTEMPT) writer.count(task.attempt)
  if (mask & TASK_RETRIES) writer.count(task.retries)
  if (mask & TASK_BUDGET) writer.count(task.budget)
  if (mask & TASK_LEASES) {
    writer.count(task.leases.length)
    for (const lease of task.leases) writeLease(writer, lease, created, task.policy.queue)
  }
  if (mask & TASK_STEPS) writeSteps(writer, task.steps, stepsHere)
  if (task.commit !== null) writeCommit(writer, task.commit, created)
  if (task.output !== null) writer.text(task.output)
  if (task.error !== null) writeFailure(writer, task.error)
  if (task.input !== null) writer.text(task.input)
  if (mask & TASK_INTERVENTIONS) {
    writer.count(task.interventions.length)
    for (const one of task.interventions) writeIntervention(writer, one, created)
  }
  if (task.endedAt !== null) writer.timeFrom(created, task.endedAt)
  if (mask & TASK_DEFINITION) writer.count(task.definitionVersion)
  if (task.waiting !== null) writeWaiting(writer, task.waiting, created)
  if (mask & TASK_SNOOZES) writer.count(task.snoozes)
  if (mask & TASK_PRIORITY) writer.integer(task.priority)
  if (mask & TASK_STREAMS) {
    writer.count(task.streams.length)
    for (const stream of task.streams) writeStream(writer, stream)
  }
}

function writeSteps(writer: ByteWriter, steps: readonly Step[], stepsHere: number): void {
  const here = Math.min(steps.length, stepsHere)
  writer.count(here)
  for (let i = 0; i < here; i++) writeStep(writer, steps[i] as Step)
  if (stepsHere !== Infinity) writer.count(steps.length - here)
}

/** `stepsElsewhere`: gives the steps of which only the number was written; null: all were. */
/** What stands first in the record of a task. */
export interface TaskHead {
  readonly state: TaskState
  readonly version: number
  readonly time: number
  readonly dueAt: number
  readonly attempt: number
}

/** The first fields of what `readTask` reads, without what the job was submitted with. */
export function readTaskHead(reader: ByteReader, created: number, jobDueAt: number): TaskHead {
  const firstDueAt = Math.max(jobDueAt, created)
  const mask = reader.count()
  const state = STATES[mask & STATE_BITS]
  if (state === undefined) throw reader.malformed('there is no such state of a task')
  if (mask & TASK_QUEUE) reader.text()
  const version = mask & TASK_VERSION ? reader.count() : FIRST_VERSION
  const time = mask & TASK_TIME ? reader.timeFrom(created) : created
  const dueAt = mask & TASK_DUE_AT ? reader.timeFrom(firstDueAt) : firstDueAt
  if (mask & TASK_START_BY) reader.timeFrom(firstDueAt)
  return { state, version, time, dueAt, attempt: mask & TASK_ATTEMPT ? reader.count() : 0 }
}

export function readTask(
  reader: ByteReader,
  interning: Interning,
  job: Job,
  stage: number,
  segment: number,
  created: number,
  stepsElsewhere: StepsElsewhere | null = null,
): Task {
  const firstDueAt = Math.max(job.dueAt, created)
  const { spec } = job
  const mask = reader.count()
  const shared = policyOf(spec, stage)
  const policy = mask & TASK_QUEUE ? { ...shared, queue: interning.read(reader) } : shared
  const state = STATES[mask & STATE_BITS]
  if (state === undefined) throw reader.malformed('there is no such state of a task')
  const version = mask & TASK_VERSION ? reader.count() : FIRST_VERSION
  const time = mask & TASK_TIME ? reader.timeFrom(created) : created
  const dueAt = mask & TASK_DUE_AT ? reader.timeFrom(firstDueAt) : firstDueAt
  const startBy = mask & TASK_START_BY ? reader.timeFrom(firstDueAt) : null
  const attempt = mask & TASK_ATTEMPT ? reader.count() : 0
  const retries = mask & TASK_RETRIES ? reader.count() : 0
  const budget = mask & TASK_BUDGET ? reader.count() : policy.retry.max
  const leases =
    mask & TASK_LEASES
      ? reader.list(() => readLease(reader, interning, created, policy.queue))
      : NONE
  const task: Task = {
    job: job.id,
    stage,
    segment,
    policy,
    priority: spec.priority,
    version,
    time,
    state,
    dueAt,
    startBy,
    attempt,
    retries,
    budget,
    snoozes: 0,
    lease: mask & TASK_HELD ? newest(reader, leases) : null,
    leases,
    steps:
      mask & TASK_STEPS
        ? readSteps(
            reader,
            interning,
            stepsElsewhere,
            (mask & TASK_INPUT) === 0 && job.replaced === null,
          )
        : NONE,
    commit: mask & TASK_COMMIT ? readCommit(reader, interning, created) : null,
    output: mask & TASK_OUTPUT ? reader.text() : null,
    error: mask & TASK_ERROR ? readFailure(reader, interning) : null,
    input: mask & TASK_INPUT ? reader.text() : null,
    interventions:
      mask & TASK_INTERVENTIONS
        ? reader.list(() => readIntervention(reader, interning, created))
        : NONE,
    endedAt: mask & TASK_ENDED ? reader.timeFrom(created) : null,
    definitionVersion: mask & TASK_DEFINITION ? reader.count() : 0,
    waiting: mask & TASK_WAITING ? readWaiting(reader, interning, created) : null,
    streams: NONE,
  }
  if (mask & TASK_SNOOZES) task.snoozes = reader.count()
  if (mask & TASK_PRIORITY) task.priority = reader.integer()
  if (mask & TASK_STREAMS) task.streams = reader.list(() => readStream(reader, interning))
  return task
}

function newest(reader: ByteReader, leases: readonly Lease[]): Lease {
  const lease = leases.at(-1)
  if (lease === undefined) throw reader.malformed('a lease is held, and there is none')
  return lease
}

function writeStep(writer: ByteWriter, step: Step): void {
  writer.text(step.name)
  writer.text(step.value)
  writer.count(step.lease)
}

function readStep(reader: ByteReader, interning: Interning): Step {
  return { name: interning.read(reader), value: reader.text(), lease: reader.count() }
}

function writeStream(writer: ByteWriter, { name, next, lease, since }: TaskStream): void {
  writer.text(name)
  writer.count(next)
  writer.count(lease)
  writer.count(since)
}

function readStream(reader: ByteReader, interning: Interning): TaskStream {
  const name = interning.read(reader)
  return { name, next: reader.count(), lease: reader.count(), since: reader.count() }
}

function writeCommit(writer: ByteWriter, commit: Commit, created: number): void {
  writer.count(commit.lease)
  writer.timeFrom(created, commit.at)
  writer.count(commit.effects.length)
  for (const effect of commit.effects) writeEffect(writer, effect, created)
}

function readCommit(reader: ByteReader, interning: Interning, created: number): Commit {
  return {
    lease: reader.count(),
    at: reader.timeFrom(created),
    effects: reader.list(() => readEffect(reader, interning, created)),
  }
}

/** The lowest three bits of an effect's mask. */
const EFFECT_STATES: readonly EffectState[] = ['PROMISED', 'STARTED', 'UNKNOWN', 'HELD', 'FINISHED']
const EFFECT_STARTS = 8
const EFFECT_RETRIES = 16
const EFFECT_BUDGET = 32
const EFFECT_ERROR = 64
const EFFECT_RESOLUTIONS = 128

function writeEffect(writer: ByteWriter, effect: Effect, created: number): void {
  const { promise, starts, retries, budget, error, resolutions } = effect
  let mask = EFFECT_STATES.indexOf(effect.state)
  if (starts.length > 0) mask |= EFFECT_STARTS
  if (retries !== 0) mask |= EFFECT_RETRIES
  if (budget !== promise.retry.max) mask |= EFFECT_BUDGET
  if (error !== null) mask |= EFFECT_ERROR
  if (resolutions.length > 0) mask |= EFFECT_RESOLUTIONS
  writer.u8(mask)
  writePromise(writer, promise)
  if (mask & EFFECT_STARTS) {
    writer.count(starts.length)
    for (const start of starts) writer.count(start)
  }
  if (mask & EFFECT_RETRIES) writer.count(retries)
  if (mask & EFFECT_BUDGET) writer.count(budget)
  if (error !== null) writeFailure(writer, error)
  if (mask & EFFECT_RESOLUTIONS) {
    writer.count(resolutions.length)
    for (const resolution of resolutions) writeResolution(writer, resolution, created)
  }
}

function readEffect(reader: ByteReader, interning: Interning, created: number): Effect {
  const mask = reader.u8()
  const state = EFFECT_STATES[mask & STATE_BITS]
  if (state === undefined) throw reader.malformed('there is no such state of an effect')
  const promise = readPromise(reader, interning)
  const starts = mask & EFFECT_STARTS ? reader.list(() => reader.count()) : NONE
  const retries = mask & EFFECT_RETRIES ? reader.count() : 0
  const budget = mask & EFFECT_BUDGET ? reader.count() : promise.retry.max
  const error = mask & EFFECT_ERROR ? readFailure(reader, interning) : null
  const resolutions =
    mask & EFFECT_RESOLUTIONS ? reader.list(() => readResolution(reader, interning, created)) : NONE
  return { promise, state, starts, retries, budget, error, resolutions }
}

const OUTCOMES = ['happened', 'again'] as const

function writeResolution(writer: ByteWriter, resolution: Resolution, created: number): void {
  writer.count(resolution.start)
  writer.choice(OUTCOMES, resolution.outcome)
  writer.timeFrom(created, resolution.at)
  writer.text(resolution.by)
  writer.text(resolution.reason)
}

function readResolution(reader: ByteReader, interning: Interning, created: number): Resolution {
  return {
    start: reader.count(),
    outcome: reader.choice(OUTCOMES),
    at: reader.timeFrom(created),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

const INTERVENTIONS = ['retry', 'force'] as const

function writeIntervention(writer: ByteWriter, one: Intervention, created: number): void {
  writer.choice(INTERVENTIONS, one.kind)
  writer.count(one.attempt)
  writer.choice(STATES, one.to)
  writer.timeFrom(created, one.at)
  writer.text(one.by)
  writer.text(one.reason)
  writer.flag(one.payload !== null)
  if (one.payload !== null) writer.text(one.payload)
}

function readIntervention(reader: ByteReader, interning: Interning, created: number): Intervention {
  const kind = reader.choice(INTERVENTIONS)
  const attempt = reader.count()
  const to = reader.choice(STATES)
  const at = reader.timeFrom(created)
  const by = interning.read(reader)
  const reason = interning.read(reader)
  const payload = reader.flag() ? reader.text() : null
  return { kind, attempt, to, payload, at, by, reason }
}
