/**
 * A yard: the lanes of one channel that stand behind the same shared gates, in bays.
 *
 * Open: it stands among the channel's yards, ranked by the best of its bays. Closed by any of
 * its gates: it stands nowhere, with all its lanes, however many they are, until all are open.
 * One yard has no gate, and is always open: there stand the lanes that share none (`gate.ts`).
 */
import { GroupPartition } from './group-partition.ts'
import type { ReadyChannel } from './channel.ts'
import type { LimitState } from './limit-state.ts'
import type { ReadyList } from './ready-list.ts'
import type { Effort, QueueMember } from './indexed-queue.ts'
import { NOT_QUEUED, IndexedQueue } from './indexed-queue.ts'
import type { GroupTurn } from './group-turn.ts'

export class LimitPartition implements QueueMember {
  slot = NOT_QUEUED
  readonly channel: ReadyChannel
  readonly gates: readonly LimitState[]
  /** Those that have lanes. */
  readonly bays: IndexedQueue<GroupPartition>
  readonly #byShare = new Map<GroupTurn, GroupPartition>()
  readonly #effort: Effort

  constructor(channel: ReadyChannel, gates: readonly LimitState[], effort: Effort) {
    this.channel = channel
    this.gates = gates
    this.bays = new IndexedQueue(effort)
    this.#effort = effort
  }

  /** The rank of the best bay. Only while there is one. */
  get priority(): number {
    return (this.bays.first as GroupPartition).priority
  }

  get turn(): number {
    return (this.bays.first as GroupPartition).turn
  }

  get dueAt(): number {
    return (this.bays.first as GroupPartition).dueAt
  }

  get submission(): number {
    return (this.bays.first as GroupPartition).submission
  }

  get isOpen(): boolean {
    return this.gates.every(({ isClosed }) => !isClosed)
  }

  enter(lane: ReadyList): void {
    const bay = this.#bayOf(lane.share)
    bay.add(lane, this.#effort)
    this.settle(bay)
  }

  leave(lane: ReadyList, bay: GroupPartition): void {
    bay.remove(lane)
    this.settle(bay)
  }

  /** Puts a bay where it belongs, after its lanes or its share's turn changed. */
  settle(bay: GroupPartition): void {
    if (bay.first === null) {
      if (bay.slot !== NOT_QUEUED) this.bays.remove(bay)
      return
    }
    bay.turn = bay.share.turn
    if (bay.slot === NOT_QUEUED) this.bays.add(bay)
    else this.bays.moved(bay)
  }

  /** Nearly all bays stand behind no gate: those are known to their share, and not looked up. */
  #bayOf(share: GroupTurn): GroupPartition {
    if (this.gates.length === 0) return (share.free ??= new GroupPartition(share, this))
    let bay = this.#byShare.get(share)
    if (bay === undefined) this.#byShare.set(share, (bay = new GroupPartition(share, this)))
    return bay
  }

  /** Forgets bays without lanes. */
  sweep(): void {
    for (const [share, bay] of this.#byShare) {
      if (bay.first === null) this.#byShare.delete(share)
    }
  }
}
