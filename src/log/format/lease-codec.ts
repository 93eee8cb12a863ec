/**
 * A lease as bytes, within the record of its task. `created`: when the task was; `queue`, `current`: where
 * it is now, which is not written of a lease that was granted from there.
 */
import type { Lease, LeaseEnd } from '../../kernel/index.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import type { Interning } from './interning.ts'

/** Their places are written: for ever, as those of entries are. */
const LEASE_ENDS: readonly LeaseEnd[] = [
  'ExecutionCommitted',
  'TaskFailed',
  'LeaseReleased',
  'LeaseExpired',
  'LeaseRevoked',
  'EffectFinished',
  'EffectFailed',
  'EffectResolved',
  'JobCancelled',
  'TaskStopped',
  'TaskForced',
  'ExecutionSuspended',
  'ExecutionContinued',
]

const LEASE_EXTENSION = 1
const LEASE_STARTED = 2
/** Started by its grant, as most are: the same time. */
const LEASE_STARTED_AT_ONCE = 4
const LEASE_ENDED_AT = 8
const LEASE_ENDED_BY = 16
const LEASE_ENDED_BY_EFFECT = 32
const LEASE_REFUSED = 64
/** Granted from another queue than the one in which the task is now. */
const LEASE_QUEUE = 128

export function writeLease(writer: ByteWriter, lease: Lease, created: number, queue: string): void {
  const { grantedAt, extension, startedAt, endedAt, endedBy, endedByEffect } = lease
  let mask = 0
  if (extension !== 0) mask |= LEASE_EXTENSION
  if (startedAt !== null) mask |= startedAt === grantedAt ? LEASE_STARTED_AT_ONCE : LEASE_STARTED
  if (endedAt !== null) mask |= LEASE_ENDED_AT
  if (endedBy !== null) mask |= LEASE_ENDED_BY
  if (endedByEffect !== null) mask |= LEASE_ENDED_BY_EFFECT
  if (lease.refused) mask |= LEASE_REFUSED
  if (lease.queue !== queue) mask |= LEASE_QUEUE
  writer.u8(mask)
  writer.count(lease.number)
  writer.text(lease.worker)
  writer.count(lease.request)
  writer.text(lease.session)
  if (mask & LEASE_QUEUE) writer.text(lease.queue)
  writer.timeFrom(created, grantedAt)
  writer.timeFrom(grantedAt, lease.expiresAt)
  if (mask & LEASE_EXTENSION) writer.count(extension)
  if (startedAt !== null && mask & LEASE_STARTED) writer.timeFrom(grantedAt, startedAt)
  if (endedAt !== null) writer.timeFrom(grantedAt, endedAt)
  if (endedBy !== null) writer.choice(LEASE_ENDS, endedBy)
  if (endedByEffect !== null) writer.count(endedByEffect)
}

export function readLease(
  reader: ByteReader,
  interning: Interning,
  created: number,
  current: string,
): Lease {
  const mask = reader.u8()
  const number = reader.count()
  const worker = interning.read(reader)
  const request = reader.count()
  const session = interning.read(reader)
  const queue = mask & LEASE_QUEUE ? interning.read(reader) : current
  const grantedAt = reader.timeFrom(created)
  const expiresAt = reader.timeFrom(grantedAt)
  const extension = mask & LEASE_EXTENSION ? reader.count() : 0
  let startedAt: number | null = null
  if (mask & LEASE_STARTED_AT_ONCE) startedAt = grantedAt
  else if (mask & LEASE_STARTED) startedAt = reader.timeFrom(grantedAt)
  return {
    number,
    worker,
    request,
    session,
    queue,
    grantedAt,
    expiresAt,
    extension,
    startedAt,
    endedAt: mask & LEASE_ENDED_AT ? reader.timeFrom(grantedAt) : null,
    endedBy: mask & LEASE_ENDED_BY ? reader.choice(LEASE_ENDS) : null,
    endedByEffect: mask & LEASE_ENDED_BY_EFFECT ? reader.count() : null,
    refused: (mask & LEASE_REFUSED) !== 0,
  }
}
