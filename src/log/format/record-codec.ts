/**
 * Records as bytes, for checkpoints: a job with its tasks, a queue, a schedule.
 *
 * What is read equals what was written in more than its values: the held lease is the newest
 * of the list, a task's policy is the one in the job's spec, empty lists are the shared one,
 * and fields stand in the order in which `apply` creates them, so that records that were read
 * and records that were made are of one shape to the virtual machine.
 */
import type {
  Job,
  JobSpec,
  Queue,
  Schedule,
  StageTasks,
  Tallies,
  Task,
} from '../../kernel/index.ts'
import { emptyTally, NO_TALLIES, NOT_OPENED, tallyOf } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { readRate, readSpec, writeRate, writeSpec } from './spec-codec.ts'
import { readTask, writeTask } from './task-record.ts'

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

const FIRST_VERSION = 1

function jobMask(job: Job, stages: StageTasks | null): number {
  let mask = 0
  if (job.task !== null) mask |= JOB_TASK
  if (job.firstPosition !== 0 || job.lastPosition !== 0) mask |= JOB_POSITIONS
  if (job.dueAt !== job.submittedAt) mask |= JOB_DUE_AT
  if (job.opened !== null) mask |= JOB_OPENED
  if (stages !== null) mask |= JOB_STAGES
  if (job.time !== job.submittedAt) mask |= JOB_TIME
  if (job.version !== FIRST_VERSION) mask |= JOB_VERSION
  if (job.held !== job.spec.held) mask |= JOB_HELD
  if (job.cancelled !== null) mask |= JOB_CANCELLED
  return mask
}

/** The id comes first: see `peekJobId`. */
export function writeJob(writer: ByteWriter, job: Job, stages: StageTasks | null): void {
  const mask = jobMask(job, stages)
  const { submittedAt, firstPosition, cancelled } = job
  writer.text(job.id)
  writer.count(mask)
  writer.time(submittedAt)
  writeSpec(writer, job.spec)
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
  }
  if (job.opened !== null) writeOpened(writer, job.opened)
  if (job.task !== null) writeTask(writer, job.task, job, submittedAt)
  if (stages !== null) writeStages(writer, job, stages)
}

export interface JobRecord {
  readonly job: Job
  /** The tasks of a pipeline; null for a plain job. */
  readonly stages: StageTasks | null
}

/** A pipeline's tasks, counted. */
export function recordTallies({ stages }: JobRecord): Tallies {
  if (stages === null) return NO_TALLIES
  return stages.map((tasks) => (tasks === null ? emptyTally() : tallyOf(tasks)))
}

export function readJob(reader: ByteReader, interning: Interning): JobRecord {
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
    held: mask & JOB_HELD ? !spec.held : spec.held,
    cancelled: mask & JOB_CANCELLED ? readCancelled(reader, interning, submittedAt) : null,
    opened: mask & JOB_OPENED ? readOpened(reader) : null,
    task: null,
    firstPosition,
    lastPosition,
  }
  if (mask & JOB_TASK) {
    if (spec.policy === null) throw reader.malformed('a task has no policy')
    job.task = readTask(reader, interning, job, 0, 0, submittedAt)
  }
  return { job, stages: mask & JOB_STAGES ? readStages(reader, interning, job) : null }
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
  return { at, by, reason: interning.read(reader) }
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
function writeStages(writer: ByteWriter, job: Job, stages: StageTasks): void {
  writer.count(stages.length)
  for (const tasks of stages) {
    writer.count(tasks === null ? 0 : tasks.length + 1)
    const last = tasks?.at(-1)
    if (tasks === null || last === undefined) continue
    writer.timeFrom(job.submittedAt, last.time)
    for (const task of tasks) writeTask(writer, task, job, last.time)
  }
}

function readStages(reader: ByteReader, interning: Interning, job: Job): StageTasks {
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
      tasks.push(readTask(reader, interning, job, stage, segment, created))
    }
  }
  return stages
}

const QUEUE_PAUSED = 1
const QUEUE_CONCURRENCY = 2
const QUEUE_RATE = 4
const QUEUE_AGEING = 8
const QUEUE_KNOWN = QUEUE_PAUSED | QUEUE_CONCURRENCY | QUEUE_RATE | QUEUE_AGEING

export function writeQueue(writer: ByteWriter, queue: Queue): void {
  const { concurrency, rate, ageingMs } = queue
  let mask = 0
  if (queue.paused) mask |= QUEUE_PAUSED
  if (concurrency !== null) mask |= QUEUE_CONCURRENCY
  if (rate !== null) mask |= QUEUE_RATE
  if (ageingMs !== null) mask |= QUEUE_AGEING
  writer.u8(mask)
  writer.text(queue.name)
  writer.count(queue.version)
  writer.time(queue.time)
  writer.time(queue.pausedAt)
  if (concurrency !== null) writer.count(concurrency)
  if (rate !== null) writeRate(writer, rate)
  if (ageingMs !== null) writer.count(ageingMs)
}

export function readQueue(reader: ByteReader, interning: Interning): Queue {
  const mask = reader.u8()
  if ((mask & ~QUEUE_KNOWN) !== 0) throw reader.malformed('a queue has a field that is not known')
  const name = interning.read(reader)
  const version = reader.count()
  const time = reader.time()
  const pausedAt = reader.time()
  const concurrency = mask & QUEUE_CONCURRENCY ? reader.count() : null
  const rate = mask & QUEUE_RATE ? readRate(reader) : null
  const ageingMs = mask & QUEUE_AGEING ? reader.count() : null
  const paused = (mask & QUEUE_PAUSED) !== 0
  return { name, version, time, paused, pausedAt, concurrency, rate, ageingMs }
}

const SCHEDULE_DEFINITION = 1
const SCHEDULE_FIRED = 2

export function writeSchedule(writer: ByteWriter, schedule: Schedule): void {
  const { definition, firedTick } = schedule
  let mask = 0
  if (definition !== null) mask |= SCHEDULE_DEFINITION
  if (firedTick !== null) mask |= SCHEDULE_FIRED
  writer.u8(mask)
  writer.text(schedule.id)
  writer.count(schedule.version)
  writer.time(schedule.time)
  if (definition !== null) writer.text(definition)
  if (firedTick !== null) writer.time(firedTick)
}

export function readSchedule(reader: ByteReader, interning: Interning): Schedule {
  const mask = reader.u8()
  const id = interning.read(reader)
  const version = reader.count()
  const time = reader.time()
  const definition = mask & SCHEDULE_DEFINITION ? reader.text() : null
  const firedTick = mask & SCHEDULE_FIRED ? reader.time() : null
  return { id, version, time, definition, firedTick }
}
