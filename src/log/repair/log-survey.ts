/**
 * A survey of the log: everything that is wrong with it, and what is whole all the same.
 *
 * Opening stops at the first thing that does not check. A survey goes on: behind damage it
 * looks for the next place where a group begins, and takes it up from there. What it finds is
 * a list of runs. A run is a range of the log in which every group checks and follows from
 * the one before; an undamaged log is one run.
 *
 * It only reads. Verify says what follows from it, and repair plans what to do.
 */
import { MalformedBytes } from '../format/bytes.ts'
import { CorruptLog, NewerFormat } from '../errors.ts'
import type { SegmentHead } from '../format/format.ts'
import {
  contentEnd,
  decodeSegmentHead,
  FORMAT,
  GROUP_ALIGN,
  GROUP_HEAD,
  offsetOf,
  positionOf,
  readGroupHead,
  SEGMENT_HEAD,
  segmentBase,
  segmentName,
  MARKER_CODE,
} from '../format/format.ts'
import type { MarkFound } from '../segments/durable-mark.ts'
import { findMark, MARK_FILE } from '../segments/durable-mark.ts'
import type { Disk, DiskFile } from '../disk/disk.ts'
import { readUpTo, withFile } from '../disk/disk.ts'
import { judgeTail } from '../recovery/recovery-cases.ts'
import type { OnLogRecord, Stop } from '../segments/segment-scan.ts'
import { scanSegment } from '../segments/segment-scan.ts'
import type { Segment } from '../segments/segments.ts'
import type { Torn } from '../recovery/tail.ts'

/** Something that is wrong, and where, as far as it has a place. */
export interface Problem {
  readonly what: string
  readonly file: string | null
  readonly offset: number | null
  readonly position: number | null
}

/** A segment file, whatever is left of it. */
export interface SegmentFile extends Segment {
  readonly name: string
  /** By its name; its head is made up if it is not whole. */
  readonly base: number
  readonly headIsWhole: boolean
  readonly bytes: number
}

export interface LogRun {
  readonly from: number
  /** Behind its last group. */
  end: number
  /** Checksum of its last record. */
  link: number
  /** The files it stands in, in order. */
  readonly segments: SegmentFile[]
  /** It begins where its first file does, and not in the middle of it. */
  readonly isFromHead: boolean
  entries: number
  /** Position of each marker, and the link in its record. */
  readonly markers: Map<number, number>
}

/** A file that must have been there once: the log ends before it and goes on behind it. */
export interface Missing {
  readonly path: string
  readonly from: number
  readonly to: number
}

export interface LogSurvey {
  readonly folder: string
  readonly mark: MarkFound
  /** Null: nothing that is whole says it. */
  readonly storeId: string | null
  readonly files: readonly SegmentFile[]
  readonly runs: readonly LogRun[]
  readonly missing: readonly Missing[]
  readonly torn: Torn | null
  readonly problems: readonly Problem[]
}

export interface SurveyOptions {
  /** Called with how many bytes were looked at since the last call. */
  readonly onBytes?: (bytes: number) => void
}

/** What an error says about stored bytes; null: it is about something else. */
export function damageIn(error: unknown, file: string): Problem | null {
  if (error instanceof CorruptLog) {
    return { what: error.details['why'] as string, ...error.place }
  }
  if (error instanceof MalformedBytes) {
    return { what: error.message, file, offset: null, position: null }
  }
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return { what: 'it is missing.', file, offset: null, position: null }
  if (code === 'EIO')
    return { what: 'the disk cannot read it.', file, offset: null, position: null }
  return null
}

export async function surveyLog(
  disk: Disk,
  folder: string,
  options: SurveyOptions = {},
): Promise<LogSurvey> {
  const survey = new Survey(disk, folder, await findMarkIfReadable(disk, folder))
  await survey.listFiles()
  for (let i = 0; i < survey.files.length; i++) {
    await survey.surveySegment(i)
    options.onBytes?.((survey.files[i] as SegmentFile).bytes)
  }
  survey.checkMark()
  return survey
}

async function findMarkIfReadable(disk: Disk, folder: string): Promise<MarkFound> {
  try {
    return await findMark(disk, folder)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return { kind: 'damaged' }
  }
}

/** How far the log was durable; a mark of another store says nothing about this one. */
export function durableMark({ mark, storeId }: Pick<LogSurvey, 'mark' | 'storeId'>): number {
  return mark.kind === 'mark' && mark.storeId === storeId ? mark.position : 0
}

class Survey implements LogSurvey {
  readonly folder: string
  readonly mark: MarkFound
  readonly files: SegmentFile[] = []
  readonly runs: LogRun[] = []
  readonly missing: Missing[] = []
  readonly problems: Problem[] = []
  storeId: string | null = null
  torn: Torn | null = null
  readonly #disk: Disk

  constructor(disk: Disk, folder: string, mark: MarkFound) {
    this.#disk = disk
    this.folder = folder
    this.mark = mark
  }

  async listFiles(): Promise<void> {
    const heads: { name: string; base: number; size: number; head: SegmentHead | null }[] = []
    for (const name of await this.#disk.list(this.folder)) {
      const base = segmentBase(name)
      if (base !== null) heads.push({ name, base, ...(await this.#readHead(name, base)) })
    }
    const whole = heads.find(({ head }) => head !== null)?.head
    this.storeId = whole?.storeId ?? (this.mark.kind === 'mark' ? this.mark.storeId : null)
    for (const { name, base, size, head } of heads) {
      const path = `${this.folder}/${name}`
      const isWhole = head !== null && head.storeId === this.storeId
      if (head !== null && !isWhole) this.#problem(path, 0, base, 'it belongs to another store.')
      this.files.push({
        name,
        path,
        base,
        bytes: size,
        headIsWhole: isWhole,
        head: isWhole ? head : this.#madeUp(base, size, heads),
      })
    }
  }

  async #readHead(name: string, base: number): Promise<{ size: number; head: SegmentHead | null }> {
    const path = `${this.folder}/${name}`
    return withFile(this.#disk, path, 'read', async (file) => {
      const size = await file.size()
      const head = decodeSegmentHead(await readOrZeros(file, 0, SEGMENT_HEAD))
      if (head !== null && head.format > FORMAT) throw new NewerFormat(path, head.format, FORMAT)
      if (head?.base === base) return { size, head }
      const what = head === null ? 'it has no whole head.' : 'its head belongs to another file.'
      this.#problem(path, 0, base, what)
      return { size, head: null }
    })
  }

  /** A head in place of one that is lost: all of it follows from elsewhere. The link comes later. */
  #madeUp(
    base: number,
    size: number,
    heads: readonly { readonly base: number; readonly head: SegmentHead | null }[],
  ): SegmentHead {
    // Rather too late than too early: entries that are taken for older are removed sooner.
    const times = heads.filter((one) => one.base > base).map(({ head }) => head?.begunAt ?? 0)
    const known = heads.map(({ head }) => head?.begunAt ?? 0)
    const begunAt = times.find((time) => time > 0) ?? Math.max(0, ...known)
    return { format: FORMAT, base, link: 0, size, storeId: this.storeId ?? '', begunAt }
  }

  async surveySegment(index: number): Promise<void> {
    const segment = this.files[index] as SegmentFile
    const until = this.files[index + 1]?.base ?? Infinity
    const bytes = await readWhole(this.#disk, segment.path)
    const before = this.runs.at(-1)
    const reached = before?.end === segment.base ? before : null
    const link = this.#linkOf(segment, bytes, reached)
    const follows = reached !== null && reached.link === link
    if (reached !== null && !follows) {
      const what = 'its head does not follow from the segment before.'
      this.#problem(segment.path, 0, segment.base, what)
    }
    const run = follows ? reached : this.#beginRun(segment.base, link, true)
    this.#relink(index, run, link)
    const { stop, entries } = scanSegment(bytes, segment.base, link, until, noteMarkers(run))
    run.entries += entries
    run.link = stop.link
    run.end = positionOf(segment.base, stop.offset)
    if (this.#isFine(segment, stop, run.end, until)) return
    if (stop.restIsBlank) this.#noteMissing(run.end, until)
    else this.#resumeBehindDamage(this.files[index] as SegmentFile, bytes, stop.offset, until)
  }

  /** As its head says; where that is lost, as its first record does, or the run before it. */
  #linkOf(segment: SegmentFile, bytes: Buffer, reached: LogRun | null): number {
    if (segment.headIsWhole) return segment.head.link
    const first = readGroupHead(bytes, SEGMENT_HEAD)
    if (first?.position === segment.base) return linkAt(bytes, SEGMENT_HEAD)
    return reached?.link ?? 0
  }

  /** From now on the file is known with the head that it should have. */
  #relink(index: number, run: LogRun, link: number): void {
    const segment = this.files[index] as SegmentFile
    const known = segment.headIsWhole ? segment : { ...segment, head: { ...segment.head, link } }
    this.files[index] = known
    run.segments.push(known)
  }

  #beginRun(from: number, link: number, isFromHead: boolean): LogRun {
    const run = { from, end: from, link, segments: [], isFromHead, entries: 0 }
    this.runs.push({ ...run, markers: new Map() })
    return this.runs.at(-1) as LogRun
  }

  /** Whether there is nothing wrong where a scan stopped; if there is, it is noted. */
  #isFine(segment: SegmentFile, stop: Stop, end: number, until: number): boolean {
    const mark = durableMark(this)
    const isLast = until === Infinity
    const { verdict, why } = judgeTail({
      ...stop,
      isLast,
      isComplete: end === until,
      beyondMark: end >= mark,
    })
    if (verdict === 'corrupt') {
      this.#problem(segment.path, stop.offset, end, why)
      return false
    }
    if (verdict === 'torn') {
      const { offset, entries } = stop
      const bytes = stop.end - offset
      this.torn = { file: segment.path, offset, bytes, entries, keptIn: null, why }
    }
    return true
  }

  #noteMissing(from: number, until: number): void {
    const to = until === Infinity ? durableMark(this) : until
    if (to > from) this.missing.push({ path: `${this.folder}/${segmentName(from)}`, from, to })
  }

  /** Takes the log up again behind damage, wherever a group begins, to the end of the file. */
  #resumeBehindDamage(segment: SegmentFile, bytes: Buffer, from: number, until: number): void {
    const end = Math.min(contentEnd(bytes, from), offsetOf(segment.base, until))
    let at = from + GROUP_ALIGN
    for (; at < end; at += GROUP_ALIGN) {
      const position = positionOf(segment.base, at)
      if (readGroupHead(bytes, at)?.position !== position) continue
      // Seen from here the segment begins here; only where a sector begins is not told right,
      // and that is asked for at the end of a log that is not damaged.
      const view = bytes.subarray(at - SEGMENT_HEAD)
      const link = linkAt(bytes, at)
      const run = this.#beginRun(position, link, false)
      const { stop, entries } = scanSegment(view, position, link, until, noteMarkers(run))
      if (stop.offset === SEGMENT_HEAD) {
        this.runs.pop()
        continue
      }
      run.segments.push(segment)
      run.entries = entries
      run.link = stop.link
      run.end = positionOf(position, stop.offset)
      if (run.end === until) return
      const offset = at - SEGMENT_HEAD + stop.offset
      if (stop.restIsBlank) {
        if (until !== Infinity) this.#problem(segment.path, offset, run.end, GONE)
        this.#noteMissing(run.end, until)
        return
      }
      this.#problem(segment.path, offset, run.end, 'it does not check.')
      at = offset
    }
  }

  checkMark(): void {
    const { mark } = this
    const path = `${this.folder}/${MARK_FILE}`
    if (mark.kind === 'none') {
      if (this.files.length > 0) this.#problem(path, 0, null, 'the durable mark is missing.')
      return
    }
    if (mark.kind === 'damaged') return this.#problem(path, 0, null, 'no mark in it is whole.')
    if (mark.storeId !== this.storeId) {
      return this.#problem(path, 0, null, 'it belongs to another store.')
    }
    if (this.files.length > 0 || mark.position === 0) return
    const what = `the log is durable up to position ${mark.position}, and there is none.`
    this.#problem(path, 0, mark.position, what)
  }

  #problem(file: string, offset: number, position: number | null, what: string): void {
    this.problems.push({ what, file, offset, position })
  }
}

const GONE = 'entries are missing, and later ones are there.'

function noteMarkers(run: LogRun): OnLogRecord {
  return ({ code, link }, position) => {
    if (code === MARKER_CODE) run.markers.set(position, link)
  }
}

/** The link in the first record of the group that begins here. */
function linkAt(bytes: Buffer, group: number): number {
  const at = group + GROUP_HEAD + 8
  return at + 4 <= bytes.length ? bytes.readUInt32LE(at) : 0
}

/** The least that is given up where the disk cannot read. */
const BLOCK = 4_096

/** A whole file. What the disk cannot read is zeros, and so does not check. */
export async function readWhole(disk: Disk, path: string): Promise<Buffer> {
  return withFile(disk, path, 'read', async (file) => readOrZeros(file, 0, await file.size()))
}

/** Bytes of a file, as far as it goes; zeros where the disk fails to read. */
export async function readOrZeros(file: DiskFile, from: number, length: number): Promise<Buffer> {
  try {
    return await readUpTo(file, from, length)
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; at += BLOCK) {
    const size = Math.min(BLOCK, length - at)
    try {
      ;(await readUpTo(file, from + at, size)).copy(bytes, at)
    } catch (error) {
      if (!isUnreadable(error)) throw error
    }
  }
  return bytes
}

function isUnreadable(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EIO'
}
