/**
 * The bytes in the `record` columns: entries, jobs, tasks, queues and schedules in the encoding of a
 * directory's log, each with a checksum behind it.
 *
 * What was submitted is in the record of the `JobSubmitted` only. The row of a job has its position, and
 * is small however large its input is.
 *
 * The steps of a task are in the records of its `StepRecorded` only. Its own record says how many there are,
 * so that it is as small for the thousandth step as for the first, and says by its format that a statement
 * which reads it adds them. A step whose entry is not in this database, because it was copied or repaired,
 * stays in the record of its task. Those that a job was submitted with are in the record of its `JobSubmitted`.
 */
import type {
  Entry,
  Job,
  JobSpec,
  JobSubmitted,
  KeptStep,
  Queue,
  Schedule,
  Step,
  Task,
} from '../../../kernel/index.ts'
import {
  createJob,
  deadlineOf,
  keptStep,
  NONE,
  NOT_OPENED,
  PawlError,
  redactJob,
} from '../../../kernel/index.ts'
import type { StepsElsewhere } from '../../../log/index.ts'
import {
  ByteReader,
  ByteWriter,
  checksumOf,
  CURRENT_VERSION,
  ENTRY_CODES,
  Interning,
  SubmittedAlike,
  MalformedBytes,
  readErased,
  readKeptMessages,
  readQueue,
  readReplaced,
  readSchedule,
  readTask,
  readTaskHead,
  setReplaced,
  upcast,
  writeEntry,
  writeErased,
  writeKeptMessages,
  writeQueue,
  writeReplaced,
  writeSchedule,
  writeTask,
} from '../../../log/index.ts'
import { asBuffer } from '../connection.ts'

/** The checksum of a record is wrong, or it makes no sense: a person must look. */
export class CorruptRecord extends PawlError {
  /** Without the place. */
  readonly why: string

  /** `where`: the row, for people. `database`: null if the caller knows it. */
  constructor(where: string, why: string, cause?: unknown, database: string | null = null) {
    const place = database === null ? where : `${database}: ${where.replace(/^The/, 'the')}`
    super(
      'CorruptRecord',
      'corrupt',
      `${place} is damaged: ${why}. Nothing was changed; verify the store to see all that is wrong.`,
      { where, database },
      cause,
    )
    this.why = why
  }
}

/** The record of a task has more steps than were found in its events. */
export class StepsMissing extends CorruptRecord {}

/** Of the records of jobs and tasks: a task has no steps, or all of them are in its record. */
const FORMAT = 1
/** It has steps that are in their events. */
const STEPS_IN_EVENTS = 2
/** As statements give it: this byte, the record, each StepRecorded behind its length, the record's length. */
const WITH_STEPS = 3
/** Of the record, and of each step. */
const LENGTH_BYTES = 4

/** In place of each step of a record that was read without its events. */
export const STEP_IN_EVENTS: Step = Object.freeze({ name: '', value: 'null', lease: 0 })

/** Steps that are in the record of their task: their entries are not in this database. */
const stepsInRecord = new WeakSet<Step>()
const CHECKSUM = 4

/** Size of the buffers that small records share. */
const BUFFER_BYTES = 64 * 1_024
/** Records up to this size share a buffer. */
const SMALL_BYTES = 1_024

const JOB_TASK = 1
const JOB_OPENED = 2
const JOB_HELD = 4
const JOB_CANCELLED = 8
const JOB_MESSAGES = 16
const JOB_ERASED = 32
const JOB_REPLACED = 64

/** What a record says that the columns of its row say, too. */
export interface RowRecordHead {
  readonly state: string
  readonly version: number
  readonly attempt: number
  /** Null: it is not known by the record alone. */
  readonly dueAt: number | null
  /** Of its newest entry; null: as above. */
  readonly time: number | null
  /** How many tasks its open stages have; null: it is not the row of a pipeline. */
  readonly tasks: number | null
}

export class Records {
  readonly #database: string | null
  readonly #interning = new Interning()
  #writer = new ByteWriter(BUFFER_BYTES)
  /** Where the record begins that is being written. */
  #start = 0

  /** `database`: for the errors; null if the caller knows it. */
  constructor(database: string | null = null) {
    this.#database = database
  }

  ofEntry(entry: Entry): Uint8Array {
    const writer = this.#begin()
    writer.u8(ENTRY_CODES[entry.type])
    writer.u8(CURRENT_VERSION[entry.type])
    writeEntry(writer, entry)
    return this.#end()
  }

  /** The same for each of submits that are alike. */
  ofSubmits(entries: readonly JobSubmitted[]): Uint8Array[] {
    const [first] = entries
    if (first === undefined) return []
    const alike = new SubmittedAlike(first)
    return entries.map((entry) => {
      const writer = this.#begin()
      writer.u8(ENTRY_CODES.JobSubmitted)
      writer.u8(CURRENT_VERSION.JobSubmitted)
      alike.write(writer, entry)
      return this.#end()
    })
  }

  entry(record: Uint8Array, position: number): Entry {
    return this.#read(record, `The event at position ${position}`, (reader) => {
      const code = reader.u8()
      return upcast(reader, code, reader.u8(), this.#interning)
    })
  }

  /** Everything but its spec, steps that are in events and, of a pipeline, its tasks. */
  ofJob(job: Job): Uint8Array {
    return this.#ofJob(job, job.task === null ? Infinity : stepsHere(job.task))
  }

  /** The same with all steps. */
  ofWholeJob(job: Job): Uint8Array {
    return this.#ofJob(job, Infinity)
  }

  #ofJob(job: Job, steps: number): Uint8Array {
    const writer = this.#begin()
    writer.u8(steps === Infinity ? FORMAT : STEPS_IN_EVENTS)
    let mask = 0
    if (job.task !== null) mask |= JOB_TASK
    if (job.opened !== null) mask |= JOB_OPENED
    if (job.held) mask |= JOB_HELD
    if (job.cancelled !== null) mask |= JOB_CANCELLED
    if (job.messages.length > 0) mask |= JOB_MESSAGES
    if (job.replaced !== null) mask |= JOB_REPLACED
    if (job.erased !== null) mask |= JOB_ERASED
    writer.u8(mask)
    writer.time(job.submittedAt)
    writer.timeFrom(job.submittedAt, job.dueAt)
    writer.timeFrom(job.submittedAt, job.time)
    writer.count(job.version)
    if (job.cancelled !== null) {
      writer.timeFrom(job.submittedAt, job.cancelled.at)
      writer.text(job.cancelled.by)
      writer.text(job.cancelled.reason)
      writer.flag(job.cancelled.deadline)
    }
    if (job.erased !== null) writeErased(writer, job.erased, job.submittedAt)
    if (job.opened !== null) {
      writer.count(job.opened.length)
      // A stage that is not opened is the one below zero.
      for (const segments of job.opened) writer.count(segments - NOT_OPENED)
    }
    if (mask & JOB_MESSAGES) writeKeptMessages(writer, job.messages)
    if (job.replaced !== null) writeReplaced(writer, job.replaced, job.submittedAt)
    if (job.task !== null) writeTask(writer, job.task, job, job.submittedAt, steps)
    return this.#end()
  }

  /** `record`: null if the job has not changed since it was submitted. */
  job(record: Uint8Array | null, submitted: JobSubmitted): Job {
    return record === null ? createJob(submitted) : this.#job(record, submitted.job, submitted.spec)
  }

  #job(record: Uint8Array, id: string, spec: JobSpec): Job {
    return this.#readWithSteps(record, `The row of job ${id}`, spec.steps, (reader, elsewhere) => {
      const mask = reader.u8()
      const submittedAt = reader.time()
      const dueAt = reader.timeFrom(submittedAt)
      const time = reader.timeFrom(submittedAt)
      const version = reader.count()
      const job: Job = {
        id,
        spec,
        version,
        time,
        submittedAt,
        dueAt,
        deadlineAt: deadlineOf(spec, submittedAt),
        held: (mask & JOB_HELD) !== 0,
        cancelled: null,
        erased: null,
        opened: null,
        task: null,
        messages: NONE,
        replaced: null,
        firstPosition: 0,
        lastPosition: 0,
      }
      if (mask & JOB_CANCELLED) {
        const at = reader.timeFrom(submittedAt)
        const [by, reason] = [reader.text(), reader.text()]
        job.cancelled = { at, by, reason, deadline: reader.flag() }
      }
      if (mask & JOB_ERASED) job.erased = readErased(reader, this.#interning, submittedAt)
      if (mask & JOB_OPENED) {
        const opened: number[] = []
        for (let left = reader.length(); left > 0; left--) opened.push(reader.count() + NOT_OPENED)
        job.opened = opened
      }
      if (mask & JOB_MESSAGES) {
        job.messages = readKeptMessages(reader, this.#interning)
      }
      if (mask & JOB_REPLACED) setReplaced(job, readReplaced(reader, submittedAt))
      if (mask & JOB_TASK) {
        if (spec.policy === null) throw reader.malformed('a task has no policy')
        job.task = readTask(reader, this.#interning, job, 0, 0, submittedAt, elsewhere)
        if (elsewhere === null) noteInRecord(job.task.steps)
      }
      // What was submitted may be remembered from before: see `SubmissionCache`.
      if (job.erased !== null) redactJob(job)
      return job
    })
  }

  ofTask(task: Task, job: Job): Uint8Array {
    return this.#ofTask(task, job, stepsHere(task))
  }

  /** The same with all steps. */
  ofWholeTask(task: Task, job: Job): Uint8Array {
    return this.#ofTask(task, job, Infinity)
  }

  #ofTask(task: Task, job: Job, steps: number): Uint8Array {
    const writer = this.#begin()
    writer.u8(steps === Infinity ? FORMAT : STEPS_IN_EVENTS)
    writeTask(writer, task, job, job.submittedAt, steps)
    return this.#end()
  }

  /** What was submitted at a position. */
  submitted(record: Uint8Array, position: number): JobSubmitted {
    const entry = this.entry(record, position)
    if (entry.type === 'JobSubmitted') return entry
    throw this.#corrupt(`The event at position ${position}`, 'it is not what was submitted')
  }

  task(record: Uint8Array, job: Job, stage: number, segment: number): Task {
    const where = `The row of task ${job.id}/${stage}/${segment}`
    return this.#readWithSteps(record, where, NONE, (reader, elsewhere) => {
      if (job.spec.stages?.[stage] === undefined)
        throw reader.malformed('its job has no such stage')
      const { submittedAt } = job
      const task = readTask(reader, this.#interning, job, stage, segment, submittedAt, elsewhere)
      if (elsewhere === null) noteInRecord(task.steps)
      return task
    })
  }

  /** What the record of a row says of its columns, for far less than to read it whole. `isTask`: of a pipeline. */
  head(record: Uint8Array, isTask: boolean, where: string): RowRecordHead {
    const { record: own } = withoutSteps(this.#bytes(record, where))
    return this.#readChecked(own, where, (reader) => {
      const format = reader.u8()
      if (format !== FORMAT && format !== STEPS_IN_EVENTS) {
        throw reader.malformed(`it is of format ${format}, and ${FORMAT} is known`)
      }
      if (isTask) {
        // Its times are told from those of its job, which are in another row.
        const { state, version, attempt } = readTaskHead(reader, 0, 0)
        return { state, version, attempt, dueAt: null, time: null, tasks: null }
      }
      return this.#jobHead(reader)
    })
  }

  #jobHead(reader: ByteReader): RowRecordHead {
    const mask = reader.u8()
    const submittedAt = reader.time()
    const dueAt = reader.timeFrom(submittedAt)
    const time = reader.timeFrom(submittedAt)
    const version = reader.count()
    if (mask & JOB_CANCELLED) {
      reader.timeFrom(submittedAt)
      reader.text()
      reader.text()
      reader.flag()
    }
    if (mask & JOB_ERASED) readErased(reader, this.#interning, submittedAt)
    let tasks = 0
    if (mask & JOB_OPENED) {
      for (let left = reader.length(); left > 0; left--) {
        tasks += Math.max(0, reader.count() + NOT_OPENED)
      }
    }
    if (mask & JOB_MESSAGES) readKeptMessages(reader, this.#interning)
    if (mask & JOB_REPLACED) readReplaced(reader, submittedAt)
    if ((mask & JOB_TASK) === 0) {
      return { state: 'PIPELINE', version, attempt: 0, dueAt, time, tasks }
    }
    const task = readTaskHead(reader, submittedAt, dueAt)
    const head = { state: task.state, version: task.version, attempt: task.attempt, tasks: null }
    // What replaced it may have moved its times.
    if (mask & (JOB_REPLACED | JOB_ERASED)) return { ...head, dueAt: null, time: null }
    return { ...head, dueAt: task.dueAt, time: Math.max(time, task.time) }
  }

  ofQueue(queue: Queue): Uint8Array {
    const writer = this.#begin()
    writeQueue(writer, queue)
    return this.#end()
  }

  queue(record: Uint8Array, name: string): Queue {
    return this.#read(record, `The row of queue ${name}`, (reader) => {
      return readQueue(reader, this.#interning)
    })
  }

  ofSchedule(schedule: Schedule): Uint8Array {
    const writer = this.#begin()
    writeSchedule(writer, schedule)
    return this.#end()
  }

  schedule(record: Uint8Array, id: string): Schedule {
    return this.#read(record, `The row of schedule ${id}`, (reader) => {
      return readSchedule(reader, this.#interning)
    })
  }

  /** Small records share a buffer: a buffer for each costs more than what is in it. */
  #begin(): ByteWriter {
    if (this.#writer.at > BUFFER_BYTES - SMALL_BYTES) this.#writer = new ByteWriter(BUFFER_BYTES)
    // A checksum is quicker from a multiple of four on.
    this.#start = (this.#writer.at + 3) & ~3
    this.#writer.at = this.#start
    return this.#writer
  }

  #end(): Uint8Array {
    const writer = this.#writer
    writer.u32(checksumOf(writer.buffer, this.#start, writer.at))
    const record = writer.buffer.subarray(this.#start, writer.at)
    if (record.length <= SMALL_BYTES) return record
    // A large record is copied, so that it keeps no more memory than its own.
    writer.at = this.#start
    return Buffer.from(record)
  }

  /**
   * `submitted`: the steps that the job was submitted with. `read` is given where the steps come from that
   * are not in the record; null: all are.
   */
  #readWithSteps<T>(
    given: Uint8Array,
    where: string,
    submitted: readonly KeptStep[],
    read: (reader: ByteReader, elsewhere: StepsElsewhere | null) => T,
  ): T {
    const { record, events } = withoutSteps(this.#bytes(given, where))
    return this.#read(record, where, (reader) => {
      const format = reader.u8()
      if (format === FORMAT) return read(reader, null)
      if (format !== STEPS_IN_EVENTS) {
        throw reader.malformed(`it is of format ${format}, and ${FORMAT} is known`)
      }
      return read(reader, (here, count, sinceSubmit) => {
        noteInRecord(here)
        // They are the first: if any step is in the record, they are.
        const first = sinceSubmit && here.length === 0 ? submitted.map(keptStep) : NONE
        return [...first, ...this.#newestSteps(events, count - first.length, where)]
      })
    })
  }

  #newestSteps(events: Buffer | null, count: number, where: string): readonly Step[] {
    if (events === null) return Array.from({ length: count }, () => STEP_IN_EVENTS)
    const steps = this.#stepsIn(events)
    const lacking = count - steps.length
    if (lacking > 0) {
      const why = `${lacking} of its steps are in no event`
      throw new StepsMissing(where, why, undefined, this.#database)
    }
    // The newest: those before them were dropped with the input that they were made of.
    return steps.slice(steps.length - count)
  }

  #stepsIn(events: Buffer): Step[] {
    const steps: Step[] = []
    for (let at = 0; at < events.length;) {
      const start = at + LENGTH_BYTES
      at = start + events.readUInt32BE(start - LENGTH_BYTES)
      const entry = this.entry(events.subarray(start, at), 0)
      if (entry.type !== 'StepRecorded') continue
      steps.push({ name: entry.name, value: entry.value, lease: entry.lease })
    }
    return steps
  }

  #read<T>(record: Uint8Array, where: string, read: (reader: ByteReader) => T): T {
    return this.#readChecked(record, where, (reader) => {
      const value = read(reader)
      if (reader.at !== reader.end) throw reader.malformed('there are more bytes than it has')
      return value
    })
  }

  /** The checksum is of all bytes, whether or not they are read. */
  #readChecked<T>(record: Uint8Array, where: string, read: (reader: ByteReader) => T): T {
    const bytes = this.#bytes(record, where)
    const end = bytes.length - CHECKSUM
    if (end < 0 || checksumOf(bytes, 0, end) !== bytes.readUInt32LE(end)) {
      throw this.#corrupt(where, 'its checksum is wrong')
    }
    const reader = new ByteReader(bytes, 0, end)
    try {
      return read(reader)
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      throw this.#corrupt(where, error.message, error)
    }
  }

  /** A damaged page may hand over anything in place of the bytes, or nothing. */
  #bytes(record: Uint8Array, where: string): Buffer {
    if (!(record instanceof Uint8Array)) throw this.#corrupt(where, 'it is missing')
    return asBuffer(record)
  }

  #corrupt(where: string, why: string, cause?: unknown): CorruptRecord {
    return new CorruptRecord(where, why, cause, this.#database)
  }
}

/** `events`: null if the statement that gave the bytes added none. */
function withoutSteps(given: Buffer): { record: Buffer; events: Buffer | null } {
  if (given[0] !== WITH_STEPS) return { record: given, events: null }
  const behind = given.length - LENGTH_BYTES
  const end = 1 + given.readUInt32BE(behind)
  return { record: given.subarray(1, end), events: given.subarray(end, behind) }
}

function noteInRecord(steps: readonly Step[]): void {
  for (const step of steps) stepsInRecord.add(step)
}

/** How many of the task's steps are written with it; Infinity: all, or it has none. */
function stepsHere({ steps }: Task): number {
  let here = 0
  while (here < steps.length && stepsInRecord.has(steps[here] as Step)) here += 1
  return here === steps.length ? Infinity : here
}
