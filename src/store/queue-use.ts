/**
 * One queue as the ready-index sees it: whether it lets anything through, and its channels.
 *
 * A paused queue, or one whose own limit is used up, stops all its channels at once: nobody
 * even looks at them.
 */
import type { LimitSpec, Queue, Usage } from '../kernel/index.ts'
import { changeRate, chargeGrant, creditEnd, mayStartAt, noUsage } from '../kernel/index.ts'
import type { Channel } from './channel.ts'

export class QueueUse {
  readonly usage: Usage = noUsage()
  readonly channels: Channel[] = []
  /** Tasks that are due and wait, whatever stops them. */
  ready = 0
  /** By job type, then by stage name; null: a plain job. */
  readonly byType = new Map<string, Map<string | null, Channel>>()
  /** How long a task waits until it rises by one priority; null: never. */
  ageingMs: number | null = null
  #limit: LimitSpec
  #limited = false
  #paused = false

  constructor(name: string) {
    this.#limit = { key: name, concurrency: null, rate: null }
  }

  /** Whether its tasks rank otherwise now. */
  configure({ name, concurrency, rate, paused, ageingMs }: Queue, now: number): boolean {
    changeRate(this.usage, rate, now)
    this.#limit = { key: name, concurrency, rate }
    this.#limited = concurrency !== null || rate !== null
    this.#paused = paused
    const before = this.ageingMs
    this.ageingMs = ageingMs
    return before !== ageingMs
  }

  isOpen(now: number): boolean {
    if (this.#paused) return false
    return !this.#limited || mayStartAt(this.#limit, this.usage, now) <= now
  }

  charge(at: number, resumed: boolean): void {
    chargeGrant(this.usage, this.#limit, at, resumed)
  }

  credit(): void {
    creditEnd(this.usage)
  }
}
