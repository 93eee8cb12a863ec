/**
 * The bytes in the `record` columns: entries, jobs, tasks, queues and schedules in the encoding of a
 * directory's log, each with a checksum behind it.
 *
 * What was submitted is in the record of the `JobSubmitted` only. The row of a job has its position, and
 * is small however large its input is.
 */
import type {
  Entry,
  Job,
  JobSpec,
  JobSubmitted,
  Queue,
  Schedule,
  Task,
} from '../../../kernel/index.ts'
import { createJob, NOT_OPENED, PawlError } from '../../../kernel/index.ts'
import {
  ByteReader,
  ByteWriter,
  checksumOf,
  CURRENT_VERSION,
  ENTRY_CODES,
  Interning,
  MalformedBytes,
  readQueue,
  readSchedule,
  readTask,
  upcast,
  writeEntry,
  writeQueue,
  writeSchedule,
  writeTask,
} from '../../../log/index.ts'
import { asBuffer } from '../connection.ts'

/** The checksum of a record is wrong, or it makes no sense: a person must look. */
export class CorruptRecord extends PawlError {
  /** Without the place. */
  readonly why: string

  constructor(where: string, why: string, cause?: unknown) {
    super(
      'CorruptRecord',
      'corrupt',
      `${where} is damaged: ${why}. Nothing was changed; verify the store to see all that is wrong.`,
      { where },
      cause,
    )
    this.why = why
  }
}

/** Of the records of jobs and tasks. */
const FORMAT = 1
const CHECKSUM = 4

/** Size of the buffers that small records share. */
const BUFFER_BYTES = 64 * 1_024
/** Records up to this size share a buffer. */
const SMALL_BYTES = 1_024

const JOB_TASK = 1
const JOB_OPENED = 2
const JOB_HELD = 4
const JOB_CANCELLED = 8

export class Records {
  readonly #interning = new Interning()
  #writer = new ByteWriter(BUFFER_BYTES)
  /** Where the record begins that is being written. */
  #start = 0

  ofEntry(entry: Entry): Uint8Array {
    const writer = this.#begin()
    writer.u8(ENTRY_CODES[entry.type])
    writer.u8(CURRENT_VERSION[entry.type])
    writeEntry(writer, entry)
    return this.#end()
  }

  entry(record: Uint8Array, position: number): Entry {
    return this.#read(record, `The event at position ${position}`, (reader) => {
      const code = reader.u8()
      return upcast(reader, code, reader.u8(), this.#interning)
    })
  }

  /** Everything but its spec and, of a pipeline, its tasks. */
  ofJob(job: Job): Uint8Array {
    const writer = this.#begin()
    writer.u8(FORMAT)
    let mask = 0
    if (job.task !== null) mask |= JOB_TASK
    if (job.opened !== null) mask |= JOB_OPENED
    if (job.held) mask |= JOB_HELD
    if (job.cancelled !== null) mask |= JOB_CANCELLED
    writer.u8(mask)
    writer.time(job.submittedAt)
    writer.timeFrom(job.submittedAt, job.dueAt)
    writer.timeFrom(job.submittedAt, job.time)
    writer.count(job.version)
    if (job.cancelled !== null) {
      writer.timeFrom(job.submittedAt, job.cancelled.at)
      writer.text(job.cancelled.by)
      writer.text(job.cancelled.reason)
    }
    if (job.opened !== null) {
      writer.count(job.opened.length)
      // A stage that is not opened is the one below zero.
      for (const segments of job.opened) writer.count(segments - NOT_OPENED)
    }
    if (job.task !== null) writeTask(writer, job.task, job, job.submittedAt)
    return this.#end()
  }

  /** `record`: null if the job has not changed since it was submitted. */
  job(record: Uint8Array | null, submitted: JobSubmitted): Job {
    return record === null ? createJob(submitted) : this.#job(record, submitted.job, submitted.spec)
  }

  #job(record: Uint8Array, id: string, spec: JobSpec): Job {
    return this.#read(record, `The row of job ${id}`, (reader) => {
      expectFormat(reader)
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
        held: (mask & JOB_HELD) !== 0,
        cancelled: null,
        opened: null,
        task: null,
        firstPosition: 0,
        lastPosition: 0,
      }
      if (mask & JOB_CANCELLED) {
        const at = reader.timeFrom(submittedAt)
        job.cancelled = { at, by: reader.text(), reason: reader.text() }
      }
      if (mask & JOB_OPENED) {
        const opened: number[] = []
        for (let left = reader.length(); left > 0; left--) opened.push(reader.count() + NOT_OPENED)
        job.opened = opened
      }
      if (mask & JOB_TASK) {
        if (spec.policy === null) throw reader.malformed('a task has no policy')
        job.task = readTask(reader, this.#interning, job, 0, 0, submittedAt)
      }
      return job
    })
  }

  ofTask(task: Task, job: Job): Uint8Array {
    const writer = this.#begin()
    writer.u8(FORMAT)
    writeTask(writer, task, job, job.submittedAt)
    return this.#end()
  }

  /** What was submitted at a position. */
  submitted(record: Uint8Array, position: number): JobSubmitted {
    const entry = this.entry(record, position)
    if (entry.type === 'JobSubmitted') return entry
    throw new CorruptRecord(`The event at position ${position}`, 'it is not what was submitted')
  }

  task(record: Uint8Array, job: Job, stage: number, segment: number): Task {
    return this.#read(record, `The row of task ${job.id}/${stage}/${segment}`, (reader) => {
      expectFormat(reader)
      if (job.spec.stages?.[stage] === undefined)
        throw reader.malformed('its job has no such stage')
      return readTask(reader, this.#interning, job, stage, segment, job.submittedAt)
    })
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

  #read<T>(record: Uint8Array, where: string, read: (reader: ByteReader) => T): T {
    const bytes = asBuffer(record)
    const end = bytes.length - CHECKSUM
    if (end < 0 || checksumOf(bytes, 0, end) !== bytes.readUInt32LE(end)) {
      throw new CorruptRecord(where, 'its checksum is wrong')
    }
    const reader = new ByteReader(bytes, 0, end)
    try {
      const value = read(reader)
      if (reader.at !== reader.end) throw reader.malformed('there are more bytes than it has')
      return value
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      throw new CorruptRecord(where, error.message, error)
    }
  }
}

function expectFormat(reader: ByteReader): void {
  const format = reader.u8()
  if (format !== FORMAT) throw reader.malformed(`it is of format ${format}, and ${FORMAT} is known`)
}
