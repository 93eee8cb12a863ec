/**
 * The ready-index: which task is offered next. It proposes; `decide` disposes.
 *
 * A waiting task stands in one of two places:
 * - not due: in `due`, one line for all, ordered by due time;
 * - due: in its channel (queue, job type, stage), in the lane of its limits.
 * `advance` moves tasks from the first to the second when their time comes.
 *
 * What stops a task stops many, and is noted once, where it is:
 * - a paused queue, or one whose own limit is used up, at the queue (`queue-use.ts`);
 * - a limit that is used up, at its gate: the lanes behind it stand in one group, which is
 *   taken out of the channel's heap as a whole and put back when a lease ends or the time
 *   of the rate comes (`gate.ts`, `group.ts`, `limit-keys.ts`).
 * So neither makes an offer scan. A task that is committed and only needs finishing is
 * stopped by neither.
 *
 * Costs, n tasks waiting: to insert or take out O(log n), and O(1) for those that come in
 * order; to offer O(channels asked + log n). A task that several limits stop in turn moves
 * from gate to gate, its lane with it, one step for each gate that it finds closed.
 *
 * Everything here follows from the entries that were applied, so it is never saved.
 */
import type { Job, LimitSpec, Queue, Task, Usage } from '../kernel/index.ts'
import { compareOrder, missedStart } from '../kernel/index.ts'
import type { Gate } from './gate.ts'
import { Channel, limitsText } from './channel.ts'
import type { Lane } from './lane.ts'
import { LimitKeys } from './limit-keys.ts'
import { Line } from './line.ts'
import { QueueUse } from './queue-use.ts'
import type { Effort } from './ranks.ts'

/** What a worker can run: a queue, a job type, and a stage by name, or null for plain jobs. */
export interface ChannelName {
  readonly queue: string
  readonly type: string
  readonly stage: string | null
}

/** A rate's token bucket: when it will be full again. */
export interface Bucket {
  readonly name: string
  readonly fullAt: number
}

/** Below this many lanes nobody looks for empty ones. */
const FEW_LANES = 1_024

export class ReadyIndex {
  /** Counted for tests: how much was looked at. */
  readonly effort: Effort & { offers: number } = { comparisons: 0, offers: 0 }
  readonly #jobs: ReadonlyMap<string, Job>
  readonly #queues = new Map<string, QueueUse>()
  readonly #limits = new LimitKeys(this.effort)
  readonly #due = new Line((task, at) => task.state === 'WAITING' && task.dueAt === at)
  /** Tasks that are due at this time or before stand in their channels, the others in `due`. */
  #now = 0
  #submissions = 0
  #lanes = 0
  #sweepAt = FEW_LANES

  constructor(jobs: ReadonlyMap<string, Job>) {
    this.#jobs = jobs
  }

  get usage(): ReadonlyMap<string, Usage> {
    return this.#limits.usage
  }

  queueUsage(queue: string): Usage | null {
    return this.#queues.get(queue)?.usage ?? null
  }

  queueChanged(queue: Queue): void {
    this.#queue(queue.name).configure(queue)
  }

  /** A task is waiting, and nothing but time, pause and limits keeps it from being granted. */
  insert(task: Task, job: Job, now: number): void {
    this.advance(now)
    this.#submissions += 1
    if (task.dueAt > this.#now) this.#due.push(task, task.dueAt, this.#submissions)
    else this.#stand(task, job, task.dueAt, this.#submissions)
  }

  /** A task that was inserted, and not offered since, is waiting no more, or for another time. */
  discard(task: Task, job: Job, dueAt: number): void {
    if (dueAt > this.#now) return this.#due.discard()
    const channel = this.#channelOf(task, job)
    const lane = this.#laneOf(channel, task)
    if (lane.discard(job.spec.priority)) channel.changed(lane)
  }

  granted(task: Task, at: number, resumed: boolean): void {
    const { queue, limits } = task.policy
    this.#queue(queue).charge(at, resumed)
    if (limits.length > 0) this.#limits.charge(limits, at, resumed)
  }

  ended(task: Task, at: number): void {
    const { queue, limits } = task.policy
    this.#queue(queue).credit()
    if (limits.length > 0) this.#limits.credit(limits, at)
  }

  /** What rates have used up: the buckets that are not full at this time. */
  buckets(now: number): { queues: Bucket[]; limits: Bucket[] } {
    const queues: Bucket[] = []
    for (const [name, { usage }] of this.#queues) {
      if (usage.fullAt > now) queues.push({ name, fullAt: usage.fullAt })
    }
    const limits: Bucket[] = []
    for (const [name, { fullAt }] of this.#limits.usage) {
      if (fullAt > now) limits.push({ name, fullAt })
    }
    return { queues, limits }
  }

  /** BEFORE the tasks are taken in, so that their gates are closed from the start. */
  restoreBuckets(queues: readonly Bucket[], limits: readonly Bucket[]): void {
    for (const { name, fullAt } of queues) this.#queue(name).usage.fullAt = fullAt
    for (const { name, fullAt } of limits) this.#limits.restore(name, fullAt)
  }

  /** Time went on: what is due stands in its channel, and gates that waited for it are open. */
  advance(now: number): void {
    if (now <= this.#now) return
    this.#now = now
    this.#limits.advance(now)
    while (!this.#due.isEmpty && this.#due.headTime <= now) {
      const { headTime, headPlace } = this.#due
      const task = this.#due.pop()
      const job = this.#jobs.get(task.job)
      if (job !== undefined) this.#stand(task, job, headTime, headPlace)
    }
  }

  /** The channels that exist: one that has never had a task has nothing to offer. */
  find(names: readonly ChannelName[], now: number): Channel[] {
    // BEFORE looking: a task that has just become due may be the first of its channel.
    this.advance(now)
    const found: Channel[] = []
    for (const { queue, type, stage } of names) {
      const channel = this.#queues.get(queue)?.byType.get(type)?.get(stage)
      if (channel !== undefined && !found.includes(channel)) found.push(channel)
    }
    return found
  }

  /** Takes out the best task that may start now. If it is not granted, insert it again. */
  offer(channels: readonly Channel[]): Task | null {
    for (;;) {
      let best: Lane | null = null
      let from: Channel | null = null
      for (const channel of channels) {
        const lane = channel.best(this.#now)
        if (lane === null || (best !== null && compareOrder(best, lane) < 0)) continue
        best = lane
        from = channel
      }
      if (best === null || from === null) return null
      this.effort.offers += 1
      const task = best.pop()
      from.changed(best)
      // Too late to start: it waits for being stopped, and is never offered again.
      if (!missedStart(task, this.#now)) return task
    }
  }

  #stand(task: Task, job: Job, dueAt: number, submission: number): void {
    const channel = this.#channelOf(task, job)
    const lane = this.#laneOf(channel, task)
    if (lane.push(task, job.spec.priority, dueAt, submission)) channel.changed(lane)
  }

  #queue(name: string): QueueUse {
    let queue = this.#queues.get(name)
    if (queue === undefined) this.#queues.set(name, (queue = new QueueUse(name)))
    return queue
  }

  #channelOf(task: Task, job: Job): Channel {
    const { spec } = job
    const queue = this.#queue(task.policy.queue)
    const stage = spec.stages === null ? null : (spec.stages[task.stage]?.name ?? null)
    let stages = queue.byType.get(spec.type)
    if (stages === undefined) queue.byType.set(spec.type, (stages = new Map()))
    let channel = stages.get(stage)
    if (channel === undefined) {
      channel = new Channel(queue, this.effort)
      stages.set(stage, channel)
      queue.channels.push(channel)
    }
    return channel
  }

  #laneOf(channel: Channel, task: Task): Lane {
    if (task.commit !== null) return channel.finishing
    const { limits } = task.policy
    if (limits.length === 0) return channel.free
    const text = limitsText(limits)
    return channel.lane(text) ?? this.#newLane(channel, text, limits)
  }

  #newLane(channel: Channel, text: string, limits: readonly LimitSpec[]): Lane {
    this.#lanes += 1
    if (this.#lanes > this.#sweepAt) this.#sweep()
    const gates = limits.map((limit): Gate => this.#limits.gateFor(limit, this.#now))
    return channel.addLane(text, gates)
  }

  /** Lanes of keys that are used once would pile up: a look at all, paid for by as many new ones. */
  #sweep(): void {
    let left = 0
    const needed = new Set<Gate>()
    for (const queue of this.#queues.values()) {
      for (const channel of queue.channels) left += channel.sweep(needed)
    }
    this.#limits.sweep(needed, this.#now)
    this.#lanes = left + 1
    this.#sweepAt = Math.max(FEW_LANES, 2 * left)
  }
}
