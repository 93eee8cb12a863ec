/**
 * A channel: the ready tasks that the same workers can run, by queue, job type and stage.
 *
 * ```
 * channel ─┬─ finishing: committed tasks, by due time. They come first, and nothing stops them.
 *          └─ yards, those that are open in a heap: behind the same shared gates, or none
 *               └─ bays, in a heap by priority and turn: the lanes of one group
 *                    └─ lanes, in a heap by due time: the same limits
 *                         └─ chain: tasks by due time and submission
 * ```
 *
 * So the best task that may start is at the top, and what is stopped is not looked at.
 */
import type { LimitSpec } from '../../kernel/index.ts'
import { missedStart } from '../../kernel/index.ts'
import type { LimitState } from './limit-state.ts'
import { ReadyList } from './ready-list.ts'
import type { SlotTable } from './slot-table.ts'
import type { QueueState } from './queue-state.ts'
import type { Effort } from './indexed-queue.ts'
import { NOT_QUEUED, IndexedQueue } from './indexed-queue.ts'
import type { Turns } from './group-turn.ts'
import { GroupTurn } from './group-turn.ts'
import { LimitPartition } from './limit-partition.ts'

export class ReadyChannel {
  readonly queue: QueueState
  readonly places: SlotTable
  readonly finishing: ReadyList
  readonly #effort: Effort
  readonly #turns: Turns
  /** By priority, then by group. */
  #shares = new Map<number, Map<string | null, GroupTurn>>()
  readonly #open: IndexedQueue<LimitPartition>
  readonly #free: LimitPartition
  /** By their gates as text. */
  readonly #behind = new Map<string, LimitPartition>()

  constructor(queue: QueueState, places: SlotTable, effort: Effort, turns: Turns) {
    this.queue = queue
    this.places = places
    this.#effort = effort
    this.#turns = turns
    // What is committed takes no turns, and its priority counts no more.
    this.finishing = new ReadyList(this, new GroupTurn(0, { given: 0 }), 0, null, [])
    this.#open = new IndexedQueue(effort)
    this.#free = new LimitPartition(this, [], effort)
  }

  /** Nothing is ready in it. AFTER a sweep: nobody counts on it. */
  get isUnused(): boolean {
    return this.finishing.isUnused && this.#shares.size === 0
  }

  /** Null: nobody added it yet. */
  lane(priority: number, group: string | null, limits: readonly LimitSpec[]): ReadyList | null {
    return this.#shares.get(this.#levelOf(priority))?.get(group)?.lane(priority, limits) ?? null
  }

  addLane(priority: number, group: string | null, gates: readonly LimitState[]): ReadyList {
    const share = this.#share(priority, group)
    const lane = new ReadyList(this, share, priority, group, gates)
    share.addLane(lane)
    for (const gate of gates) gate.added(lane)
    return lane
  }

  /** The lane got another head, its first, or lost its last. */
  changed(lane: ReadyList): void {
    if (lane === this.finishing) return
    const { bay } = lane
    if (bay === null || lane.isEmpty) return this.place(lane)
    bay.moved(lane)
    bay.yard.settle(bay)
    this.settle(bay.yard)
  }

  /** Puts a lane where it belongs, after its gates, or what it holds, changed. */
  place(lane: ReadyList): void {
    const { bay } = lane
    const yard = lane.isEmpty ? null : this.#yardFor(lane)
    if (bay !== null) {
      if (bay.yard === yard) return
      bay.yard.leave(lane, bay)
      this.settle(bay.yard)
    }
    if (yard === null) return
    yard.enter(lane)
    this.settle(yard)
  }

  /** The lane whose head comes first, as far as limits go. */
  best(now: number): ReadyList | null {
    this.finishing.trim()
    if (!this.finishing.isEmpty) return this.finishing
    if (!this.queue.isOpen(now)) return null
    for (;;) {
      const yard = this.#open.first
      const bay = yard?.bays.first
      if (yard === undefined || bay === undefined) return null
      const lane = bay.first as ReadyList
      if (bay.isOutdated) {
        yard.settle(bay)
        this.settle(yard)
      } else if (lane.trim()) {
        this.changed(lane)
      } else if (missedStart(lane.head, now)) {
        // Too late to start: it waits for being stopped, and is never offered again.
        lane.pop()
        this.changed(lane)
      } else {
        return lane
      }
    }
  }

  /** Puts a yard where it belongs, after its bays or its gate changed. */
  settle(yard: LimitPartition): void {
    const best = yard.bays.first
    if (best === undefined || !yard.isOpen) {
      if (yard.slot !== NOT_QUEUED) this.#open.remove(yard)
      return
    }
    if (yard.slot === NOT_QUEUED) this.#open.add(yard)
    else this.#open.moved(yard)
  }

  /** Ageing began, ended or has another pace: other tasks share a turn, and rank otherwise. */
  rankAgain(): void {
    const lanes = [...this.#lanes()]
    this.#shares = new Map()
    for (const lane of lanes) {
      const { bay, share: before } = lane
      if (bay !== null) {
        bay.yard.leave(lane, bay)
        this.settle(bay.yard)
      }
      lane.share = this.#share(lane.level, lane.group)
      lane.share.addLane(lane)
      if (lane.ready > 0) lane.share.takeIn(lane.ready, before.turn)
    }
    for (const lane of lanes) this.place(lane)
    this.#sweepYards()
  }

  /** Forgets what is empty; what is not says so to its gates. The number of lanes that are left. */
  sweep(): number {
    let left = 0
    for (const [level, shares] of this.#shares) {
      for (const [group, share] of shares) {
        if (share.ready === 0) shares.delete(group)
        else share.sweep()
      }
      if (shares.size === 0) this.#shares.delete(level)
    }
    for (const lane of this.#lanes()) {
      left += 1
      for (const gate of lane.gates) gate.added(lane)
    }
    this.#sweepYards()
    return left
  }

  #sweepYards(): void {
    for (const [text, yard] of this.#behind) {
      yard.sweep()
      if (yard.bays.size > 0) continue
      this.#behind.delete(text)
      for (const gate of yard.gates) gate.removeYard(yard)
    }
  }

  *#lanes(): Generator<ReadyList> {
    for (const shares of this.#shares.values()) {
      for (const share of shares.values()) yield* share.lanes()
    }
  }

  /** In a queue with ageing, groups take turns over all priorities together. */
  #levelOf(priority: number): number {
    return this.queue.ageingMs === null ? priority : 0
  }

  #share(priority: number, group: string | null): GroupTurn {
    const level = this.#levelOf(priority)
    let shares = this.#shares.get(level)
    if (shares === undefined)
      this.#shares.set(level, (shares = new Map<string | null, GroupTurn>()))
    let share = shares.get(group)
    if (share === undefined) shares.set(group, (share = new GroupTurn(level, this.#turns)))
    return share
  }

  /** Null: nowhere. Whoever opens a gate of its own puts it back. */
  #yardFor(lane: ReadyList): LimitPartition | null {
    let text = ''
    for (const { isShared, isClosed, submission } of lane.gates) {
      if (isShared) text += ` ${submission}`
      else if (isClosed) return null
    }
    return text === '' ? this.#free : (this.#behind.get(text) ?? this.#addYard(text, lane))
  }

  #addYard(text: string, lane: ReadyList): LimitPartition {
    const gates = lane.gates.filter(({ isShared }) => isShared)
    const yard = new LimitPartition(this, gates, this.#effort)
    this.#behind.set(text, yard)
    for (const gate of gates) gate.addYard(yard)
    return yard
  }
}
