/**
 * Values that many segments of one job share: its input, and the array they are elements of.
 *
 * A cache: they are read and checked once, not once for each of thousands of segments, and frozen,
 * so that no segment changes what another gets. The latest stay, up to a number and a size.
 */

/** A value, and its length as JSON. */
interface SizedValue {
  readonly value: unknown
  readonly chars: number
}

interface CachedValue {
  readonly value: Promise<unknown>
  chars: number
}

const MOST = 64
const MOST_CHARS = 8 * 1_048_576

export class SharedValues {
  /** The latest last. */
  readonly #cached = new Map<string, CachedValue>()
  #chars = 0

  /** `key` must name the same value for ever. A value that could not be made is made again. */
  async get(key: string, make: () => Promise<SizedValue>): Promise<unknown> {
    const known = this.#cached.get(key)
    if (known !== undefined) {
      this.#cached.delete(key)
      this.#cached.set(key, known)
      return known.value
    }
    const making = make()
    const kept: CachedValue = { value: making.then(({ value }) => frozen(value)), chars: 0 }
    this.#cached.set(key, kept)
    try {
      const { chars } = await making
      if (this.#cached.get(key) === kept) this.#evictFor(kept, chars)
    } catch {
      if (this.#cached.get(key) === kept) this.#cached.delete(key)
    }
    return kept.value
  }

  #evictFor(kept: CachedValue, chars: number): void {
    kept.chars = chars
    this.#chars += chars
    for (const [key, oldest] of this.#cached) {
      if (oldest === kept || (this.#cached.size <= MOST && this.#chars <= MOST_CHARS)) return
      this.#cached.delete(key)
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
