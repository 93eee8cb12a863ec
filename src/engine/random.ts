/**
 * The engine's port to randomness: ids of jobs.
 *
 * An id is a UUID of version 7 (RFC 9562): 48 bits of milliseconds, a counter of 26 bits, and 48 random
 * bits. So ids that one process makes are in the order in which it makes them, and those of several
 * processes in the order of their clocks, which keeps what a store writes about new jobs together.
 */
import { randomFillSync } from 'node:crypto'
import { systemClock } from '../store/clock.ts'

const RANDOM_BYTES = 6
const ID_CHARS = 36
/** The counter begins at random, below half of what it can count to, so that it rarely runs over. */
const MOST_COUNTED = 2 ** 26 - 1
const MOST_MS = 2 ** 48 - 1
/** Of one call of the system: it costs as much for a few bytes as for some hundred ids. */
const DRAWN_BYTES = 4_096

const DIGITS = Buffer.from('0123456789abcdef', 'latin1')
/** Where digits stand, between the dashes and the digits that say version and variant. */
const MS_AT = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12]
const COUNTER_HIGH_AT = [15, 16, 17]
const COUNTER_LOW_AT = [20, 21, 22]
const RANDOM_AT = 24
const LOW_BITS = 14
/** The two bits that say the variant, before the two highest bits of the lower half of the counter. */
const VARIANT = 0x8

/** What the type declarations leave out: `toString` without its checks. */
interface Latin1 {
  latin1Slice(from: number, to: number): string
}

export class JobIds {
  readonly #now: () => number
  readonly #mostCounted: number
  readonly #text = Buffer.from('00000000-0000-7000-8000-000000000000', 'latin1') as Buffer & Latin1
  readonly #drawn = Buffer.alloc(DRAWN_BYTES)
  #at = DRAWN_BYTES
  #ms = -1
  #counter = 0

  /**
   * `now`: milliseconds since 1970. It may step back: then ids go on from the latest time.
   * `mostCounted`: a port for tests.
   */
  constructor(now: () => number, mostCounted = MOST_COUNTED) {
    this.#now = now
    this.#mostCounted = mostCounted
  }

  next(): string {
    const ms = Math.min(MOST_MS, Math.max(0, Math.floor(this.#now())))
    if (ms > this.#ms) this.#begin(ms)
    else if (this.#counter === this.#mostCounted) this.#begin(this.#ms + 1)
    else this.#counter += 1
    const counter = this.#counter
    writeDigits(this.#text, COUNTER_HIGH_AT, counter >>> LOW_BITS)
    this.#text[19] = DIGITS[VARIANT | ((counter >>> 12) & 3)] as number
    writeDigits(this.#text, COUNTER_LOW_AT, counter & 0xfff)
    this.#writeRandom()
    return this.#text.latin1Slice(0, ID_CHARS)
  }

  #begin(ms: number): void {
    this.#ms = ms
    writeDigits(this.#text, MS_AT.slice(6), ms % 2 ** 24)
    writeDigits(this.#text, MS_AT.slice(0, 6), Math.floor(ms / 2 ** 24))
    this.#counter = this.#draw(4).readUInt32LE(this.#at - 4) % (this.#mostCounted >>> 1)
  }

  #writeRandom(): void {
    const drawn = this.#draw(RANDOM_BYTES)
    const from = this.#at - RANDOM_BYTES
    for (let i = 0; i < RANDOM_BYTES; i++) {
      const byte = drawn[from + i] as number
      this.#text[RANDOM_AT + 2 * i] = DIGITS[byte >>> 4] as number
      this.#text[RANDOM_AT + 2 * i + 1] = DIGITS[byte & 0xf] as number
    }
  }

  /** So many fresh bytes stand before `#at`. */
  #draw(bytes: number): Buffer {
    if (this.#at + bytes > DRAWN_BYTES) {
      randomFillSync(this.#drawn)
      this.#at = 0
    }
    this.#at += bytes
    return this.#drawn
  }
}

function writeDigits(text: Buffer, places: readonly number[], value: number): void {
  let left = value
  for (let i = places.length - 1; i >= 0; i--) {
    text[places[i] as number] = DIGITS[left & 0xf] as number
    left >>>= 4
  }
}

/** One for all engines of the process: their ids are in one order. */
const jobIds = new JobIds(() => systemClock.now())

export function newJobId(): string {
  return jobIds.next()
}
