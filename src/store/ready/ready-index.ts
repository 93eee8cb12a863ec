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
 * - a limit that is used up, at its gate: the lanes behind it stand in a yard, which is
 *   taken out of the channel's heap as a whole and put back when a lease ends or the time
 *   of the rate comes (`gate.ts`, `yard.ts`, `limit-keys.ts`).
 * So neither makes an offer scan. A task that is committed and only needs finishing is
 * stopped by neither, and comes first.
 *
 * Within a priority, groups take turns (`share.ts`); within a group, what is due first comes
 * first. What was taken before (its lease ran out, or was given back) comes before the others
 * that are due since the same millisecond: it keeps its place.
 *
 * Costs, n tasks waiting: to insert or take out O(log n), and O(1) for those that come in
 * order; to offer O(channels asked + log n). A limit that opens or closes takes a step for each
 * set of limits that many lanes share and that it is among; nearly always there is one. When
 * a group was served, it moves once in every yard that it has lanes in.
 *
 * Everything here follows from the entries that were applied, so it is never saved.
 */
import type { Job, JobSpec, LimitUse, Queue, Task, Usage } from '../../kernel/index.ts'
import type { ChannelName } from '../claim-request.ts'
import { ReadyChannel } from './channel.ts'
import { bestOfChannels } from './best-of-channels.ts'
import type { ReadyList } from './ready-list.ts'
import { LimitUsage } from './limit-usage.ts'
import { TaskQueue } from './task-queue.ts'
import { SlotTable } from './slot-table.ts'
import { QueueState } from './queue-state.ts'
import type { Effort } from './indexed-queue.ts'
import type { Turns } from './group-turn.ts'

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
  readonly #queues = new Map<string, QueueState>()
  readonly #limits = new LimitUsage(this.effort)
  readonly #places = new SlotTable()
  readonly #due = new TaskQueue((task, at) => task.state === 'WAITING' && task.dueAt === at)
  /** Tasks that are due at this time or before stand in their channels, the others in `due`. */
  #now = 0
  /** The lane of the task that is on offer: it has lost its head, and stands where it stood. */
  #offered: ReadyList | null = null
  readonly #turns: Turns = { given: 0 }
  #submissions = 0
  /** Smaller than any submission, and in order of coming back. */
  #returns = -Number.MAX_SAFE_INTEGER
  #lanes = 0
  #sweepAt = FEW_LANES

  constructor(jobs: ReadonlyMap<string, Job>) {
    this.#jobs = jobs
  }

  get usage(): ReadonlyMap<string, Usage> {
    return this.#limits.usage
  }

  /** The limits of the task that is on offer, as its lane knows them. */
  get offeredLimits(): readonly LimitUse[] {
    return (this.#offered as ReadyList).gates
  }

  queueUsage(queue: string): Usage | null {
    return this.#queues.get(queue)?.usage ?? null
  }

  /** How many tasks of a queue are due and wait, whatever stops them. */
  readyIn(queue: string): number {
    return this.#queues.get(queue)?.ready ?? 0
  }

  /** Counted for tests: what is remembered of queues. */
  get size(): { queues: number; channels: number } {
    let channels = 0
    for (const queue of this.#queues.values()) channels += queue.channels.length
    return { queues: this.#queues.size, channels }
  }

  queueChanged(queue: Queue): void {
    const use = this.#queue(queue.name)
    if (use.configure(queue, this.#now)) for (const channel of use.channels) channel.rankAgain()
  }

  /** A task is waiting, and nothing but time, pause and limits keeps it from being granted. */
  insert(task: Task, job: Job): void {
    const submission = this.#numberFor(task)
    if (task.dueAt > this.#now) this.#due.push(task, task.dueAt, submission)
    else this.#stand(task, job, task.dueAt, submission)
  }

  /**
   * A task that was inserted waits no more, or for another time; `dueAt` is what it waited for.
   * One that was offered has left its lane already.
   */
  left(task: Task, job: Job, dueAt: number, isOffered: boolean): void {
    if (dueAt > this.#now) return this.#due.discard()
    const lane = isOffered ? (this.#offered as ReadyList) : this.#laneOf(task, job.spec)
    lane.left()
    if (task.lease !== null && task.commit === null) lane.share.served()
    if (isOffered) this.#settleOffered()
    else if (lane.discard()) lane.channel.changed(lane)
  }

  /** Whether tasks that are due at this time stand in their channels. */
  isDue(dueAt: number): boolean {
    return dueAt <= this.#now
  }

  /** It was offered and not granted: it stands where it stood. */
  putBack(task: Task, job: Job): void {
    this.#settleOffered()
    const lane = this.#laneOf(task, job.spec)
    if (lane.push(task, task.dueAt, this.#numberFor(task))) lane.channel.changed(lane)
  }

  granted(task: Task, at: number, resumed: boolean, isOffered: boolean): void {
    const { queue, limits } = task.policy
    if (isOffered && !resumed) {
      // Its lane knows them already: nothing has to be looked up.
      const { channel, gates } = this.#offered as ReadyList
      channel.queue.charge(at, resumed)
      this.#limits.chargeGates(gates, at)
      return
    }
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

  /** The channels that exist, queue by queue: one that never had a task has nothing to offer. */
  find(names: readonly ChannelName[]): ReadyChannel[] {
    const found: ReadyChannel[] = []
    for (const { queue, type, stage } of names) {
      const channel = this.#queues.get(queue)?.byType.get(type)?.get(stage)
      if (channel === undefined || found.includes(channel)) continue
      const last = found.findLastIndex((one) => one.queue === channel.queue)
      found.splice(last === -1 ? found.length : last + 1, 0, channel)
    }
    return found
  }

  /** Takes out the best task that may start now. If it is not granted, it is to be put back. */
  offer(channels: readonly ReadyChannel[]): Task | null {
    this.#settleOffered()
    const lane = this.#best(channels)
    if (lane === null) return null
    this.effort.offers += 1
    this.#offered = lane
    return lane.pop()
  }

  /** AFTER it is known what became of the offer: a lane that is stopped now need not move first. */
  #settleOffered(): void {
    const lane = this.#offered
    if (lane === null) return
    this.#offered = null
    if (lane.ready === 0) lane.clear()
    lane.channel.changed(lane)
  }

  #best(channels: readonly ReadyChannel[]): ReadyList | null {
    let first: ReadyList | null = null
    let several: ReadyList[] | null = null
    for (const channel of channels) {
      const lane = channel.best(this.#now)
      if (lane === null) continue
      if (first === null) first = lane
      else (several ??= [first]).push(lane)
    }
    return several === null ? first : bestOfChannels(several, this.#now)
  }

  #numberFor(task: Task): number {
    if (task.attempt > 0) return this.#returns++
    return ++this.#submissions
  }

  #stand(task: Task, job: Job, dueAt: number, submission: number): void {
    const lane = this.#laneOf(task, job.spec)
    lane.came()
    if (lane.push(task, dueAt, submission)) lane.channel.changed(lane)
  }

  #queue(name: string): QueueState {
    let queue = this.#queues.get(name)
    if (queue === undefined) this.#queues.set(name, (queue = new QueueState(name)))
    return queue
  }

  #channelOf(task: Task, spec: JobSpec): ReadyChannel {
    const queue = this.#queue(task.policy.queue)
    const stage = spec.stages === null ? null : (spec.stages[task.stage]?.name ?? null)
    let stages = queue.byType.get(spec.type)
    if (stages === undefined) queue.byType.set(spec.type, (stages = new Map()))
    let channel = stages.get(stage)
    if (channel === undefined) {
      channel = new ReadyChannel(queue, this.#places, this.effort, this.#turns)
      stages.set(stage, channel)
      queue.channels.push(channel)
    }
    return channel
  }

  /** The spec, and not the job: it may have to be read, and once is enough. */
  #laneOf(task: Task, spec: JobSpec): ReadyList {
    let channel = this.#channelOf(task, spec)
    if (task.commit !== null) return channel.finishing
    const { priority, group } = spec
    const { limits } = task.policy
    const known = channel.lane(priority, group, limits)
    if (known !== null) return known
    this.#lanes += 1
    if (this.#lanes > this.#sweepAt) {
      this.#sweep()
      // It was empty until now, so it may be gone.
      channel = this.#channelOf(task, spec)
    }
    const gates = limits.map((limit) => this.#limits.gateFor(limit, this.#now))
    return channel.addLane(priority, group, gates)
  }

  /** Lanes of keys and queues that are used once would pile up: a look at all, paid for by as many new ones. */
  #sweep(): void {
    let left = 0
    this.#limits.forgetLanes()
    for (const [name, queue] of this.#queues) {
      left += queue.sweep()
      if (queue.isUnused) this.#queues.delete(name)
    }
    this.#limits.sweep(this.#now)
    this.#lanes = left + 1
    this.#sweepAt = Math.max(FEW_LANES, 2 * left)
  }
}
