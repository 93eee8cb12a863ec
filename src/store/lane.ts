/**
 * A lane: the ready tasks of a channel that have the same priority, group and limits, so that
 * what stops the first of them stops all of them. One line, ordered by due time and submission.
 *
 * A lane is empty; or it stands in a bay; or it stands nowhere, because a gate of its own is
 * closed. It is ranked by its head. Where a queue ages, a task rises by one priority for each
 * `ageingMs` that it waits: it is as if a higher priority were due so much earlier, and that
 * never changes, so nothing is ranked again as time goes by.
 */
import type { LimitSpec, Task } from '../kernel/index.ts'
import type { Bay } from './bay.ts'
import type { Channel } from './channel.ts'
import type { Gate } from './gate.ts'
import { Line } from './line.ts'
import type { Ranked } from './ranks.ts'
import { NOWHERE } from './ranks.ts'
import type { Share } from './share.ts'

function isWaiting(task: Task): boolean {
  return task.state === 'WAITING'
}

export class Lane implements Ranked {
  slot = NOWHERE
  /** Lanes of one bay have these in common. */
  readonly priority = 0
  readonly turn = 0
  /** The head's rank; meaningless while the lane is empty. */
  dueAt = 0
  submission = 0
  readonly channel: Channel
  /** Of its tasks. */
  readonly level: number
  readonly group: string | null
  readonly gates: readonly Gate[]
  share: Share
  /** Where the lane stands. */
  bay: Bay | null = null
  /** Tasks that are ready, the one on offer included. */
  ready = 0
  readonly #line = new Line(isWaiting)

  constructor(
    channel: Channel,
    share: Share,
    level: number,
    group: string | null,
    gates: readonly Gate[],
  ) {
    this.channel = channel
    this.share = share
    this.level = level
    this.group = group
    this.gates = gates
  }

  get isEmpty(): boolean {
    return this.#line.isEmpty
  }

  /** Nobody counts on it. */
  get isUnused(): boolean {
    return this.ready === 0 && this.isEmpty
  }

  /** Only while the lane is not empty. */
  get head(): Task {
    return this.#line.headTask
  }

  /** Since when the head is due. Only while the lane is not empty. */
  get headDueAt(): number {
    return this.#line.headTime
  }

  /** Whether the head is another one now. */
  push(task: Task, dueAt: number, submission: number): boolean {
    this.#line.push(task, dueAt, submission)
    return this.rank()
  }

  pop(): Task {
    const task = this.#line.pop()
    this.rank()
    return task
  }

  /** A task is no longer ready. Whether the head is another one now. */
  discard(): boolean {
    this.#line.discard()
    return this.rank()
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

  isFor(limits: readonly LimitSpec[]): boolean {
    const { gates } = this
    return (
      gates.length === limits.length && gates.every((gate, i) => gate.isFor(limits[i] as LimitSpec))
    )
  }

  /** By the head. Whether that changed. */
  rank(): boolean {
    if (this.#line.isEmpty) return true
    const { headTime, headPlace } = this.#line
    const { ageingMs } = this.channel.queue
    const dueAt = ageingMs === null ? headTime : headTime - this.level * ageingMs
    if (headPlace === this.submission && dueAt === this.dueAt) return false
    this.dueAt = dueAt
    this.submission = headPlace
    return true
  }
}
