/**
 * The entries of leases as bytes: granted, started, extended, and ended without a result.
 *
 * Every entry of a task begins alike, and every one that ends a lease without a result ends
 * alike. The values are handed over one by one: what is read from an entry whose type is known
 * is read at once, and what is read from any entry is looked up.
 */
import type { Aftermath, EntryOf, Settlement } from '../../kernel/index.ts'
import { NONE } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'
import { readFailure, writeFailure } from './failure-codec.ts'

export function writeTaskHead(
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

export const AFTERMATHS = ['WAITING', 'FAILED', 'DEAD'] as const
const SETTLED = ['UNKNOWN', 'HELD'] as const

export function writeAftermath(
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

export function readSettled(reader: ByteReader): Settlement[] {
  let left = reader.length()
  if (left === 0) return NONE
  const settled: Settlement[] = []
  for (; left > 0; left--) {
    const effect = reader.count()
    const to = reader.choice(SETTLED)
    settled.push({ effect, to, retries: reader.count() })
  }
  return settled
}

export function writeLeaseGranted(writer: ByteWriter, entry: EntryOf<'LeaseGranted'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.worker)
  writer.count(entry.request)
  writer.timeFrom(entry.at, entry.expiresAt)
  writer.flag(entry.started)
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
  const started = reader.flag()
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
    started,
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
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  return { type: 'ExecutionStarted', at, version, job, stage, segment, lease }
}

export function writeLeaseExtended(writer: ByteWriter, entry: EntryOf<'LeaseExtended'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.count(entry.extension)
  writer.timeFrom(entry.at, entry.expiresAt)
}

export function readLeaseExtended(reader: ByteReader): EntryOf<'LeaseExtended'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const extension = reader.count()
  const expiresAt = reader.timeFrom(at)
  return { type: 'LeaseExtended', at, version, job, stage, segment, lease, extension, expiresAt }
}

export function writeLeaseReleased(writer: ByteWriter, entry: EntryOf<'LeaseReleased'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writeAftermath(writer, entry.at, entry.next, entry.dueAt, entry.retries, entry.settled)
}

export function readLeaseReleased(reader: ByteReader): EntryOf<'LeaseReleased'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const next = reader.choice(AFTERMATHS)
  const dueAt = reader.timeFrom(at)
  const retries = reader.count()
  const settled = readSettled(reader)
  return {
    type: 'LeaseReleased',
    at,
    version,
    job,
    stage,
    segment,
    lease,
    next,
    dueAt,
    retries,
    settled,
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
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const diagnostic = reader.text()
  const next = reader.choice(AFTERMATHS)
  const dueAt = reader.timeFrom(at)
  const retries = reader.count()
  const settled = readSettled(reader)
  return {
    type: 'LeaseExpired',
    at,
    version,
    job,
    stage,
    segment,
    lease,
    diagnostic,
    next,
    dueAt,
    retries,
    settled,
  }
}

export function writeLeaseRevoked(writer: ByteWriter, entry: EntryOf<'LeaseRevoked'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writer.text(entry.by)
  writer.text(entry.reason)
  writeAftermath(writer, entry.at, entry.next, entry.dueAt, entry.retries, entry.settled)
}

export function readLeaseRevoked(
  reader: ByteReader,
  interning: Interning,
): EntryOf<'LeaseRevoked'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const by = interning.read(reader)
  const reason = interning.read(reader)
  const next = reader.choice(AFTERMATHS)
  const dueAt = reader.timeFrom(at)
  const retries = reader.count()
  const settled = readSettled(reader)
  return {
    type: 'LeaseRevoked',
    at,
    version,
    job,
    stage,
    segment,
    lease,
    by,
    reason,
    next,
    dueAt,
    retries,
    settled,
  }
}

export function writeTaskFailed(writer: ByteWriter, entry: EntryOf<'TaskFailed'>): void {
  writeTaskHead(writer, entry.at, entry.version, entry.job, entry.stage, entry.segment)
  writer.count(entry.lease)
  writeFailure(writer, entry.error)
  writeAftermath(writer, entry.at, entry.next, entry.dueAt, entry.retries, entry.settled)
}

export function readTaskFailed(reader: ByteReader, interning: Interning): EntryOf<'TaskFailed'> {
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const error = readFailure(reader, interning)
  const next = reader.choice(AFTERMATHS)
  const dueAt = reader.timeFrom(at)
  const retries = reader.count()
  const settled = readSettled(reader)
  return {
    type: 'TaskFailed',
    at,
    version,
    job,
    stage,
    segment,
    lease,
    error,
    next,
    dueAt,
    retries,
    settled,
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
  const at = reader.time()
  const version = reader.count()
  const job = reader.text()
  const stage = reader.count()
  const segment = reader.count()
  const lease = reader.count()
  const report = interning.read(reader)
  return { type: 'ReportRefused', at, version, job, stage, segment, lease, report }
}
