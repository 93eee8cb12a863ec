/**
 * A lane: the ready tasks of a channel that have the same priority, group and limits, so that
 * what stops the first of them stops all of them. They stand in a chain of places (`places.ts`),
 * ordered by due time and submission; those that did not come in order stand in a line aside.
 *
 * A lane is empty; or it stands in a bay; or it stands nowhere, because a gate of its own is
 * closed. It is ranked by its head. Where a queue ages, a task rises by one priority for each
 * `ageingMs` that it waits: it is as if a higher priority were due so much earlier, and that
 * never changes, so nothing is ranked again as time goes by.
 *
 * Leaving from the middle is lazy, as in a line of tasks: the place stays, as garbage, and is
 * dropped when it comes to the head (`trim`), or with the others once they are too many. After
 * `pop` nobody looks whether the new head is garbage: its task would have to be fetched, and
 * that is for the one who offers it. Until then the lane may stand too far in front.
 */
import type { LimitSpec, Task } from '../../kernel/index.ts'
import type { GroupPartition } from './group-partition.ts'
import type { ReadyChannel } from './channel.ts'
import type { LimitState } from './limit-state.ts'
import { TaskQueue } from './task-queue.ts'
import type { SlotTable } from './slot-table.ts'
import { NO_SLOT } from './slot-table.ts'
import type { QueueMember } from './indexed-queue.ts'
import { NOT_QUEUED } from './indexed-queue.ts'
import type { GroupTurn } from './group-turn.ts'

/** Below this a sweep is not worth its while. */
const FEW = 32

function isWaiting(task: Task): boolean {
  return task.state === 'WAITING'
}

export class ReadyList implements QueueMember {
  slot = NOT_QUEUED
  /** Where the lane stands. */
  bay: GroupPartition | null = null
  readonly gates: readonly LimitState[]
  share: GroupTurn
  /** Tasks that are ready, the one on offer included. */
  ready = 0
  readonly #places: SlotTable
  #first = NO_SLOT
  #last = NO_SLOT
  /** Places in the chain, and how many of them are garbage, or more. */
  #count = 0
  #stale = 0
  /** Those that came out of order. */
  #aside: TaskQueue | null = null
  readonly channel: ReadyChannel
  /** Of its tasks. */
  readonly level: number
  readonly group: string | null
  /** Another one of its share, found by the same text. Only the share writes it. */
  alike: ReadyList | null = null

  constructor(
    channel: ReadyChannel,
    share: GroupTurn,
    level: number,
    group: string | null,
    gates: readonly LimitState[],
  ) {
    this.channel = channel
    this.#places = channel.places
    this.share = share
    this.level = level
    this.group = group
    this.gates = gates
  }

  /** Nothing stands here, not even garbage. */
  get isEmpty(): boolean {
    return this.#first === NO_SLOT && (this.#aside === null || this.#aside.isEmpty)
  }

  /** Nobody counts on it. */
  get isUnused(): boolean {
    return this.ready === 0 && this.isEmpty
  }

  /** Only while the lane is not empty. */
  get head(): Task {
    return this.#isAsideFirst()
      ? (this.#aside as TaskQueue).headTask
      : this.#places.task(this.#first)
  }

  /** Since when the head is due. Infinity while the lane is empty. */
  get headDueAt(): number {
    if (this.#isAsideFirst()) return (this.#aside as TaskQueue).headTime
    return this.#first === NO_SLOT ? Infinity : this.#places.time(this.#first)
  }

  /** Lanes of one bay have priority and turn in common. */
  get priority(): number {
    return 0
  }

  get turn(): number {
    return 0
  }

  /** The head's rank. */
  get dueAt(): number {
    const { ageingMs } = this.channel.queue
    return ageingMs === null ? this.headDueAt : this.headDueAt - this.level * ageingMs
  }

  get submission(): number {
    if (this.#isAsideFirst()) return (this.#aside as TaskQueue).headPlace
    return this.#first === NO_SLOT ? Infinity : this.#places.number(this.#first)
  }

  /** Whether the head may be another one now. */
  push(task: Task, dueAt: number, submission: number): boolean {
    const places = this.#places
    const last = this.#last
    if (last === NO_SLOT) {
      this.#first = this.#last = places.take(task, dueAt, submission)
      this.#count = 1
      return true
    }
    const time = places.time(last)
    if (dueAt > time || (dueAt === time && submission > places.number(last))) {
      this.#last = places.take(task, dueAt, submission)
      places.link(last, this.#last)
      this.#count += 1
      return false
    }
    this.#aside ??= new TaskQueue(isWaiting)
    this.#aside.push(task, dueAt, submission)
    return true
  }

  pop(): Task {
    if (this.#isAsideFirst()) return (this.#aside as TaskQueue).pop()
    const task = this.#places.task(this.#first)
    this.#dropFirst()
    return task
  }

  /** A task is no longer ready. Whether the head may be another one now. */
  discard(): boolean {
    if (this.ready === 0) {
      this.clear()
      return true
    }
    this.#stale += 1
    this.#aside?.discard()
    const isOther = this.trim()
    if (this.#stale > FEW && this.#stale * 2 > this.#count) this.#sweep()
    return isOther || this.#aside !== null
  }

  /** Whether the head was garbage: it is another one now, or none. */
  trim(): boolean {
    let isOther = false
    while (this.#first !== NO_SLOT && !this.#places.isLive(this.#first)) {
      this.#dropFirst()
      if (this.#stale > 0) this.#stale -= 1
      isOther = true
    }
    return isOther
  }

  /** Nothing is ready: all that stands here is garbage. */
  clear(): void {
    while (this.#first !== NO_SLOT) this.#dropFirst()
    this.#stale = 0
    this.#aside = null
  }

  came(): void {
    this.channel.queue.ready += 1
    this.ready += 1
    this.share.came()
  }

  left(): void {
    this.channel.queue.ready -= 1
    this.ready -= 1
    this.share.left()
  }

  isFor(level: number, limits: readonly LimitSpec[]): boolean {
    const { gates } = this
    if (this.level !== level || gates.length !== limits.length) return false
    for (let i = 0; i < gates.length; i++) {
      if (!(gates[i] as LimitState).isFor(limits[i] as LimitSpec)) return false
    }
    return true
  }

  #isAsideFirst(): boolean {
    const aside = this.#aside
    if (aside === null || aside.isEmpty) return false
    if (this.#first === NO_SLOT) return true
    const time = this.#places.time(this.#first)
    if (aside.headTime !== time) return aside.headTime < time
    return aside.headPlace < this.#places.number(this.#first)
  }

  #dropFirst(): void {
    const first = this.#first
    this.#first = this.#places.next(first)
    if (this.#first === NO_SLOT) this.#last = NO_SLOT
    this.#count -= 1
    this.#places.giveBack(first)
  }

  /** Takes the garbage out of the chain. The head is live. */
  #sweep(): void {
    this.#stale = 0
    if (this.#first === NO_SLOT) return
    let last = this.#first
    for (let row = this.#places.next(last); row !== NO_SLOT;) {
      const next = this.#places.next(row)
      if (this.#places.isLive(row)) {
        last = row
      } else {
        this.#places.link(last, next)
        this.#places.giveBack(row)
        this.#count -= 1
      }
      row = next
    }
    this.#last = last
  }
}
