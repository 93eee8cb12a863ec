/**
 * One instance for what a log repeats a million times: names, and the policies of tasks.
 *
 * Found by their bytes, so that a value that is known is never built again. Bounded: a client
 * that makes up a new name for every job gets no benefit, and costs no memory either.
 */
import type { TaskPolicy } from '../../kernel/index.ts'
import type { ByteReader } from './bytes.ts'

/** How many distinct values of a kind are kept; then it starts over. */
export const MOST_KEPT = 10_000
/** Longer texts are no names: they seldom come twice. */
const LONGEST_KEPT = 256

interface InternedValue<T> {
  readonly bytes: Uint8Array
  readonly value: T
}

/** Values by their bytes. Of two with the same hash the newer one is kept. */
class KnownBytes<T> {
  readonly #known = new Map<number, InternedValue<T>>()
  /** Of the bytes that were looked up last. */
  #hash = 0

  find(buffer: Buffer, from: number, to: number): T | undefined {
    let hash = 0x811c_9dc5 | 0
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (buffer[i] as number), 0x0100_0193)
    this.#hash = hash
    const known = this.#known.get(hash)
    if (known === undefined) return undefined
    const { bytes } = known
    if (bytes.length !== to - from) return undefined
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== buffer[from + i]) return undefined
    return known.value
  }

  /** Keeps the value of the bytes that were looked for last and not found. */
  keep(buffer: Buffer, from: number, to: number, value: T): T {
    if (this.#known.size >= MOST_KEPT) this.#known.clear()
    this.#known.set(this.#hash, { bytes: new Uint8Array(buffer.subarray(from, to)), value })
    return value
  }
}

export class Interning {
  readonly #names = new KnownBytes<string>()
  readonly #policies = new KnownBytes<TaskPolicy>()
  readonly #texts = new Map<string, string>()

  /** The shared instance of a text. */
  text(value: string): string {
    if (value.length > LONGEST_KEPT) return value
    const known = this.#texts.get(value)
    if (known !== undefined) return known
    if (this.#texts.size >= MOST_KEPT) this.#texts.clear()
    this.#texts.set(value, value)
    return value
  }

  /** Reads a text that is likely to be known, such as the name of a queue or a worker. */
  read(reader: ByteReader): string {
    const { buffer, at } = reader
    const header = at < reader.end ? (buffer[at] as number) : 0xff
    // The header of a short ASCII text is one byte: its length, and two zero bits.
    const to = at + 1 + (header >>> 2)
    if ((header & 0x83) !== 0 || to > reader.end) return this.text(reader.text())
    const known = this.#names.find(buffer, at + 1, to)
    if (known === undefined) {
      return this.#names.keep(buffer, at + 1, to, this.text(reader.text()))
    }
    reader.at = to
    return known
  }

  /** The policy that was kept for these bytes. */
  policy(buffer: Buffer, from: number, to: number): TaskPolicy | undefined {
    return this.#policies.find(buffer, from, to)
  }

  /** Only right after `policy` found none for the same bytes. */
  keepPolicy(buffer: Buffer, from: number, to: number, policy: TaskPolicy): TaskPolicy {
    return this.#policies.keep(buffer, from, to, policy)
  }
}
