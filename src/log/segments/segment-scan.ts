/**
 * Reads a segment, group by group and record by record, as far as everything checks, and says
 * what stands where it stops.
 *
 * It only reads: the table in `recovery-cases.ts` decides what is done about it.
 */
import type { GroupHead, RecordHead } from '../format/format.ts'
import {
  claimedLength,
  contentEnd,
  countBlanks,
  GROUP_ALIGN,
  GROUP_HEAD,
  groupBytes,
  hasTrailer,
  headEndMissing,
  isZero,
  positionOf,
  readGroupHead,
  readRecordHead,
  recordEnd,
  SECTOR,
  SEGMENT_HEAD,
  trailerMissing,
  UNIT,
} from '../format/format.ts'

/** Called for each record of a group that checks as a whole. The bytes are only lent. */
export type OnLogRecord = (
  record: RecordHead,
  position: number,
  bytes: Buffer,
  body: number,
) => void

/** What stands where a group should begin. */
export interface Stop {
  readonly offset: number
  /** Checksum of the last record before. */
  readonly link: number
  /** blank: zeros as far as the sector goes. cut: its end was not written. */
  readonly head: 'whole' | 'blank' | 'cut' | 'wrong'
  /** Only of a whole head. missing: sectors of it, or its end, were not written. */
  readonly body: 'missing' | 'wrong' | 'unlinked' | null
  /** Nothing but zeros follows. */
  readonly restIsBlank: boolean
  /** A whole group head stands further on: what is wrong here was durable once. */
  readonly laterGroup: boolean
  /** How many entries are lost if this is cut: as the head says, or as many as can be counted. */
  readonly entries: number
  /** Behind the last byte that is not zero. */
  readonly end: number
}

export interface SegmentScan {
  /** Where the first group that does not check begins; the end of what there is, if all do. */
  readonly stop: Stop
  readonly entries: number
}

/**
 * Reads from the segment's first group on. `until`: where the next segment goes on; groups
 * that reach it end the scan. The link must be what the segment's head says.
 */
export function scanSegment(
  bytes: Buffer,
  base: number,
  link: number,
  until: number,
  onRecord: OnLogRecord,
): SegmentScan {
  let at = SEGMENT_HEAD
  let last = link
  let entries = 0
  for (;;) {
    const position = positionOf(base, at)
    if (position >= until) return { stop: completeAt(at, last), entries }
    const head = readGroupHead(bytes, at)
    if (head === null) return { stop: stopAt(bytes, base, at, last, null, null), entries }
    const body = checkGroup(bytes, at, position, head, last)
    if (typeof body !== 'number')
      return { stop: stopAt(bytes, base, at, last, head, body), entries }
    last = body
    entries += head.entries
    handOutRecords(bytes, at, base, head, onRecord)
    at += head.bytes
  }
}

/** Where the next segment goes on: what stands behind is of no interest. */
function completeAt(offset: number, link: number): Stop {
  const nothing = { body: null, restIsBlank: true, laterGroup: false, entries: 0 }
  return { offset, link, head: 'blank', ...nothing, end: offset }
}

/** The checksum of the group's last record, or what is wrong. */
function checkGroup(
  bytes: Buffer,
  at: number,
  position: number,
  head: GroupHead,
  link: number,
): number | 'missing' | 'wrong' | 'unlinked' {
  const end = at + head.bytes
  if (head.position !== position || groupBytes(head.used) !== head.bytes) return 'unlinked'
  if (trailerMissing(bytes, end)) return 'missing'
  const group = bytes.subarray(at, end)
  let last = link
  for (let record = GROUP_HEAD; record < head.used;) {
    const found = readRecordHead(group, record, head.used)
    if (found === null) return countBlanks(group, at) > head.blanks ? 'missing' : 'wrong'
    if (found.link !== last) return 'unlinked'
    last = found.checksum
    record = recordEnd(record, found.length)
  }
  return hasTrailer(bytes, end) ? last : 'wrong'
}

function handOutRecords(
  bytes: Buffer,
  at: number,
  base: number,
  head: GroupHead,
  onRecord: OnLogRecord,
): void {
  const end = at + head.used
  for (let record = at + GROUP_HEAD; record < end;) {
    const found = recordAt(bytes, record)
    onRecord(found, positionOf(base, record), bytes, record + 16)
    record = recordEnd(record, found.length)
  }
}

/** A record that is known to check. */
function recordAt(bytes: Buffer, at: number): RecordHead {
  return {
    checksum: bytes.readUInt32LE(at),
    length: bytes.readUInt32LE(at + 4),
    link: bytes.readUInt32LE(at + 8),
    code: bytes[at + 12] as number,
    version: bytes[at + 13] as number,
  }
}

function stopAt(
  bytes: Buffer,
  base: number,
  at: number,
  link: number,
  head: GroupHead | null,
  body: 'missing' | 'wrong' | 'unlinked' | null,
): Stop {
  const end = contentEnd(bytes, at)
  const behind = head === null ? at + GROUP_ALIGN : at + head.bytes
  return {
    offset: at,
    link,
    head: head === null ? headAt(bytes, at) : 'whole',
    body,
    restIsBlank: end === at,
    laterGroup: findsGroup(bytes, base, behind, end),
    entries: head === null ? countRecords(bytes, at, end) : head.entries,
    end,
  }
}

function headAt(bytes: Buffer, at: number): Stop['head'] {
  const sectorEnd = Math.min(bytes.length, at - (at % SECTOR) + SECTOR)
  if (isZero(bytes, at, sectorEnd)) return 'blank'
  return headEndMissing(bytes, at) && isZero(bytes, at + GROUP_HEAD, sectorEnd) ? 'cut' : 'wrong'
}

/** A head counts only where it belongs: a payload may hold the bytes of one. */
function findsGroup(bytes: Buffer, base: number, from: number, end: number): boolean {
  for (let at = from; at < end; at += GROUP_ALIGN) {
    if (readGroupHead(bytes, at)?.position === positionOf(base, at)) return true
  }
  return false
}

/** Whole records that can be made out, wherever they begin. */
function countRecords(bytes: Buffer, from: number, end: number): number {
  let found = 0
  for (let at = from; at < end;) {
    const record =
      claimedLength(bytes, at) === null ? null : readRecordHead(bytes, at, bytes.length)
    if (record === null) {
      at += UNIT
    } else {
      found += 1
      at = recordEnd(at, record.length)
    }
  }
  return found
}
