/**
 * Values that many segments of one job share: its input, and the array they are elements of.
 *
 * They are read and checked once, not once for each of thousands of segments, and frozen, so
 * that no segment changes what another gets. The latest are kept, up to a number and a size.
 */

/** A value, and how long it was as JSON. */
interface Weighed {
  readonly value: unknown
  readonly chars: number
}

interface KeptValue {
  readonly value: Promise<unknown>
  chars: number
}

const MOST = 64
const MOST_CHARS = 8 * 1_048_576

export class SharedValues {
  /** The latest last. */
  readonly #kept = new Map<string, KeptValue>()
  #chars = 0

  /** `key` must stand for the same value for ever. What cannot be made is tried again. */
  async get(key: string, make: () => Promise<Weighed>): Promise<unknown> {
    const known = this.#kept.get(key)
    if (known !== undefined) {
      this.#kept.delete(key)
      this.#kept.set(key, known)
      return known.value
    }
    const making = make()
    const kept: KeptValue = { value: making.then(({ value }) => frozen(value)), chars: 0 }
    this.#kept.set(key, kept)
    try {
      const { chars } = await making
      if (this.#kept.get(key) === kept) this.#weigh(kept, chars)
    } catch {
      if (this.#kept.get(key) === kept) this.#kept.delete(key)
    }
    return kept.value
  }

  #weigh(kept: KeptValue, chars: number): void {
    kept.chars = chars
    this.#chars += chars
    for (const [key, oldest] of this.#kept) {
      if (oldest === kept || (this.#kept.size <= MOST && this.#chars <= MOST_CHARS)) return
      this.#kept.delete(key)
      this.#chars -= oldest.chars
    }
  }
}

/** Plain data all the way down; what a schema made of it (a Date, a class) is left alone. */
function frozen(value: unknown): unknown {
  const left = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (!isPlain(next) || Object.isFrozen(next)) continue
    Object.freeze(next)
    for (const inner of Object.values(next)) left.push(inner)
  }
  return value
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
