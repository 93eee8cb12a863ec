/**
 * How far a SQLite file was acknowledged, in a file of its own beside it (`-mark`).
 *
 * SQLite takes a write-ahead log that was cut, or that does not check from some point on, for one whose
 * writer died there: it opens without a word, and without what was committed behind that point. What says how
 * far it went must not be lost with it.
 *
 * Each connection writes it AFTER a commit that appended entries, and does not sync it each time. So it may
 * lag behind, and never runs ahead: other connections may write an older position over a newer one, and the
 * commits of a user's own connection are not in it until the next one of ours. A failure to write it is no
 * failure of the commit.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import {
  decodeMark,
  encodeMark,
  encodeMarkSlot,
  SLOT_OFFSETS,
} from '../../../log/segments/durable-mark.ts'
import type { AcknowledgedMark } from '../dialect.ts'

/** The file beside a database. */
export function markPath(path: string): string {
  return `${path}-mark`
}

/** Null: there is none, or it does not check, or there is no such database any more. */
export function readAcknowledged(path: string): AcknowledgedMark | null {
  try {
    if (statSync(path).size === 0) return null
    const found = decodeMark(readFileSync(markPath(path)))
    return found.kind === 'mark' ? found : null
  } catch {
    return null
  }
}

/** In place of what it says now: for a repair, which gives up what is behind the position. */
export function replaceAcknowledged(path: string, storeId: string, position: number): void {
  writeFileSync(markPath(path), encodeMark(storeId, position), { flush: true })
}

/** The mark of a file, for one connection. */
export class AcknowledgedMarkFile {
  readonly #path: string
  readonly #storeId: string
  #file: number | null = null
  #next = 0

  constructor(path: string, storeId: string) {
    this.#path = path
    this.#storeId = storeId
  }

  /** AFTER the commit. */
  set(position: number): void {
    try {
      this.#file ??= this.#open(position)
      const offset = SLOT_OFFSETS[this.#next] as number
      writeSync(this.#file, encodeMarkSlot(this.#storeId, position), 0, undefined, offset)
      this.#next = 1 - this.#next
    } catch {
      // There is no room, or it may not be written: it lags behind.
    }
  }

  close(): void {
    if (this.#file === null) return
    try {
      fsyncSync(this.#file)
      closeSync(this.#file)
    } catch {
      // The same.
    }
    this.#file = null
  }

  /** One that is another store's is replaced: this file stands where that one was. */
  #open(position: number): number {
    if (readAcknowledged(this.#path)?.storeId !== this.#storeId) {
      replaceAcknowledged(this.#path, this.#storeId, position)
    }
    return openSync(markPath(this.#path), 'r+')
  }
}
