/**
 * Reading the log from a position to its end, and making that end firm to write behind it.
 *
 * `readLog` only reads, so verify and time travel use it too. `recoverTail` does what `readLog` found to
 * be necessary: it cuts what is torn, and makes what was read durable BEFORE a caller is told of it.
 */
import { BrokenEntry } from '../../kernel/index.ts'
import { MalformedBytes } from '../format/bytes.ts'
import type { LogPlace } from '../errors.ts'
import { CorruptLog } from '../errors.ts'
import { offsetOf, positionOf, SEGMENT_HEAD } from '../format/format.ts'
import { findMark } from '../segments/durable-mark.ts'
import type { Disk } from '../disk/disk.ts'
import { readUpTo, withFile, writeAll, writeZeros } from '../disk/disk.ts'
import { judgeTail } from './recovery-cases.ts'
import type { OnLogRecord, Stop } from '../segments/segment-scan.ts'
import { scanSegment } from '../segments/segment-scan.ts'
import type { Segment } from '../segments/segments.ts'
import { listSegments, readSegment } from '../segments/segments.ts'

/** What was lost at the end of the log: never anything that was acknowledged. */
export interface Torn {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  /** Entries that were being written, as far as they can be counted. */
  readonly entries: number
  /** Where the cut bytes are kept; null while they are not cut. */
  readonly keptIn: string | null
  readonly why: string
}

export interface LogFound {
  readonly segments: readonly Segment[]
  readonly storeId: string
  /** The position behind the last group. */
  readonly end: number
  /** Checksum of the last record. */
  readonly link: number
  readonly mark: number
  readonly torn: Torn | null
}

/**
 * Hands out every record that is not before `from`, in order. Null: there is no log. The log
 * must reach `from`: a checkpoint that is there proves as much as the mark does.
 */
export async function readLog(
  disk: Disk,
  folder: string,
  from: number,
  onRecord: OnLogRecord,
): Promise<LogFound | null> {
  const mark = await findMark(disk, folder)
  const segments = await listSegments(disk, folder)
  const file = `${folder}/MARK`
  if (mark.kind === 'none' && segments.length === 0) return null
  if (mark.kind !== 'mark') {
    const why = mark.kind === 'none' ? 'the durable mark is missing.' : 'no mark in it is whole.'
    throw new CorruptLog({ file, offset: 0, position: null }, why)
  }
  const [first] = segments
  if (first === undefined) {
    if (mark.position === 0) return null
    const why = `the log is durable up to position ${mark.position}, and there is none.`
    throw new CorruptLog({ file, offset: 0, position: mark.position }, why)
  }
  if (first.head.storeId !== mark.storeId) {
    throw new CorruptLog({ file, offset: 0, position: null }, 'it belongs to another store.')
  }
  // BEFORE anything is handed out: entries without those before them make no state.
  if (first.head.base > from) {
    const place = { file: first.path, offset: 0, position: from }
    throw new CorruptLog(
      place,
      'the log before it is gone, and no checkpoint that checks goes so far.',
    )
  }
  const start = segments.findLastIndex(({ head }) => head.base <= from)
  const durable = Math.max(mark.position, from)
  let link = segments[start]?.head.link ?? 0
  for (let i = start; ; i++) {
    const segment = segments[i] as Segment
    const next = segments[i + 1]
    const { stop, verdict, why } = await scanTo(disk, segment, next, link, durable, from, onRecord)
    link = stop.link
    if (verdict === 'next') continue
    const end = positionOf(segment.head.base, stop.offset)
    const torn = verdict === 'torn' ? tornAt(segment, stop, why) : null
    return { segments, storeId: mark.storeId, end, link, mark: mark.position, torn }
  }
}

async function scanTo(
  disk: Disk,
  segment: Segment,
  next: Segment | undefined,
  link: number,
  mark: number,
  from: number,
  onRecord: OnLogRecord,
): Promise<{ stop: Stop; verdict: 'next' | 'end' | 'torn'; why: string }> {
  const { head, path } = segment
  const bytes = await readSegment(disk, segment)
  if (head.link !== link) {
    const place = { file: path, offset: 0, position: head.base }
    throw new CorruptLog(place, 'its head does not follow from the segment before.')
  }
  const until = next?.head.base ?? Infinity
  const { stop } = scanSegment(bytes, head.base, head.link, until, (record, position, lent, at) => {
    if (position < from) return
    try {
      onRecord(record, position, lent, at)
    } catch (error) {
      throw misfit(error, { file: path, offset: offsetOf(head.base, position), position })
    }
  })
  const position = positionOf(head.base, stop.offset)
  const { verdict, why } = judgeTail({
    ...stop,
    isLast: next === undefined,
    isComplete: position === until,
    beyondMark: position >= mark,
  })
  if (verdict === 'corrupt') {
    throw new CorruptLog({ file: path, offset: stop.offset, position }, why)
  }
  return { stop, verdict, why }
}

/** An entry whose checksum is right, and that makes no sense all the same. */
function misfit(error: unknown, place: LogPlace): unknown {
  const makesNoSense = error instanceof MalformedBytes || error instanceof BrokenEntry
  return makesNoSense ? new CorruptLog(place, `its entry does not fit: ${error.message}.`) : error
}

function tornAt(segment: Segment, stop: Stop, why: string): Torn {
  const { offset, end, entries } = stop
  return { file: segment.path, offset, bytes: end - offset, entries, keptIn: null, why }
}

/** After this the log ends where it says, durably, with nothing but zeros behind. */
export async function recoverTail(
  disk: Disk,
  folder: string,
  found: LogFound,
): Promise<Torn | null> {
  const last = found.segments.at(-1) as Segment
  return withFile(disk, last.path, 'write', async (file) => {
    const size = await file.size()
    const end = offsetOf(last.head.base, found.end)
    let torn = found.torn
    if (torn !== null) {
      const bytes = await readUpTo(file, torn.offset, torn.bytes)
      torn = { ...torn, keptIn: await keepAside(disk, folder, found.end, bytes) }
    }
    // Also what was cut the last time: the sync of that may have failed, and then it comes back.
    const cut = await bytesCut(disk, folder, found.end)
    if (cut > 0) await writeZeros(file, end, end + cut)
    if (size < last.head.size) await writeZeros(file, Math.max(size, end), last.head.size)
    // What is behind the mark may be nowhere but in memory, and a sync that failed before has
    // perhaps left it there for good: so it is written AGAIN, and synced, before it counts.
    const from = Math.max(SEGMENT_HEAD, offsetOf(last.head.base, found.mark))
    if (from < end) await writeAll(file, await readUpTo(file, from, end - from), from)
    await file.sync()
    return torn
  })
}

/** How much was ever cut at a position: as long as the log ends there, that must be zeros. */
async function bytesCut(disk: Disk, folder: string, position: number): Promise<number> {
  const aside = `${folder}/aside`
  let most = 0
  for (const name of await disk.list(aside)) {
    if (!name.startsWith(`torn-${position}-`)) continue
    most = Math.max(most, await withFile(disk, `${aside}/${name}`, 'read', (file) => file.size()))
  }
  return most
}

/** Nothing that was cut is thrown away. */
async function keepAside(
  disk: Disk,
  folder: string,
  position: number,
  bytes: Buffer,
): Promise<string> {
  const aside = `${folder}/aside`
  await disk.makeFolder(aside)
  const names = new Set(await disk.list(aside))
  let number = 1
  while (names.has(`torn-${position}-${number}`)) number += 1
  const path = `${aside}/torn-${position}-${number}`
  await withFile(disk, path, 'create', async (file) => {
    await writeAll(file, bytes, 0)
    await file.sync()
  })
  await disk.syncFolder(aside)
  return path
}
