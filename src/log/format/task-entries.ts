/**
 * The other entries of tasks as bytes: what was recorded, committed and carried out, and what
 * operators did.
 */
import type { EffectPromise, EntryOf } from '../../kernel/index.ts'
import { NONE } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { AFTERMATHS, readSettled, writeAftermath, writeTaskHead } from './lease-entries.ts'
import type { MasksBelow } from './spec-codec.ts'
import { readFailure, writeFailure } from './failure-codec.ts'
import { readPromise, writePromise } from './spec-codec.ts'

const AFTER_EFFECT = ['WAITING', 'LEASED', 'COMPLETED', 'DEAD'] as const
const FAILED_EFFECT = ['PROMISED', 'HELD'] as const
const OUTCOMES = ['happened', 'again'] as const
const STOP_REASONS = ['ending', 'start-by'] as const
const FORCED = ['COMPLETED', 'FAILED', 'WAITING'] as const

function writeTextOrNull(writer: ByteWriter, text: string | null): void {
  writer.flag(text !== null)
  if (text !== null) writer.text(text)
}

function readTextOrNull(reader: ByteReader): string | null {
  return reader.flag() ? reader.text() : null
}

function readPromises(
  reader: ByteReader,
  interning: Interning,
  masksBelow?: MasksBelow,
): EffectPromise[] {
  let left = reader.length()
  if (left === 0) return NONE
  const promises: EffectPromise[] = []
  for (; left > 0; left--) promises.push(readPromise(reader, interning, masksBelow))
  return promises
}

export function writeStepRecorded(writer: ByteWriter, entry: EntryOf<'StepRecorded'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.name)
  writer.text(entry.value)
}

export function readStepRecorded(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'StepRecorded'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const name = interning.read(reader)
  const value = reader.text()
  return { type: 'StepRecorded', at, version, job, stage, segment, lease, name, value }
}

export function writeExecutionCommitted(
  writer: ByteWriter,
  entry: EntryOf<'ExecutionCommitted'>,
): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.output)
  writer.count(entry.effects.length)
  for (const promise of entry.effects) writePromise(writer, promise)
}

export function readExecutionCommitted(
  reader: ByteReader,
  interning: Interning,
  masksBelow?: MasksBelow,
): EntryOf<'ExecutionCommitted'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const output = reader.text()
  const effects = readPromises(reader, interning, masksBelow)
  return { type: 'ExecutionCommitted', at, version, job, stage, segment, lease, output, effects }
}

export function writeEffectStarted(writer: ByteWriter, entry: EntryOf<'EffectStarted'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.count(entry.effect)
}

export function readEffectStarted(reader: ByteReader): EntryOf<'EffectStarted'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const effect = reader.count()
  return { type: 'EffectStarted', at, version, job, stage, segment, lease, effect }
}

export function writeEffectFinished(writer: ByteWriter, entry: EntryOf<'EffectFinished'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.count(entry.effect)
  writer.choice(AFTER_EFFECT, entry.next)
}

export function readEffectFinished(reader: ByteReader): EntryOf<'EffectFinished'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const effect = reader.count()
  const next = reader.choice(AFTER_EFFECT)
  return { type: 'EffectFinished', at, version, job, stage, segment, lease, effect, next }
}

export function writeEffectFailed(writer: ByteWriter, entry: EntryOf<'EffectFailed'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.count(entry.effect)
  writeFailure(writer, entry.error)
  writer.choice(FAILED_EFFECT, entry.to)
  writer.count(entry.effectRetries)
  writeAftermath(writer, entry.at, entry.next, entry.dueAt, entry.retries, entry.settled)
}

export function readEffectFailed(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'EffectFailed'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const effect = reader.count()
  const error = readFailure(reader, interning)
  const to = reader.choice(FAILED_EFFECT)
  const effectRetries = reader.count()
  const next = reader.choice(AFTERMATHS)
  const dueAt = reader.timeFrom(at)
  const retries = reader.count()
  const settled = readSettled(reader)
  return {
    type: 'EffectFailed',
    at,
    version,
    job,
    stage,
    segment,
    lease,
    effect,
    error,
    to,
    effectRetries,
    next,
    dueAt,
    retries,
    settled,
  }
}

export function writeEffectResolved(writer: ByteWriter, entry: EntryOf<'EffectResolved'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.effect)
  writer.count(entry.start)
  writer.choice(OUTCOMES, entry.outcome)
  writer.choice(AFTER_EFFECT, entry.next)
  writer.count(entry.budget)
  writer.text(entry.by)
  writer.text(entry.reason)
}

export function readEffectResolved(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'EffectResolved'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const effect = reader.count()
  const start = reader.count()
  const outcome = reader.choice(OUTCOMES)
  const next = reader.choice(AFTER_EFFECT)
  const budget = reader.count()
  const by = interning.read(reader)
  const reason = interning.read(reader)
  return {
    type: 'EffectResolved',
    at,
    version,
    job,
    stage,
    segment,
    effect,
    start,
    outcome,
    next,
    budget,
    by,
    reason,
  }
}

export function writeTaskStopped(writer: ByteWriter, entry: EntryOf<'TaskStopped'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.choice(STOP_REASONS, entry.reason)
}

export function readTaskStopped(reader: ByteReader): EntryOf<'TaskStopped'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const reason = reader.choice(STOP_REASONS)
  return { type: 'TaskStopped', at, version, job, stage, segment, reason }
}

export function writeTaskRetried(writer: ByteWriter, entry: EntryOf<'TaskRetried'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.attempt)
  writer.count(entry.budget)
  writeTextOrNull(writer, entry.input)
  writer.text(entry.by)
  writer.text(entry.reason)
}

export function readTaskRetried(reader: ByteReader, interning: Interning): EntryOf<'TaskRetried'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const attempt = reader.count()
  const budget = reader.count()
  const input = readTextOrNull(reader)
  const by = interning.read(reader)
  const reason = interning.read(reader)
  return {
    type: 'TaskRetried',
    at,
    version,
    job,
    stage,
    segment,
    attempt,
    budget,
    input,
    by,
    reason,
  }
}

export function writeTaskForced(writer: ByteWriter, entry: EntryOf<'TaskForced'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.attempt)
  writer.choice(FORCED, entry.to)
  writer.count(entry.budget)
  writeTextOrNull(writer, entry.output)
  writer.text(entry.by)
  writer.text(entry.reason)
}

export function readTaskForced(reader: ByteReader, interning: Interning): EntryOf<'TaskForced'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const attempt = reader.count()
  const to = reader.choice(FORCED)
  const budget = reader.count()
  const output = readTextOrNull(reader)
  const by = interning.read(reader)
  const reason = interning.read(reader)
  return {
    type: 'TaskForced',
    at,
    version,
    job,
    stage,
    segment,
    attempt,
    to,
    budget,
    output,
    by,
    reason,
  }
}
