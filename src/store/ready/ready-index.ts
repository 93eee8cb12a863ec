/**
 * The ready-index: which task is offered next. It proposes; `decide` disposes.
 *
 * A waiting task is in one of two places:
 * - not due: in `due`, one queue for all, ordered by due time;
 * - due: in its channel (queue, job type, stage), in the list of its priority, group and limits.
 * `advance` moves tasks from the first to the second when their time comes.
 *
 * What stops a task stops many, and is noted once: a paused queue, or one whose own limit is used
 * up, at the queue (`queue-state.ts`); a limit that is used up, at the limit (`limits.ts`), which
 * takes its lists out of the channel's order until it opens (`channel.ts`). So neither makes an
 * offer scan. A committed task, which only needs finishing, is stopped by neither and comes first.
 *
 * A task that was taken before (its lease ran out, or was given back) comes before the others that
 * are due since the same millisecond: it keeps its place.
 *
 * Costs, n tasks waiting: to insert or take out O(log n), and O(1) for tasks that come in order; to
 * offer O(log n), and O(channels asked) for the first of a claim. A limit that opens or closes takes a step for each set of shared
 * limits that it is in; nearly always there is one. A group that was served moves once in every
 * partition that it has lists in.
 *
 * Everything here follows from the entries that were applied, so it is never saved.
 */
import type { Job, JobSpec, LimitUse, Queue, Task, Usage } from '../../kernel/index.ts'
import { compareOrder, placeAt } from '../../kernel/index.ts'
import type { ChannelName } from '../claim-request.ts'
import type { IndexState, ReadyList } from './channel.ts'
import { ReadyChannel } from './channel.ts'
import type { AskedChannels } from './channel-order.ts'
import { ChannelOrder } from './channel-order.ts'
import { LimitUsage } from './limits.ts'
import { QueueState } from './queue-state.ts'
import { TaskQueue, TaskSlots } from './task-queue.ts'

/** A rate's token bucket: when it will be full again. */
export interface Bucket {
  readonly name: string
  readonly fullAt: number
}

/** A queue and its channels. */
interface QueueChannels {
  readonly state: QueueState
  /** By job type, then by stage name; null: a plain job. */
  readonly byType: Map<string, Map<string | null, ReadyChannel>>
}

/** Up to this many lists of which no task is ready are kept: another task may come soon. */
const FEW_UNUSED = 1_000

export class ReadyIndex {
  /** Called with the job of a task that waited for its time here, when it has come. */
  onDue: (job: Job) => void = () => undefined
  /** Counted for tests: how much was looked at. */
  readonly effort = { comparisons: 0, offers: 0 }
  readonly #jobs: ReadonlyMap<string, Job>
  readonly #queues = new Map<string, QueueChannels>()
  readonly #limits = new LimitUsage()
  readonly #due = new TaskQueue(
    new TaskSlots(
      (task, time, number) =>
        task.state === 'WAITING' && task.dueAt === time && this.#isNewest(task, number),
    ),
  )
  readonly #state: IndexState = {
    slots: new TaskSlots(
      (task, _time, number) => task.state === 'WAITING' && this.#isNewest(task, number),
    ),
    isBefore: (a, b) => {
      this.effort.comparisons += 1
      return compareOrder(a, b) < 0
    },
    turns: 0,
    unused: 0,
    total: { ready: 0 },
  }
  /** Tasks that are due at this time or before are in their channels, the others in `due`. */
  #now = 0
  /** The list of the task that is on offer: it has lost its head, and has not moved yet. */
  #offered: ReadyList | null = null
  #submissions = 0
  /** Smaller than any submission, and in order of coming back. */
  #returns = -Number.MAX_SAFE_INTEGER
  #lists = 0
  /**
   * Of tasks that were rescheduled: the number under which they wait now. They may wait at the same attempt,
   * and for the same time, in another list; their slot in the old one is garbage.
   */
  readonly #numbers = new WeakMap<Task, number>()
  /** Until one was, none is looked up. */
  #hasRescheduled = false

  constructor(jobs: ReadonlyMap<string, Job>) {
    this.#jobs = jobs
  }

  get usage(): ReadonlyMap<string, Usage> {
    return this.#limits.usage
  }

  boundsOf(limit: string): Pick<LimitUse, 'concurrency' | 'rate'> | null {
    return this.#limits.boundsOf(limit)
  }

  /** The limits of the task that is on offer, with their usage. */
  get offeredLimits(): readonly LimitUse[] {
    return (this.#offered as ReadyList).limits
  }

  queueUsage(queue: string): Usage | null {
    return this.#queues.get(queue)?.state.usage ?? null
  }

  /** How many tasks of a queue are due and wait, whatever stops them. */
  readyIn(queue: string): number {
    return this.#queues.get(queue)?.state.ready ?? 0
  }

  /**
   * When the oldest of those was due; null: there is none. It looks at the first few tasks of each list, and at so many
   * lists at most.
   */
  oldestDueIn(queue: string): number | null {
    const looked = { lists: 0 }
    let oldest = Infinity
    for (const stages of this.#queues.get(queue)?.byType.values() ?? []) {
      for (const channel of stages.values()) {
        oldest = Math.min(oldest, channel.oldestDue(this.#now, looked))
      }
    }
    return oldest === Infinity ? null : oldest
  }

  queueNames(): Iterable<string> {
    return this.#queues.keys()
  }

  /** Counted for tests: what is remembered of queues. */
  get size(): { queues: number; channels: number } {
    let channels = 0
    for (const { byType } of this.#queues.values()) {
      for (const stages of byType.values()) channels += stages.size
    }
    return { queues: this.#queues.size, channels }
  }

  queueChanged(queue: Queue): void {
    const { state, byType } = this.#queue(queue.name)
    if (!state.configure(queue, this.#now)) return
    for (const stages of byType.values()) {
      for (const channel of stages.values()) channel.rankAgain()
    }
  }

  /** A task is waiting, and nothing but time, pause and limits keeps it from being granted. */
  insert(task: Task, job: Job): void {
    const submission = this.#newNumber(task)
    if (task.dueAt > this.#now) this.#due.push(task, task.dueAt, submission)
    else this.#addReady(task, job, placeAt(task), submission)
  }

  /**
   * A task that was inserted waits no more, or for another time; `dueAt` is what it waited for.
   * A task that was offered has left its list already.
   */
  left(task: Task, job: Job, dueAt: number, isOffered: boolean): void {
    if (dueAt > this.#now) return this.#due.discard()
    const list = isOffered ? (this.#offered as ReadyList) : this.#listOf(task, job.spec)
    list.taskLeft(task.lease !== null && task.commit === null)
    if (isOffered) return this.#endOffer()
    list.discard()
    list.headChanged()
  }

  /** BEFORE a waiting task has another queue, priority or time: its place is found by them. Insert it AFTER. */
  moves(task: Task, job: Job): void {
    this.#hasRescheduled = true
    this.#numbers.set(task, NaN)
    this.left(task, job, task.dueAt, false)
  }

  /** Whether tasks that are due at this time are in their channels. */
  isDue(dueAt: number): boolean {
    return dueAt <= this.#now
  }

  /** A task was offered and not granted: it goes back to its place. */
  putBack(task: Task, job: Job): void {
    this.#endOffer()
    const list = this.#listOf(task, job.spec)
    if (list.push(task, placeAt(task), this.#newNumber(task))) list.headChanged()
  }

  granted(task: Task, at: number, resumed: boolean, isOffered: boolean): void {
    const { queue, limits } = task.policy
    if (isOffered && task.commit === null) {
      // Its list knows the queue and the limits: neither has to be looked up.
      const list = this.#offered as ReadyList
      // BEFORE a limit closes: that moves other lists, past one that must not stand where it was.
      if (list.limits.length > 0) list.headChanged()
      list.channel.queue.charge(at, resumed)
      this.#limits.chargeKnown(list.limits, at, resumed)
      return
    }
    this.#queue(queue).state.charge(at, resumed)
    if (limits.length > 0) this.#limits.charge(limits, at, resumed)
  }

  ended(task: Task, at: number): void {
    const { queue, limits } = task.policy
    this.#queue(queue).state.credit()
    if (limits.length > 0) this.#limits.credit(limits, at)
  }

  /** What rates have used up: the buckets that are not full at this time. */
  buckets(now: number): { queues: Bucket[]; limits: Bucket[] } {
    const queues: Bucket[] = []
    for (const [name, { state }] of this.#queues) {
      const { fullAt } = state.usage
      if (fullAt > now) queues.push({ name, fullAt })
    }
    const limits: Bucket[] = []
    for (const [name, { fullAt }] of this.#limits.usage) {
      if (fullAt > now) limits.push({ name, fullAt })
    }
    return { queues, limits }
  }

  /** BEFORE tasks are inserted, so that their limits are closed from the start. */
  restoreBuckets(queues: readonly Bucket[], limits: readonly Bucket[]): void {
    for (const { name, fullAt } of queues) this.#queue(name).state.usage.fullAt = fullAt
    for (const { name, fullAt } of limits) this.#limits.restore(name, fullAt)
  }

  /** Time went on: moves tasks that are due to their channels, and opens limits. */
  advance(now: number): void {
    if (now <= this.#now) return
    this.#now = now
    this.#limits.advance(now)
    while (this.#due.headTime <= now) {
      const { headNumber } = this.#due
      const task = this.#due.pop()
      this.#due.trim()
      const job = this.#jobs.get(task.job)
      if (job === undefined) continue
      this.#addReady(task, job, placeAt(task), headNumber)
      this.onDue(job)
    }
  }

  /**
   * The channels of queues that have something ready, queue by queue: the others have nothing to offer.
   * `suspects`: with those that are granted alone; `lastChances`: also with those whose next loss would be
   * their last.
   */
  find(
    names: readonly ChannelName[],
    { suspects, lastChances }: { readonly suspects: boolean; readonly lastChances: boolean },
  ): ReadyChannel[] {
    // A worker that polls may name thousands.
    if (this.#state.total.ready === 0) return []
    const found = new Map<QueueState, Set<ReadyChannel>>()
    for (const { queue, type, stage } of names) {
      const known = this.#queues.get(queue)
      if (known === undefined || known.state.ready === 0) continue
      const channel = known.byType.get(type)?.get(stage)
      if (channel === undefined) continue
      let ofQueue = found.get(known.state)
      if (ofQueue === undefined) found.set(known.state, (ofQueue = new Set()))
      ofQueue.add(channel)
      if (!suspects) continue
      for (const one of channel.suspects(lastChances)) ofQueue.add(one)
    }
    return [...found.values()].flatMap((channels) => Array.from(channels))
  }

  /** For the offers of one claim. */
  inOrder(channels: readonly ReadyChannel[]): AskedChannels {
    return ChannelOrder.of(channels)
  }

  /**
   * Takes out the best task that may start now. If it is not granted, the caller puts it back. A task
   * that is not `wanted` stays where it is, and none behind it is offered in its place.
   */
  offer(
    channels: AskedChannels,
    wanted?: (task: Task, group: string | null) => boolean,
  ): Task | null {
    this.#endOffer()
    const list = channels.best(this.#now, this.#limits.changes)
    if (list === null) return null
    if (wanted !== undefined && !wanted(list.headTask, list.group.name)) return null
    this.effort.offers += 1
    this.#offered = list
    return list.pop()
  }

  /** AFTER it is known what became of the offer: a list that is stopped now need not move first. */
  #endOffer(): void {
    const list = this.#offered
    this.#offered = null
    list?.headChanged()
  }

  #newNumber(task: Task): number {
    const number = task.attempt > 0 ? this.#returns++ : ++this.#submissions
    if (this.#hasRescheduled && this.#numbers.has(task)) this.#numbers.set(task, number)
    return number
  }

  #isNewest(task: Task, number: number): boolean {
    return !this.#hasRescheduled || (this.#numbers.get(task) ?? number) === number
  }

  #addReady(task: Task, job: Job, place: number, submission: number): void {
    const list = this.#listOf(task, job.spec)
    list.taskCame()
    if (list.push(task, place, submission)) list.headChanged()
  }

  #queue(name: string): QueueChannels {
    let queue = this.#queues.get(name)
    if (queue === undefined) {
      queue = { state: new QueueState(name), byType: new Map() }
      this.#queues.set(name, queue)
    }
    return queue
  }

  #channelOf(task: Task, spec: JobSpec): ReadyChannel {
    const { state, byType } = this.#queue(task.policy.queue)
    const stage = spec.stages === null ? null : (spec.stages[task.stage]?.name ?? null)
    let stages = byType.get(spec.type)
    if (stages === undefined) byType.set(spec.type, (stages = new Map()))
    let channel = stages.get(stage)
    if (channel === undefined) stages.set(stage, (channel = new ReadyChannel(state, this.#state)))
    return channel.channelFor(task)
  }

  /** The spec, and not the job: it may have to be read, and once is enough. */
  #listOf(task: Task, spec: JobSpec): ReadyList {
    let channel = this.#channelOf(task, spec)
    if (task.commit !== null) return channel.finishing
    const { group } = spec
    const { priority } = task
    const { limits } = task.policy
    const known = channel.findList(priority, group, limits)
    if (known !== null) return known
    const { unused } = this.#state
    if (unused > FEW_UNUSED && unused * 2 > this.#lists) {
      this.#sweep()
      // It was empty until now, so it may be gone.
      channel = this.#channelOf(task, spec)
    }
    this.#lists += 1
    const found = limits.map((limit) => this.#limits.limitFor(limit, this.#now))
    return channel.addList(priority, group, found)
  }

  /** Forgets lists, groups, limits, channels and queues that nothing uses any more. */
  #sweep(): void {
    this.#lists = 0
    this.#state.unused = 0
    for (const [name, { state, byType }] of this.#queues) {
      for (const [type, stages] of byType) {
        for (const [stage, channel] of stages) {
          this.#lists += channel.sweep()
          if (channel.isUnused) stages.delete(stage)
        }
        if (stages.size === 0) byType.delete(type)
      }
      if (byType.size === 0 && state.isUnused) this.#queues.delete(name)
    }
    this.#limits.sweep(this.#now)
  }
}
