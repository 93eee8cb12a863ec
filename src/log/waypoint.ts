/**
 * A waypoint: a record of the log at which a checkpoint can be made.
 *
 * A checkpoint holds the aggregates, folded from the entries before the waypoint. What rates
 * have used up belongs to no aggregate (it follows from all grants in their order), so it
 * stands here, as it was at this very place of the log. Replaying the whole log gives the same.
 */
import type { ByteReader, ByteWriter } from './bytes.ts'

export const WAYPOINT_VERSION = 1

export interface Waypoint {
  /** The authority's time. */
  readonly now: number
  /** Buckets that are not full yet: the name of the queue, and when it is full. */
  readonly queues: readonly Bucket[]
  /** The same by limit key. */
  readonly limits: readonly Bucket[]
}

export interface Bucket {
  readonly name: string
  /** In steps of 1/1024 ms. */
  readonly fullAt: number
}

export function writeWaypoint(writer: ByteWriter, { now, queues, limits }: Waypoint): void {
  writer.time(now)
  writeBuckets(writer, queues)
  writeBuckets(writer, limits)
}

export function readWaypoint(reader: ByteReader): Waypoint {
  return { now: reader.time(), queues: readBuckets(reader), limits: readBuckets(reader) }
}

function writeBuckets(writer: ByteWriter, buckets: readonly Bucket[]): void {
  writer.count(buckets.length)
  for (const { name, fullAt } of buckets) {
    writer.text(name)
    writer.real(fullAt)
  }
}

function readBuckets(reader: ByteReader): Bucket[] {
  const buckets: Bucket[] = []
  for (let left = reader.count(); left > 0; left--) {
    buckets.push({ name: reader.text(), fullAt: reader.real() })
  }
  return buckets
}
