/**
 * The entries of a stretch of the log, by what they belong to: a job (its tasks included), a
 * queue, or a schedule. Entries of different ones commute, so each can be folded alone, and
 * memory holds the bytes of the stretch and never the whole state.
 */
import type { Entry } from '../kernel/index.ts'
import { CorruptLog } from './errors.ts'
import { positionOf, WAYPOINT_CODE } from './format.ts'
import type { Interning } from './interning.ts'
import { ByteReader } from './bytes.ts'
import type { Disk } from './port.ts'
import type { LoggedEntry } from './reader.ts'
import { decodeEntry } from './reader.ts'
import { scanSegment } from './scan.ts'
import type { Segment } from './segments.ts'
import { readSegment } from './segments.ts'
import type { Waypoint } from './waypoint.ts'
import { readWaypoint } from './waypoint.ts'

/** Where a record stands. */
interface Spot {
  readonly bytes: Buffer
  readonly body: number
  readonly length: number
  readonly code: number
  readonly version: number
  readonly position: number
  /** The one before it of the same chain. */
  readonly before: Spot | null
}

export class Chains {
  /** Newest entry of each, in order of the oldest. */
  readonly jobs = new Map<string, Spot>()
  readonly queues = new Map<string, Spot>()
  readonly schedules = new Map<string, Spot>()
  readonly #interning: Interning
  entries = 0
  waypoint: Waypoint | null = null

  constructor(interning: Interning) {
    this.#interning = interning
  }

  add(spot: Omit<Spot, 'before'>): void {
    const { entry } = this.#decode(spot)
    const [chains, name] = this.#chainOf(entry)
    const before = chains.get(name) ?? null
    chains.set(name, { ...spot, before })
    this.entries += 1
  }

  /** Oldest first. */
  entriesOf(newest: Spot): LoggedEntry[] {
    const entries: LoggedEntry[] = []
    for (let spot: Spot | null = newest; spot !== null; spot = spot.before) {
      entries.push(this.#decode(spot))
    }
    return entries.reverse()
  }

  #chainOf(entry: Entry): [Map<string, Spot>, string] {
    if ('job' in entry) return [this.jobs, entry.job]
    if ('queue' in entry) return [this.queues, entry.queue]
    return [this.schedules, entry.schedule]
  }

  #decode({ bytes, body, length, code, version, position }: Omit<Spot, 'before'>): LoggedEntry {
    return decodeEntry(bytes, body, length, code, version, position, this.#interning)
  }
}

/** Everything from a position up to the waypoint at `to`, checked as it is read. */
export async function readChains(
  disk: Disk,
  segments: readonly Segment[],
  from: number,
  to: number,
  interning: Interning,
): Promise<Chains> {
  const chains = new Chains(interning)
  const start = Math.max(
    0,
    segments.findLastIndex(({ head }) => head.base <= from),
  )
  for (let i = start; i < segments.length; i++) {
    const segment = segments[i] as Segment
    const { base, link } = segment.head
    if (base >= to) break
    const until = Math.min(to, segments[i + 1]?.head.base ?? to)
    const bytes = await readSegment(disk, segment)
    const { stop } = scanSegment(bytes, base, link, until, (record, position, lent, body) => {
      const { length, code, version } = record
      if (code === WAYPOINT_CODE) {
        if (position === to)
          chains.waypoint = readWaypoint(new ByteReader(lent, body, body + length))
      } else if (position >= from && position < to) {
        chains.add({ bytes: lent, body, length, code, version, position })
      }
    })
    const position = positionOf(base, stop.offset)
    if (position < until) {
      throw new CorruptLog(
        { file: segment.path, offset: stop.offset, position },
        'it does not check.',
      )
    }
  }
  return chains
}
