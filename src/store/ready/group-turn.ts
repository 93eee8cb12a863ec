/**
 * A share: what one group has ready in one channel, at one priority. Shares take turns.
 *
 * Idle: nothing is ready. Waiting: it stands behind every share that waited before, and goes
 * back there each time that it is served. So a group is served once in a round, however much it
 * has waiting; and since it joins at the end, a group that was idle has saved up nothing, and
 * groups that come and go pass nobody. Jobs without a group are one group.
 *
 * In a queue with ageing a share is of all priorities.
 *
 * Its lanes are found by their limits, and by their priority where they differ in it.
 */
import type { LimitSpec } from '../../kernel/index.ts'
import type { GroupPartition } from './group-partition.ts'
import type { ReadyList } from './ready-list.ts'

/** How many turns were given so far; shared by all shares of an index. */
export interface Turns {
  given: number
}

export class GroupTurn {
  readonly priority: number
  /** The smallest is next. Meaningless while it is idle. */
  turn = 0
  /** Tasks that are ready, whether a limit stops them or not; the one on offer included. */
  ready = 0
  /** Its lanes that stand behind no gate. */
  free: GroupPartition | null = null
  readonly #turns: Turns
  /** The only lane, until there are two: nearly always it is, and there are many shares. */
  #lane: ReadyList | null = null
  /** The first of those whose limits have the same text; the others follow it (`lane.alike`). */
  #byText: Map<string, ReadyList> | null = null

  constructor(priority: number, turns: Turns) {
    this.priority = priority
    this.#turns = turns
  }

  came(): void {
    this.ready += 1
    if (this.ready === 1) this.#toTheEnd()
  }

  left(): void {
    this.ready -= 1
  }

  served(): void {
    if (this.ready > 0) this.#toTheEnd()
  }

  /** Tasks of a share that is no more. Of two, the turn that comes first counts. */
  takeIn(ready: number, turn: number): void {
    this.turn = this.ready === 0 ? turn : Math.min(this.turn, turn)
    this.ready += ready
  }

  /** Null: nobody added it yet. */
  lane(level: number, limits: readonly LimitSpec[]): ReadyList | null {
    const known = this.#byText === null ? this.#lane : this.#byText.get(this.#textOf(level, limits))
    let lane = known ?? null
    while (lane !== null && !lane.isFor(level, limits)) lane = lane.alike
    return lane
  }

  addLane(lane: ReadyList): void {
    lane.alike = null
    if (this.#byText !== null) return this.#addTo(this.#byText, lane)
    if (this.#lane === null) {
      this.#lane = lane
      return
    }
    this.#byText = new Map()
    this.#addTo(this.#byText, this.#lane)
    this.#addTo(this.#byText, lane)
    this.#lane = null
  }

  #addTo(byText: Map<string, ReadyList>, lane: ReadyList): void {
    const text = this.#textOf(lane.level, lane.gates)
    lane.alike = byText.get(text) ?? null
    byText.set(text, lane)
  }

  *lanes(): Generator<ReadyList> {
    if (this.#lane !== null) yield this.#lane
    for (const first of this.#byText?.values() ?? []) {
      for (let lane: ReadyList | null = first; lane !== null; lane = lane.alike) yield lane
    }
  }

  /** Forgets lanes that nobody counts on. */
  sweep(): void {
    const left = [...this.lanes()].filter((lane) => !lane.isUnused)
    this.#lane = null
    this.#byText = null
    for (const lane of left) this.addLane(lane)
  }

  /** One key is text already; building one for each task would cost more than all the rest. */
  #textOf(level: number, limits: readonly LimitSpec[]): string {
    const [first] = limits
    const text =
      limits.length < 2
        ? (first?.key ?? '')
        : limits.map(({ key }) => `${key.length}:${key}`).join()
    return level === this.priority ? text : `${level} ${text}`
  }

  #toTheEnd(): void {
    this.#turns.given += 1
    this.turn = this.#turns.given
  }
}
