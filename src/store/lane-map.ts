/**
 * The lanes of a channel, found by what their tasks have in common: priority, group and limits.
 */
import type { LimitSpec } from '../kernel/index.ts'
import type { Lane } from './lane.ts'

/** Those of one priority and group. */
interface Lanes {
  free: Lane | null
  /** By the key of their one limit, or by all of them as text; with other bounds, another lane. */
  readonly limited: Map<string, Lane[]>
}

export class LaneMap {
  readonly #byPriority = new Map<number, Map<string | null, Lanes>>()

  get(priority: number, group: string | null, limits: readonly LimitSpec[]): Lane | null {
    const lanes = this.#byPriority.get(priority)?.get(group)
    if (lanes === undefined) return null
    if (limits.length === 0) return lanes.free
    return lanes.limited.get(textOf(limits))?.find((lane) => lane.isFor(limits)) ?? null
  }

  add(lane: Lane): void {
    const { level, group, gates } = lane
    let groups = this.#byPriority.get(level)
    if (groups === undefined) this.#byPriority.set(level, (groups = new Map<string, Lanes>()))
    let lanes = groups.get(group)
    if (lanes === undefined) groups.set(group, (lanes = { free: null, limited: new Map() }))
    if (gates.length === 0) {
      lanes.free = lane
      return
    }
    const text = textOf(gates)
    const others = lanes.limited.get(text)
    if (others === undefined) lanes.limited.set(text, [lane])
    else others.push(lane)
  }

  *[Symbol.iterator](): Generator<Lane> {
    for (const groups of this.#byPriority.values()) {
      for (const { free, limited } of groups.values()) {
        if (free !== null) yield free
        for (const lanes of limited.values()) yield* lanes
      }
    }
  }

  clear(): void {
    this.#byPriority.clear()
  }
}

/** One key is text already; building one for each task would cost more than all the rest. */
function textOf(limits: readonly LimitSpec[]): string {
  const [first, ...others] = limits as [LimitSpec, ...LimitSpec[]]
  return others.length === 0 ? first.key : limits.map(({ key }) => `${key.length}:${key}`).join()
}
