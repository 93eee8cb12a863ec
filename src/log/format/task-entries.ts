/**
 * The entries of tasks as bytes, one pair of functions each: leases, what their holders reported, and
 * what operators did.
 *
 * Every entry of a task begins alike, and every one that ends a lease without a result ends alike.
 * Values are written and read one by one, in the order of the fields: to go through the fields of any
 * entry, or to spread one object into another, costs more than the rest.
 */
import type { Aftermath, EntryOf, Settlement } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { readFailure, readPromise, writeFailure, writePromise } from './spec-codec.ts'

const AFTERMATHS = ['WAITING', 'FAILED', 'DEAD'] as const
const SETTLED = ['UNKNOWN', 'HELD'] as const
const AFTER_EFFECT = ['WAITING', 'LEASED', 'COMPLETED', 'DEAD'] as const
const FAILED_EFFECT = ['PROMISED', 'HELD'] as const
const OUTCOMES = ['happened', 'again'] as const
const STOP_REASONS = ['ending', 'start-by'] as const
const FORCED = ['COMPLETED', 'FAILED', 'WAITING'] as const

function writeTaskHead(
  writer: ByteWriter,
  at: number,
  version: number,
  job: string,
  stage: number,
  segment: number,
): void {
  writer.time(at)
  writer.count(version)
  writer.text(job)
  writer.count(stage)
  writer.count(segment)
}

function writeAftermath(
  writer: ByteWriter,
  at: number,
  next: Aftermath['next'],
  dueAt: number,
  retries: number,
  settled: readonly Settlement[],
): void {
  writer.choice(AFTERMATHS, next)
  writer.timeFrom(at, dueAt)
  writer.count(retries)
  writer.count(settled.length)
  for (const one of settled) {
    writer.count(one.effect)
    writer.choice(SETTLED, one.to)
    writer.count(one.retries)
  }
}

function readSettled(reader: ByteReader): Settlement[] {
  return reader.list(() => ({
    effect: reader.count(),
    to: reader.choice(SETTLED),
    retries: reader.count(),
  }))
}

function writeTextOrNull(writer: ByteWriter, text: string | null): void {
  writer.flag(text !== null)
  if (text !== null) writer.text(text)
}

function readTextOrNull(reader: ByteReader): string | null {
  return reader.flag() ? reader.text() : null
}

const GRANT_STARTED = 1
const GRANT_TIMED_OUT = 2
const GRANT_KNOWN = GRANT_STARTED | GRANT_TIMED_OUT

export function writeLeaseGranted(writer: ByteWriter, entry: EntryOf<'LeaseGranted'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.worker)
  writer.count(entry.request)
  writer.timeFrom(entry.at, entry.expiresAt)
  let mask = entry.started ? GRANT_STARTED : 0
  if (entry.timedOut) mask |= GRANT_TIMED_OUT
  writer.u8(mask)
  writer.text(entry.session)
}

export function readLeaseGranted(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'LeaseGranted'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const worker = interning.read(reader)
  const request = reader.count()
  const expiresAt = reader.timeFrom(at)
  const mask = reader.u8()
  if ((mask & ~GRANT_KNOWN) !== 0) throw reader.malformed('a grant has a field that is not known')
  return {
    type: 'LeaseGranted',
    at,
    version,
    job,
    stage,
    segment,
    lease,
    worker,
    request,
    expiresAt,
    started: (mask & GRANT_STARTED) !== 0,
    session: interning.read(reader),
    timedOut: (mask & GRANT_TIMED_OUT) !== 0,
  }
}

export function writeExecutionStarted(
  writer: ByteWriter,
  entry: EntryOf<'ExecutionStarted'>,
): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
}

export function readExecutionStarted(reader: ByteReader): EntryOf<'ExecutionStarted'> {
  return {
    type: 'ExecutionStarted',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
  }
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
): EntryOf<'ExecutionCommitted'> {
  return {
    type: 'ExecutionCommitted',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    output: reader.text(),
    effects: reader.list(() => readPromise(reader, interning)),
  }
}

export function writeLeaseExtended(writer: ByteWriter, entry: EntryOf<'LeaseExtended'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.count(entry.extension)
  writer.timeFrom(entry.at, entry.expiresAt)
}

export function readLeaseExtended(reader: ByteReader): EntryOf<'LeaseExtended'> {
  const at = reader.time()
  return {
    type: 'LeaseExtended',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    extension: reader.count(),
    expiresAt: reader.timeFrom(at),
  }
}

export function writeLeaseReleased(writer: ByteWriter, entry: EntryOf<'LeaseReleased'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writeAftermath(writer, entry.at, entry.next, entry.dueAt, entry.retries, entry.settled)
}

export function readLeaseReleased(reader: ByteReader): EntryOf<'LeaseReleased'> {
  const at = reader.time()
  return {
    type: 'LeaseReleased',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    next: reader.choice(AFTERMATHS),
    dueAt: reader.timeFrom(at),
    retries: reader.count(),
    settled: readSettled(reader),
  }
}

export function writeLeaseExpired(writer: ByteWriter, entry: EntryOf<'LeaseExpired'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.diagnostic)
  writeAftermath(writer, entry.at, entry.next, entry.dueAt, entry.retries, entry.settled)
}

export function readLeaseExpired(reader: ByteReader): EntryOf<'LeaseExpired'> {
  const at = reader.time()
  return {
    type: 'LeaseExpired',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    diagnostic: reader.text(),
    next: reader.choice(AFTERMATHS),
    dueAt: reader.timeFrom(at),
    retries: reader.count(),
    settled: readSettled(reader),
  }
}

export function writeLeaseRevoked(writer: ByteWriter, entry: EntryOf<'LeaseRevoked'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.flag(entry.extension !== null)
  if (entry.extension !== null) writer.count(entry.extension)
  writer.flag(entry.presence)
  writer.text(entry.by)
  writer.text(entry.reason)
  writeAftermath(writer, entry.at, entry.next, entry.dueAt, entry.retries, entry.settled)
}

export function readLeaseRevoked(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'LeaseRevoked'> {
  const at = reader.time()
  return {
    type: 'LeaseRevoked',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    extension: reader.flag() ? reader.count() : null,
    presence: reader.flag(),
    by: interning.read(reader),
    reason: interning.read(reader),
    next: reader.choice(AFTERMATHS),
    dueAt: reader.timeFrom(at),
    retries: reader.count(),
    settled: readSettled(reader),
  }
}

export function writeTaskFailed(writer: ByteWriter, entry: EntryOf<'TaskFailed'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writeFailure(writer, entry.error)
  writer.flag(entry.free)
  writeAftermath(writer, entry.at, entry.next, entry.dueAt, entry.retries, entry.settled)
}

export function readTaskFailed(reader: ByteReader, interning: Interning): EntryOf<'TaskFailed'> {
  const at = reader.time()
  return {
    type: 'TaskFailed',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    error: readFailure(reader, interning),
    free: reader.flag(),
    next: reader.choice(AFTERMATHS),
    dueAt: reader.timeFrom(at),
    retries: reader.count(),
    settled: readSettled(reader),
  }
}

export function writeReportRefused(writer: ByteWriter, entry: EntryOf<'ReportRefused'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.report)
}

export function readReportRefused(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'ReportRefused'> {
  return {
    type: 'ReportRefused',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    report: interning.read(reader),
  }
}

export function writeStepRecorded(writer: ByteWriter, entry: EntryOf<'StepRecorded'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.name)
  writer.text(entry.value)
  writer.count(entry.definitionVersion)
}

export function readStepRecorded(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'StepRecorded'> {
  return {
    type: 'StepRecorded',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    name: interning.read(reader),
    value: reader.text(),
    definitionVersion: reader.count(),
  }
}

export function writeStreamAppended(writer: ByteWriter, entry: EntryOf<'StreamAppended'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.name)
  writer.count(entry.offset)
  writer.count(entry.values.length)
  for (const value of entry.values) writer.text(value)
}

export function readStreamAppended(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'StreamAppended'> {
  return {
    type: 'StreamAppended',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    name: interning.read(reader),
    offset: reader.count(),
    values: reader.list(() => reader.text()),
  }
}

export function writeEffectStarted(writer: ByteWriter, entry: EntryOf<'EffectStarted'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.count(entry.effect)
}

export function readEffectStarted(reader: ByteReader): EntryOf<'EffectStarted'> {
  return {
    type: 'EffectStarted',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    effect: reader.count(),
  }
}

export function writeEffectFinished(writer: ByteWriter, entry: EntryOf<'EffectFinished'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.count(entry.effect)
  writer.choice(AFTER_EFFECT, entry.next)
}

export function readEffectFinished(reader: ByteReader): EntryOf<'EffectFinished'> {
  return {
    type: 'EffectFinished',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    effect: reader.count(),
    next: reader.choice(AFTER_EFFECT),
  }
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
  return {
    type: 'EffectFailed',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    lease: reader.count(),
    effect: reader.count(),
    error: readFailure(reader, interning),
    to: reader.choice(FAILED_EFFECT),
    effectRetries: reader.count(),
    next: reader.choice(AFTERMATHS),
    dueAt: reader.timeFrom(at),
    retries: reader.count(),
    settled: readSettled(reader),
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
  return {
    type: 'EffectResolved',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    effect: reader.count(),
    start: reader.count(),
    outcome: reader.choice(OUTCOMES),
    next: reader.choice(AFTER_EFFECT),
    budget: reader.count(),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeTaskStopped(writer: ByteWriter, entry: EntryOf<'TaskStopped'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.choice(STOP_REASONS, entry.reason)
}

export function readTaskStopped(reader: ByteReader): EntryOf<'TaskStopped'> {
  return {
    type: 'TaskStopped',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    reason: reader.choice(STOP_REASONS),
  }
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
  return {
    type: 'TaskRetried',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    attempt: reader.count(),
    budget: reader.count(),
    input: readTextOrNull(reader),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}

export function writeTaskRescheduled(writer: ByteWriter, entry: EntryOf<'TaskRescheduled'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.attempt)
  writer.timeFrom(entry.at, entry.dueAt)
  writer.flag(entry.startBy !== null)
  if (entry.startBy !== null) writer.timeFrom(entry.at, entry.startBy)
  writer.integer(entry.priority)
  writer.text(entry.toQueue)
  writer.text(entry.by)
  writer.text(entry.reason)
}

export function readTaskRescheduled(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'TaskRescheduled'> {
  const at = reader.time()
  return {
    type: 'TaskRescheduled',
    at,
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    attempt: reader.count(),
    dueAt: reader.timeFrom(at),
    startBy: reader.flag() ? reader.timeFrom(at) : null,
    priority: reader.integer(),
    toQueue: interning.read(reader),
    by: interning.read(reader),
    reason: interning.read(reader),
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
  return {
    type: 'TaskForced',
    at: reader.time(),
    version: reader.count(),
    job: reader.text(),
    stage: reader.count(),
    segment: reader.count(),
    attempt: reader.count(),
    to: reader.choice(FORCED),
    budget: reader.count(),
    output: readTextOrNull(reader),
    by: interning.read(reader),
    reason: interning.read(reader),
  }
}
