/**
 * The entries of jobs, queues and schedules as bytes, one pair of functions each.
 *
 * Every entry begins with its time, its version and what it is about. Written out field by
 * field, because a loop over fields would cost more than the writing.
 */
import type { EntryOf, OnRecord, Rate } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { readFailure, writeFailure } from './failure-codec.ts'
import type { MasksBelow } from './spec-codec.ts'
import { readRate, readSpec, writeRate, writeSpec } from './spec-codec.ts'

function writeOnRecord(writer: ByteWriter, { by, reason }: OnRecord): void {
  writer.text(by)
  writer.text(reason)
}

function writeHead(writer: ByteWriter, at: number, version: number, subject: string): void {
  writer.time(at)
  writer.count(version)
  writer.text(subject)
}

export function writeJobSubmitted(writer: ByteWriter, entry: EntryOf<'JobSubmitted'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writer.timeFrom(entry.at, entry.dueAt)
  writeSpec(writer, entry.spec)
}

export function readJobSubmitted(
  reader: ByteReader,
  interning: Interning,
  masksBelow?: MasksBelow,
): EntryOf<'JobSubmitted'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const dueAt = reader.timeFrom(at)
  const spec = readSpec(reader, interning, masksBelow)
  return { type: 'JobSubmitted', at, version, job, spec, dueAt }
}

export function writeJobReleased(writer: ByteWriter, entry: EntryOf<'JobReleased'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writeOnRecord(writer, entry)
}

export function readJobReleased(reader: ByteReader, interning: Interning): EntryOf<'JobReleased'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const by = interning.read(reader)
  return { type: 'JobReleased', at, version, job, by, reason: interning.read(reader) }
}

export function writeStageOpened(writer: ByteWriter, entry: EntryOf<'StageOpened'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writer.count(entry.stage)
  writer.count(entry.segments)
  writer.flag(entry.error !== null)
  if (entry.error !== null) writeFailure(writer, entry.error)
}

export function readStageOpened(reader: ByteReader, interning: Interning): EntryOf<'StageOpened'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segments = reader.count()
  const error = reader.flag() ? readFailure(reader, interning) : null
  return { type: 'StageOpened', at, version, job, stage, segments, error }
}

export function writeJobCancelled(writer: ByteWriter, entry: EntryOf<'JobCancelled'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
  writeOnRecord(writer, entry)
}

export function readJobCancelled(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'JobCancelled'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const by = interning.read(reader)
  return { type: 'JobCancelled', at, version, job, by, reason: interning.read(reader) }
}

export function writeJobForgotten(writer: ByteWriter, entry: EntryOf<'JobForgotten'>): void {
  writeHead(writer, entry.at, entry.version, entry.job)
}

export function readJobForgotten(reader: ByteReader): EntryOf<'JobForgotten'> {
  const at = reader.time()
  const version = reader.count()
  return { type: 'JobForgotten', at, version, job: reader.text() }
}

const QUEUE_CONCURRENCY = 1
const QUEUE_RATE = 2
const QUEUE_AGEING = 4

/** What an entry of the first version could say. */
export const BOUNDS_WITHOUT_AGEING = QUEUE_CONCURRENCY | QUEUE_RATE
const ALL_BOUNDS = BOUNDS_WITHOUT_AGEING | QUEUE_AGEING

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
  const { concurrency, rate, ageingMs } = readBounds(reader)
  const by = interning.read(reader)
  const reason = interning.read(reader)
  return { type: 'QueueConfigured', at, version, queue, concurrency, rate, ageingMs, by, reason }
}

export function readBounds(
  reader: ByteReader,
  known = ALL_BOUNDS,
): { concurrency: number | null; rate: Rate | null; ageingMs: number | null } {
  const mask = reader.u8()
  if ((mask & ~known) !== 0) throw reader.malformed('a queue has a bound that is not known')
  const concurrency = mask & QUEUE_CONCURRENCY ? reader.count() : null
  const rate = mask & QUEUE_RATE ? readRate(reader) : null
  return { concurrency, rate, ageingMs: mask & QUEUE_AGEING ? reader.count() : null }
}

export function writeQueuePaused(writer: ByteWriter, entry: EntryOf<'QueuePaused'>): void {
  writeHead(writer, entry.at, entry.version, entry.queue)
  writeOnRecord(writer, entry)
}

export function readQueuePaused(reader: ByteReader, interning: Interning): EntryOf<'QueuePaused'> {
  const at = reader.time()
  const version = reader.count()
  const queue = interning.read(reader)
  const by = interning.read(reader)
  return { type: 'QueuePaused', at, version, queue, by, reason: interning.read(reader) }
}

export function writeQueueResumed(writer: ByteWriter, entry: EntryOf<'QueueResumed'>): void {
  writeHead(writer, entry.at, entry.version, entry.queue)
  writeOnRecord(writer, entry)
}

export function readQueueResumed(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'QueueResumed'> {
  const at = reader.time()
  const version = reader.count()
  const queue = interning.read(reader)
  const by = interning.read(reader)
  return { type: 'QueueResumed', at, version, queue, by, reason: interning.read(reader) }
}

export function writeScheduleSet(writer: ByteWriter, entry: EntryOf<'ScheduleSet'>): void {
  writeHead(writer, entry.at, entry.version, entry.schedule)
  writer.text(entry.definition)
  writeOnRecord(writer, entry)
}

export function readScheduleSet(reader: ByteReader, interning: Interning): EntryOf<'ScheduleSet'> {
  const at = reader.time()
  const version = reader.count()
  const schedule = interning.read(reader)
  const definition = reader.text()
  const by = interning.read(reader)
  const reason = interning.read(reader)
  return { type: 'ScheduleSet', at, version, schedule, definition, by, reason }
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
  const at = reader.time()
  const version = reader.count()
  const schedule = interning.read(reader)
  const tick = reader.time()
  return { type: 'ScheduleFired', at, version, schedule, tick, skipped: reader.flag() }
}

export function writeScheduleRemoved(writer: ByteWriter, entry: EntryOf<'ScheduleRemoved'>): void {
  writeHead(writer, entry.at, entry.version, entry.schedule)
  writeOnRecord(writer, entry)
}

export function readScheduleRemoved(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'ScheduleRemoved'> {
  const at = reader.time()
  const version = reader.count()
  const schedule = interning.read(reader)
  const by = interning.read(reader)
  return { type: 'ScheduleRemoved', at, version, schedule, by, reason: interning.read(reader) }
}
