/**
 * What this process knows of queues, for proposals only: how they rank what waits in them, and
 * whether it is worth looking into them. It may be out of date for a moment; what is granted is
 * decided on what is locked.
 */
import type { Queue } from '../../../kernel/index.ts'

export class QueueCache {
  readonly #known = new Map<string, Queue | null>()

  /** Null: nobody configured it. */
  has(name: string): boolean {
    return this.#known.has(name)
  }

  know(queue: Queue): void {
    this.#known.set(queue.name, { ...queue })
  }

  knowAbsent(name: string): void {
    this.#known.set(name, null)
  }

  ageingMs(name: string): number | null {
    return this.#known.get(name)?.ageingMs ?? null
  }

  /** It is paused, or has limits of its own, as far as is known: it may let nothing through. */
  stops(name: string): boolean {
    const queue = this.#known.get(name)
    if (queue == null) return false
    return queue.paused || queue.concurrency !== null || queue.rate !== null
  }

  /** The same of a queue of which nothing is known. */
  mayStop(name: string): boolean {
    return !this.#known.has(name) || this.stops(name)
  }

  /** What others changed is read again. */
  clear(): void {
    this.#known.clear()
  }
}
