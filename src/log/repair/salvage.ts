/**
 * What can still be read of a range of the log that is given up: entry by entry where a
 * record is whole, and else which bytes are not readable. It only reads.
 */
import { MalformedBytes } from '../format/bytes.ts'
import {
  alignUp,
  contentEnd,
  GROUP_ALIGN,
  GROUP_HEAD,
  hasTrailer,
  isZero,
  positionOf,
  readGroupHead,
  readRecordHead,
  RECORD_HEAD,
  recordEnd,
  UNIT,
  MARKER_CODE,
} from '../format/format.ts'
import { Interning } from '../format/interning.ts'
import { decodeEntry } from '../segments/log-reader.ts'

/** An entry that is given up. */
export interface GivenUp {
  readonly position: number
  readonly type: string
  /** Null: it belongs to a queue or a schedule, or only its type can be read. */
  readonly job: string | null
}

/** Bytes of a file that no entry can be read from. */
export interface Unreadable {
  readonly file: string
  readonly from: number
  /** Behind the last one. */
  readonly to: number
  /** Of the first byte. */
  readonly position: number
}

/** What is given up, oldest first. */
export interface Salvage {
  readonly entries: GivenUp[]
  readonly unreadable: Unreadable[]
}

export class Salvager {
  readonly #file: string
  readonly #bytes: Buffer
  readonly #base: number
  readonly #interning = new Interning()
  readonly #into: Salvage
  /** Where the records of the group end that is being read, and where all of it does. */
  #groupUsed = 0
  #groupEnd = 0
  /** Where the unreadable bytes begin that were met last; null: the last thing was readable. */
  #since: number | null = null
  #to = 0

  constructor(file: string, bytes: Buffer, base: number, into: Salvage) {
    this.#file = file
    this.#bytes = bytes
    this.#base = base
    this.#into = into
  }

  /**
   * Goes through the bytes between two offsets. There were groups up to `until` once, which may
   * be behind what is left of the file; 0: it is not known. Where nothing can be read any more.
   */
  read(from: number, to: number, until: number): number {
    const end = Math.min(contentEnd(this.#bytes.subarray(0, to), from), to)
    this.#groupUsed = 0
    this.#groupEnd = 0
    let at = from
    while (at < end) at = this.#step(at)
    // What stands last in a group are its padding and its trailer, and they tell nothing.
    const last = Math.max(alignUp(at, GROUP_ALIGN), Math.min(this.#groupEnd, to))
    if (last < until && this.#since !== null) this.#to = until
    this.#flush()
    return last
  }

  /** Looks at what stands here; where to go on. */
  #step(at: number): number {
    const bytes = this.#bytes
    if (at % GROUP_ALIGN === 0) {
      const head = readGroupHead(bytes, at)
      if (head !== null && head.position === positionOf(this.#base, at)) {
        this.#flush()
        this.#groupUsed = at + head.used
        this.#groupEnd = at + head.bytes
        return at + GROUP_HEAD
      }
    }
    const record = readRecordHead(bytes, at, bytes.length)
    if (record !== null) {
      this.#flush()
      this.#add(at, record.length, record.code, record.version)
      return recordEnd(at, record.length)
    }
    if (!this.#isFiller(at)) this.#mark(at)
    return at + UNIT
  }

  /** Behind its records a group has zeros and a trailer; a place for another one has neither. */
  #isFiller(at: number): boolean {
    if (at < this.#groupUsed) return false
    if (hasTrailer(this.#bytes, at + UNIT)) return true
    const isBlank = isZero(this.#bytes, at, Math.min(at + UNIT, this.#bytes.length))
    return isBlank && (at < this.#groupEnd || (at % GROUP_ALIGN !== 0 && this.#since === null))
  }

  #add(at: number, length: number, code: number, version: number): void {
    if (code === MARKER_CODE) return
    const position = positionOf(this.#base, at)
    const body = at + RECORD_HEAD
    try {
      const read = decodeEntry(this.#bytes, body, length, code, version, position, this.#interning)
      const { entry } = read
      this.#into.entries.push({
        position,
        type: entry.type,
        job: 'job' in entry ? entry.job : null,
      })
    } catch (error) {
      // Whole, and yet no entry that this version knows.
      if (!(error instanceof MalformedBytes)) throw error
      this.#into.entries.push({ position, type: `code ${code}`, job: null })
    }
  }

  #mark(at: number): void {
    this.#since ??= at
    this.#to = at + UNIT
  }

  #flush(): void {
    if (this.#since === null) return
    const from = this.#since
    const position = positionOf(this.#base, from)
    this.#into.unreadable.push({ file: this.#file, from, to: this.#to, position })
    this.#since = null
  }
}
