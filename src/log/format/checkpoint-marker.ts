/**
 * A marker: a record of the log at which a checkpoint can be made.
 *
 * A checkpoint holds the aggregates, folded from the entries before the marker. What rates
 * have used up belongs to no aggregate (it follows from all grants in their order), so it
 * stands here, as it was at this very place of the log. Replaying the whole log gives the same.
 */
import type { ByteReader, ByteWriter } from './bytes.ts'

export const MARKER_VERSION = 1

export interface CheckpointMarker {
  /** The authority's time. */
  readonly now: number
  /** Buckets that are not full yet: the name of the queue, and when it is full. */
  readonly queues: readonly StoredBucket[]
  /** The same by limit key. */
  readonly limits: readonly StoredBucket[]
}

export interface StoredBucket {
  readonly name: string
  /** In steps of 1/1024 ms. */
  readonly fullAt: number
}

export function writeMarker(writer: ByteWriter, { now, queues, limits }: CheckpointMarker): void {
  writer.time(now)
  writeBuckets(writer, queues)
  writeBuckets(writer, limits)
}

export function readMarker(reader: ByteReader): CheckpointMarker {
  return { now: reader.time(), queues: readBuckets(reader), limits: readBuckets(reader) }
}

function writeBuckets(writer: ByteWriter, buckets: readonly StoredBucket[]): void {
  writer.count(buckets.length)
  for (const { name, fullAt } of buckets) {
    writer.text(name)
    writer.real(fullAt)
  }
}

function readBuckets(reader: ByteReader): StoredBucket[] {
  return reader.list(() => ({ name: reader.text(), fullAt: reader.real() }))
}
