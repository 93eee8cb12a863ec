/**
 * One queue as the ready-index sees it: whether it lets anything through, and its channels.
 *
 * A paused queue, or one whose own limit is used up, stops all its channels at once: nobody
 * even looks at them.
 */
import type { LimitSpec, Queue, Usage } from '../../kernel/index.ts'
import { changeRate, chargeGrant, creditEnd, mayStartAt, noUsage } from '../../kernel/index.ts'
import type { ReadyChannel } from './channel.ts'

export class QueueState {
  readonly usage: Usage = noUsage()
  channels: ReadyChannel[] = []
  /** Tasks that are due and wait, whatever stops them. */
  ready = 0
  /** By job type, then by stage name; null: a plain job. */
  readonly byType = new Map<string, Map<string | null, ReadyChannel>>()
  /** How long a task waits until it rises by one priority; null: never. */
  ageingMs: number | null = null
  #limit: LimitSpec
  #limited = false
  #paused = false
  #configured = false

  constructor(name: string) {
    this.#limit = { key: name, concurrency: null, rate: null }
  }

  /** Whether its tasks rank otherwise now. */
  configure({ name, concurrency, rate, paused, ageingMs }: Queue, now: number): boolean {
    changeRate(this.usage, rate, now)
    this.#limit = { key: name, concurrency, rate }
    this.#limited = concurrency !== null || rate !== null
    this.#paused = paused
    this.#configured = true
    const before = this.ageingMs
    this.ageingMs = ageingMs
    return before !== ageingMs
  }

  isOpen(now: number): boolean {
    if (this.#paused) return false
    return !this.#limited || mayStartAt(this.#limit, this.usage, now) <= now
  }

  /** Nothing would be lost with it. Only one that was configured has a rate, and so a bucket. */
  get isUnused(): boolean {
    return !this.#configured && this.channels.length === 0 && this.usage.held === 0
  }

  /** Forgets channels where nothing is ready, and lanes of the others. The number of lanes left. */
  sweep(): number {
    let left = 0
    for (const channel of this.channels) left += channel.sweep()
    this.channels = this.channels.filter((channel) => !channel.isUnused)
    for (const [type, stages] of this.byType) {
      for (const [stage, channel] of stages) if (channel.isUnused) stages.delete(stage)
      if (stages.size === 0) this.byType.delete(type)
    }
    return left
  }

  charge(at: number, resumed: boolean): void {
    chargeGrant(this.usage, this.#limit, at, resumed)
  }

  credit(): void {
    creditEnd(this.usage)
  }
}
