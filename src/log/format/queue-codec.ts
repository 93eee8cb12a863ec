/**
 * Queues and schedules as bytes, for checkpoints and for the rows of databases.
 */
import type { Queue, Schedule } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { readRate, writeRate } from './spec-codec.ts'

const QUEUE_PAUSED = 1
const QUEUE_CONCURRENCY = 2
const QUEUE_RATE = 4
const QUEUE_AGEING = 8
const QUEUE_PAUSED_BY = 16
const QUEUE_PAUSE_REASON = 32
const QUEUE_KNOWN =
  QUEUE_PAUSED |
  QUEUE_CONCURRENCY |
  QUEUE_RATE |
  QUEUE_AGEING |
  QUEUE_PAUSED_BY |
  QUEUE_PAUSE_REASON

export function writeQueue(writer: ByteWriter, queue: Queue): void {
  const { concurrency, rate, ageingMs, pausedBy, pauseReason } = queue
  let mask = 0
  if (queue.paused) mask |= QUEUE_PAUSED
  if (concurrency !== null) mask |= QUEUE_CONCURRENCY
  if (rate !== null) mask |= QUEUE_RATE
  if (ageingMs !== null) mask |= QUEUE_AGEING
  if (pausedBy !== null) mask |= QUEUE_PAUSED_BY
  if (pauseReason !== null) mask |= QUEUE_PAUSE_REASON
  writer.u8(mask)
  writer.text(queue.name)
  writer.count(queue.version)
  writer.time(queue.time)
  writer.time(queue.pausedAt)
  if (concurrency !== null) writer.count(concurrency)
  if (rate !== null) writeRate(writer, rate)
  if (ageingMs !== null) writer.count(ageingMs)
  if (pausedBy !== null) writer.text(pausedBy)
  if (pauseReason !== null) writer.text(pauseReason)
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
  const pausedBy = mask & QUEUE_PAUSED_BY ? reader.text() : null
  const pauseReason = mask & QUEUE_PAUSE_REASON ? reader.text() : null
  const paused = (mask & QUEUE_PAUSED) !== 0
  const pause = { paused, pausedAt, pausedBy, pauseReason }
  return { name, version, time, ...pause, concurrency, rate, ageingMs }
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
