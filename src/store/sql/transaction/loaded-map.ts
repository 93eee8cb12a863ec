/**
 * A map of what was looked for: it knows what is there and what is not, and refuses to answer for
 * anything else. In a transaction, what nobody loaded and locked must not be taken to be absent.
 */
import { PawlError } from '../../../kernel/index.ts'

export class NotLoaded extends PawlError {
  constructor(what: string) {
    super('NotLoaded', 'bug', `${what} was decided on before it was loaded: please report this.`)
  }
}

export class LoadedMap<T> extends Map<string, T> {
  readonly #kind: string
  readonly #absent = new Set<string>()

  constructor(kind: string) {
    super()
    this.#kind = kind
  }

  /** It was looked for, and is not there. */
  isAbsent(id: string): void {
    if (!super.has(id)) this.#absent.add(id)
  }

  isKnown(id: string): boolean {
    return super.has(id) || this.#absent.has(id)
  }

  override get(id: string): T | undefined {
    const found = super.get(id)
    if (found === undefined && !this.#absent.has(id)) throw new NotLoaded(`${this.#kind} ${id}`)
    return found
  }

  override set(id: string, value: T): this {
    // The constructor of a map has no fields yet.
    this.#absent?.delete(id)
    return super.set(id, value)
  }

  override delete(id: string): boolean {
    this.#absent.add(id)
    return super.delete(id)
  }
}
