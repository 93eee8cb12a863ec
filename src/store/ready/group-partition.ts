/**
 * A bay: the lanes of one share that stand in one yard. It is ranked by its share's turn, so
 * when the turn passes on, one bay moves, however many lanes it has.
 *
 * The turn that it was ranked by may be an older one of its share. Turns only grow, so such a
 * bay stands too far in front, is found there, and is put where it belongs.
 */
import type { ReadyList } from './ready-list.ts'
import type { Effort, QueueMember } from './indexed-queue.ts'
import { NOT_QUEUED, IndexedQueue } from './indexed-queue.ts'
import type { GroupTurn } from './group-turn.ts'
import type { LimitPartition } from './limit-partition.ts'

export class GroupPartition implements QueueMember {
  slot = NOT_QUEUED
  turn = 0
  /** The only lane, until there are two: nearly always it is, and there are many bays. */
  #lane: ReadyList | null = null
  #lanes: IndexedQueue<ReadyList> | null = null
  readonly share: GroupTurn
  readonly yard: LimitPartition

  constructor(share: GroupTurn, yard: LimitPartition) {
    this.share = share
    this.yard = yard
  }

  get isOutdated(): boolean {
    return this.turn !== this.share.turn
  }

  /** The best lane. */
  get first(): ReadyList | null {
    return this.#lanes === null ? this.#lane : (this.#lanes.first ?? null)
  }

  get priority(): number {
    return this.share.priority
  }

  /** Those of the best lane. Only while there is one. */
  get dueAt(): number {
    return (this.first as ReadyList).dueAt
  }

  get submission(): number {
    return (this.first as ReadyList).submission
  }

  add(lane: ReadyList, effort: Effort): void {
    lane.bay = this
    if (this.#lanes !== null) return this.#lanes.add(lane)
    if (this.#lane === null) {
      this.#lane = lane
      return
    }
    this.#lanes = new IndexedQueue(effort)
    this.#lanes.add(this.#lane)
    this.#lanes.add(lane)
    this.#lane = null
  }

  remove(lane: ReadyList): void {
    lane.bay = null
    if (this.#lanes === null) this.#lane = null
    else this.#lanes.remove(lane)
  }

  /** The lane has another head. */
  moved(lane: ReadyList): void {
    this.#lanes?.moved(lane)
  }
}
