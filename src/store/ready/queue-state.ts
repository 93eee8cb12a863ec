/**
 * One queue as the ready-index sees it: whether it is paused, what its own limit lets through,
 * and whether its tasks age. A queue that lets nothing through stops all its channels at once:
 * the index does not look into them.
 */
import type { LimitSpec, Queue, Usage } from '../../kernel/index.ts'
import { changeRate, chargeGrant, creditEnd, mayStartAt, noUsage } from '../../kernel/index.ts'

export class QueueState {
  readonly usage: Usage = noUsage()
  /** Tasks that are due and wait, whatever stops them. */
  ready = 0
  /** How long a task waits until it rises by one priority; null: never. */
  ageingMs: number | null = null
  #limit: LimitSpec
  #isLimited = false
  #isPaused = false
  #isConfigured = false

  constructor(name: string) {
    this.#limit = { key: name, concurrency: null, rate: null }
  }

  /** Whether its tasks rank otherwise now. */
  configure({ name, concurrency, rate, paused, ageingMs }: Queue, now: number): boolean {
    changeRate(this.usage, rate, now)
    this.#limit = { key: name, concurrency, rate }
    this.#isLimited = concurrency !== null || rate !== null
    this.#isPaused = paused
    this.#isConfigured = true
    const before = this.ageingMs
    this.ageingMs = ageingMs
    return before !== ageingMs
  }

  isOpen(now: number): boolean {
    if (this.#isPaused) return false
    return !this.#isLimited || mayStartAt(this.#limit, this.usage, now) <= now
  }

  /** A grant may close it. */
  get isLimited(): boolean {
    return this.#isLimited
  }

  /** Nothing would be lost with it. Only a queue that was configured has a rate, and so a bucket. */
  get isUnused(): boolean {
    return !this.#isConfigured && this.ready === 0 && this.usage.held === 0
  }

  charge(at: number, resumed: boolean): void {
    chargeGrant(this.usage, this.#limit, at, resumed)
  }

  credit(): void {
    creditEnd(this.usage)
  }
}
