/**
 * A channel: the ready tasks that the same workers can run, by queue, job type and stage.
 *
 * What is committed stands in a lane of its own, `finishing`, which neither pause nor limits
 * stop. Everything else stands in the lane of its limits; lanes stand in groups, one for each
 * gate, and the open groups in a heap. So the best task that may start is at the top, and
 * what is stopped is not looked at.
 *
 * Fairness between the `group`s of jobs belongs here, as another level between the groups
 * behind a gate and their lanes; ageing belongs where a lane ranks its head.
 */
import type { LimitSpec } from '../kernel/index.ts'
import { compareOrder } from '../kernel/index.ts'
import type { Gate } from './gate.ts'
import { Group } from './group.ts'
import { Lane } from './lane.ts'
import type { QueueUse } from './queue-use.ts'
import type { Effort } from './ranks.ts'
import { Ranks } from './ranks.ts'

/** Limits as text: tasks with the same text stand in the same lane. */
export function limitsText(limits: readonly LimitSpec[]): string {
  let text = ''
  for (const { key, concurrency, rate } of limits) {
    text += `${key.length}:${key}:${concurrency}:${rate?.count}:${rate?.perMs}`
  }
  return text
}

export class Channel {
  readonly queue: QueueUse
  readonly #effort: Effort
  /** Committed tasks, to be finished. */
  readonly finishing = new Lane([])
  /** Tasks without limits. */
  readonly free = new Lane([])
  readonly #limited = new Map<string, Lane>()
  readonly #groups: Ranks<Group>
  readonly #freeGroup: Group
  readonly #behind = new Map<Gate, Group>()

  constructor(queue: QueueUse, effort: Effort) {
    this.queue = queue
    this.#effort = effort
    this.#groups = new Ranks(effort)
    this.#freeGroup = new Group(this, null, effort)
  }

  get lanes(): IterableIterator<Lane> {
    return this.#limited.values()
  }

  lane(text: string): Lane | undefined {
    return this.#limited.get(text)
  }

  addLane(text: string, gates: readonly Gate[]): Lane {
    const lane = new Lane(gates)
    this.#limited.set(text, lane)
    return lane
  }

  /** The lane got another head, its first, or lost its last. */
  changed(lane: Lane): void {
    if (lane === this.finishing) return
    if (lane.isEmpty) {
      if (lane.group !== null) this.#leave(lane, lane.group)
    } else if (lane.group === null) {
      this.#join(lane, lane.closedGate() ?? lane.gates[0] ?? null)
    } else {
      lane.group.lanes.moved(lane)
      this.settle(lane.group)
    }
  }

  /** The best lane whose head may start, as far as its limits go. */
  best(now: number): Lane | null {
    const open = this.queue.isOpen(now) ? this.#bestOpen() : null
    if (this.finishing.isEmpty) return open
    return open === null || compareOrder(this.finishing, open) < 0 ? this.finishing : open
  }

  /** A lane that another of its gates stops goes and waits there; it is not met here again. */
  #bestOpen(): Lane | null {
    for (;;) {
      const lane = this.#groups.first?.lanes.first
      if (lane === undefined) return null
      const closed = lane.closedGate()
      if (closed === null) return lane
      this.#leave(lane, lane.group as Group)
      this.#join(lane, closed)
    }
  }

  /** Puts a group where it belongs, after its lanes or its gate changed. */
  settle(group: Group): void {
    const best = group.lanes.first
    if (best === undefined || !group.isOpen) {
      if (group.slot >= 0) this.#groups.remove(group)
      return
    }
    group.priority = best.priority
    group.dueAt = best.dueAt
    group.submission = best.submission
    if (group.slot < 0) this.#groups.add(group)
    else this.#groups.moved(group)
  }

  /** Forgets lanes that are empty and groups without lanes. Notes which gates are still needed. */
  sweep(needed: Set<Gate>): number {
    for (const [text, lane] of this.#limited) {
      if (lane.isEmpty) this.#limited.delete(text)
      else for (const gate of lane.gates) needed.add(gate)
    }
    for (const [gate, group] of this.#behind) {
      if (group.lanes.size > 0) continue
      this.#behind.delete(gate)
      gate.groups = gate.groups.filter((one) => one !== group)
    }
    return this.#limited.size
  }

  #join(lane: Lane, gate: Gate | null): void {
    const group = gate === null ? this.#freeGroup : this.#groupBehind(gate)
    lane.group = group
    group.lanes.add(lane)
    this.settle(group)
  }

  #leave(lane: Lane, group: Group): void {
    lane.group = null
    group.lanes.remove(lane)
    this.settle(group)
  }

  #groupBehind(gate: Gate): Group {
    let group = this.#behind.get(gate)
    if (group === undefined) {
      group = new Group(this, gate, this.#effort)
      this.#behind.set(gate, group)
      gate.groups.push(group)
    }
    return group
  }
}
