/**
 * A bay: the lanes of one share that stand in one yard. It is ranked by its share's turn, so
 * when the turn passes on, one bay moves, however many lanes it has.
 *
 * The turn that it was ranked by may be an older one of its share. Turns only grow, so such a
 * bay stands too far in front, is found there, and is put where it belongs.
 */
import type { Lane } from './lane.ts'
import type { Effort, Ranked } from './ranks.ts'
import { NOWHERE, Ranks } from './ranks.ts'
import type { Share } from './share.ts'
import type { Yard } from './yard.ts'

export class Bay implements Ranked {
  slot = NOWHERE
  turn = 0
  /** The only lane, until there are two: nearly always it is, and there are many bays. */
  #lane: Lane | null = null
  #lanes: Ranks<Lane> | null = null
  readonly share: Share
  readonly yard: Yard

  constructor(share: Share, yard: Yard) {
    this.share = share
    this.yard = yard
  }

  get isOutdated(): boolean {
    return this.turn !== this.share.turn
  }

  /** The best lane. */
  get first(): Lane | null {
    return this.#lanes === null ? this.#lane : (this.#lanes.first ?? null)
  }

  get priority(): number {
    return this.share.priority
  }

  /** Those of the best lane. Only while there is one. */
  get dueAt(): number {
    return (this.first as Lane).dueAt
  }

  get submission(): number {
    return (this.first as Lane).submission
  }

  add(lane: Lane, effort: Effort): void {
    lane.bay = this
    if (this.#lanes !== null) return this.#lanes.add(lane)
    if (this.#lane === null) {
      this.#lane = lane
      return
    }
    this.#lanes = new Ranks(effort)
    this.#lanes.add(this.#lane)
    this.#lanes.add(lane)
    this.#lane = null
  }

  remove(lane: Lane): void {
    lane.bay = null
    if (this.#lanes === null) this.#lane = null
    else this.#lanes.remove(lane)
  }

  /** The lane has another head. */
  moved(lane: Lane): void {
    this.#lanes?.moved(lane)
  }
}
