/**
 * The entries of jobs, queues and schedules as bytes, one pair of functions each.
 *
 * Every entry begins with its time, its version and what it is about.
 */
import type { EntryOf, OnRecord } from '../../kernel/index.ts'
import type { ByteReader } from './bytes.ts'
import { ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import {
  readFailure,
  readRate,
  readSpec,
  writeAfterInput,
  writeBeforeInput,
  writeFailure,
  writeRate,
  writeSpec,
} from './spec-codec.ts'

function writeHead(writer: ByteWriter, at: number, version: number, subject: string): void {
  writer.time(at)
  writer.count(version)
  writer.text(subject)
}

function writeOnRecord(writer: ByteWriter, { by, reason }: OnRecord): void {
  writer.text(by)
  writer.text(reason)
}

export function writeJobSubmitted(writer: ByteWriter, entry: EntryOf<'JobSubmitted'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writer.timeFrom(entry.at, entry.dueAt)
  writeSpec(writer, entry.spec)
}

/** What stands around the id and the input of submits that are alike: it is written once, and copied. */
export class SubmittedAlike {
  readonly #parts: readonly [head: Uint8Array, middle: Uint8Array, tail: Uint8Array]

  constructor({ at, version, dueAt, spec }: EntryOf<'JobSubmitted'>) {
    this.#parts = [
      written((writer) => {
        writer.time(at)
        writer.count(version)
      }),
      written((writer) => {
        writer.timeFrom(at, dueAt)
        writeBeforeInput(writer, spec)
      }),
      written((writer) => writeAfterInput(writer, spec)),
    ]
  }

  /** The same bytes as `writeJobSubmitted`. */
  write(writer: ByteWriter, { job, spec }: EntryOf<'JobSubmitted'>): void {
    const [head, middle, tail] = this.#parts
    writer.raw(head)
    writer.text(job)
    writer.raw(middle)
    writer.text(spec.input)
    writer.raw(tail)
  }
}

function written(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter()
  write(writer)
  return writer.buffer.subarray(0, writer.at)
}

export function readJobSubmitted(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'JobSubmitted'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const dueAt = reader.timeFrom(at)
  const spec = readSpec(reader, interning)
  return { type: 'JobSubmitted', at, version, job, spec, dueAt }
}

export function writeJobReleased(writer: ByteWriter, entry: EntryOf<'JobReleased'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writeOnRecord(writer, entry)
}

export function readJobReleased(reader: ByteReader, interning: Interning): EntryOf<'JobReleased'> {
  return {
    type: 'JobReleased',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeJobReplaced(writer: ByteWriter, entry: EntryOf<'JobReplaced'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writer.text(entry.replacement)
  writer.text(entry.input)
  writer.count(entry.definitionVersion)
  writer.timeFrom(entry.at, entry.dueAt)
  writeOnRecord(writer, entry)
}

export function readJobReplaced(reader: ByteReader, interning: Interning): EntryOf<'JobReplaced'> {
  const at = reader.time()
  return {
    type: 'JobReplaced',
    at,
    version: reader.count(),
    job: reader.text(),
    replacement: reader.text(),
    input: reader.text(),
    definitionVersion: reader.count(),
    dueAt: reader.timeFrom(at),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeStageOpened(writer: ByteWriter, entry: EntryOf<'StageOpened'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writer.count(entry.stage)
  writer.count(entry.segments)
  writer.flag(entry.error !== null)
  if (entry.error !== null) writeFailure(writer, entry.error)
}

export function readStageOpened(reader: ByteReader, interning: Interning): EntryOf<'StageOpened'> {
  return {
    type: 'StageOpened',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segments: reader.count(),
    error: reader.flag() ? readFailure(reader, interning) : null,
  }
}

export function writeJobCancelled(writer: ByteWriter, entry: EntryOf<'JobCancelled'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writer.flag(entry.deadline)
  writeOnRecord(writer, entry)
}

export function readJobCancelled(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'JobCancelled'> {
  return {
    type: 'JobCancelled',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    deadline: reader.flag(),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeJobErased(writer: ByteWriter, entry: EntryOf<'JobErased'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writeOnRecord(writer, entry)
}

export function readJobErased(reader: ByteReader, interning: Interning): EntryOf<'JobErased'> {
  return {
    type: 'JobErased',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeJobForgotten(writer: ByteWriter, entry: EntryOf<'JobForgotten'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
}

export function readJobForgotten(reader: ByteReader): EntryOf<'JobForgotten'> {
  return { type: 'JobForgotten', at: reader.time(), version: reader.count(), job: reader.text() }
}

const QUEUE_CONCURRENCY = 1
const QUEUE_RATE = 2
const QUEUE_AGEING = 4
const QUEUE_BOUNDS = QUEUE_CONCURRENCY | QUEUE_RATE | QUEUE_AGEING

export function writeQueueConfigured(writer: ByteWriter, entry: EntryOf<'QueueConfigured'>): void {
  const { concurrency, rate, ageingMs } = entry
  let mask = 0
  if (concurrency !== null) mask |= QUEUE_CONCURRENCY
  if (rate !== null) mask |= QUEUE_RATE
  if (ageingMs !== null) mask |= QUEUE_AGEING
  writeHead(writer, entry.at, entry.version, entry.queue)
  writer.u8(mask)
  if (concurrency !== null) writer.count(concurrency)
  if (rate !== null) writeRate(writer, rate)
  if (ageingMs !== null) writer.count(ageingMs)
  writeOnRecord(writer, entry)
}

export function readQueueConfigured(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'QueueConfigured'> {
  const at = reader.time()
  const version = reader.count()
  const queue = interning.read(reader)
  const mask = reader.u8()
  if ((mask & ~QUEUE_BOUNDS) !== 0) throw reader.malformed('a queue has a bound that is not known')
  return {
    type: 'QueueConfigured',
    at,
    version,
    queue,
    concurrency: mask & QUEUE_CONCURRENCY ? reader.count() : null,
    rate: mask & QUEUE_RATE ? readRate(reader) : null,
    ageingMs: mask & QUEUE_AGEING ? reader.count() : null,
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeQueuePaused(writer: ByteWriter, entry: EntryOf<'QueuePaused'>): void {
  writeHead(writer, entry.at, entry.version, entry.queue)
  writeOnRecord(writer, entry)
}

export function readQueuePaused(reader: ByteReader, interning: Interning): EntryOf<'QueuePaused'> {
  return {
    type: 'QueuePaused',
    at: reader.time(),
    version: reader.count(),
    queue: interning.read(reader),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeQueueResumed(writer: ByteWriter, entry: EntryOf<'QueueResumed'>): void {
  writeHead(writer, entry.at, entry.version, entry.queue)
  writeOnRecord(writer, entry)
}

export function readQueueResumed(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'QueueResumed'> {
  return {
    type: 'QueueResumed',
    at: reader.time(),
    version: reader.count(),
    queue: interning.read(reader),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeScheduleSet(writer: ByteWriter, entry: EntryOf<'ScheduleSet'>): void {
  writeHead(writer, entry.at, entry.version, entry.schedule)
  writer.text(entry.definition)
  writeOnRecord(writer, entry)
}

export function readScheduleSet(reader: ByteReader, interning: Interning): EntryOf<'ScheduleSet'> {
  return {
    type: 'ScheduleSet',
    at: reader.time(),
    version: reader.count(),
    schedule: interning.read(reader),
    definition: reader.text(),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeScheduleFired(writer: ByteWriter, entry: EntryOf<'ScheduleFired'>): void {
  writeHead(writer, entry.at, entry.version, entry.schedule)
  writer.time(entry.tick)
  writer.flag(entry.skipped)
}

export function readScheduleFired(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'ScheduleFired'> {
  return {
    type: 'ScheduleFired',
    at: reader.time(),
    version: reader.count(),
    schedule: interning.read(reader),
    tick: reader.time(),
    skipped: reader.flag(),
  }
}

export function writeScheduleRemoved(writer: ByteWriter, entry: EntryOf<'ScheduleRemoved'>): void {
  writeHead(writer, entry.at, entry.version, entry.schedule)
  writeOnRecord(writer, entry)
}

export function readScheduleRemoved(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'ScheduleRemoved'> {
  return {
    type: 'ScheduleRemoved',
    at: reader.time(),
    version: reader.count(),
    schedule: interning.read(reader),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}
