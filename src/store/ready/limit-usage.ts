/**
 * The limits that tasks declare: how much of each key is used, and which gates that closes.
 *
 * Usage is charged and credited by what the log says. After each change the gates of the key
 * are asked again; a gate that only time can open stands among the timers.
 */
import type { LimitSpec } from '../../kernel/index.ts'
import { chargeGrant, creditEnd, mayStartAt } from '../../kernel/index.ts'
import { LimitState, LimitKey } from './limit-state.ts'
import type { Effort } from './indexed-queue.ts'
import { NOT_QUEUED, IndexedQueue } from './indexed-queue.ts'

export class LimitUsage {
  /** By key: what `decide` reads. */
  readonly usage = new Map<string, LimitKey>()
  readonly #timers: IndexedQueue<LimitState>
  #gates = 0

  constructor(effort: Effort) {
    this.#timers = new IndexedQueue(effort)
  }

  gateFor(limit: LimitSpec, now: number): LimitState {
    const key = this.#key(limit.key)
    const known = key.gateFor(limit)
    if (known !== null) return known
    this.#gates += 1
    const gate = new LimitState(limit, key, this.#gates)
    key.add(gate)
    this.#ask(gate, now)
    return gate
  }

  restore(key: string, fullAt: number): void {
    this.#key(key).fullAt = fullAt
  }

  charge(limits: readonly LimitSpec[], at: number, resumed: boolean): void {
    for (const limit of limits) {
      const key = this.#key(limit.key)
      chargeGrant(key, limit, at, resumed)
      this.#askAll(key, at)
    }
  }

  /** As `charge`, for one whose gates are known. */
  chargeGates(gates: readonly LimitState[], at: number): void {
    for (const gate of gates) {
      chargeGrant(gate.usage, gate, at, false)
      this.#askAll(gate.usage, at)
    }
  }

  credit(limits: readonly LimitSpec[], at: number): void {
    for (const limit of limits) {
      const key = this.#key(limit.key)
      creditEnd(key)
      this.#askAll(key, at)
    }
  }

  /** Opens the gates whose time has come. */
  advance(now: number): void {
    for (;;) {
      const gate = this.#timers.first
      if (gate === undefined || gate.dueAt > now) return
      this.#timers.remove(gate)
      this.#ask(gate, now)
    }
  }

  /** BEFORE a sweep: lanes that are left will say so. */
  forgetLanes(): void {
    for (const { gates } of this.usage.values()) for (const gate of gates) gate.forgetLanes()
  }

  /** Forgets gates that no lane has, and keys that nothing uses. */
  sweep(now: number): void {
    for (const [name, key] of this.usage) {
      const { gates } = key
      for (const gate of gates) {
        if (gate.isUnused && gate.slot !== NOT_QUEUED) this.#timers.remove(gate)
      }
      key.keep(gates.filter((gate) => !gate.isUnused))
      if (key.gate === null && key.held === 0 && key.fullAt <= now) this.usage.delete(name)
    }
  }

  #key(name: string): LimitKey {
    let key = this.usage.get(name)
    if (key === undefined) this.usage.set(name, (key = new LimitKey()))
    return key
  }

  #askAll(key: LimitKey, now: number): void {
    if (key.gate !== null) this.#ask(key.gate, now)
    for (const gate of key.others) this.#ask(gate, now)
  }

  #ask(gate: LimitState, now: number): void {
    const startAt = mayStartAt(gate, gate.usage, now)
    const closed = startAt > now
    if (gate.slot !== NOT_QUEUED) this.#timers.remove(gate)
    if (closed && startAt < Infinity) {
      gate.dueAt = startAt
      this.#timers.add(gate)
    }
    if (closed !== gate.isClosed) gate.swing(closed)
  }
}
