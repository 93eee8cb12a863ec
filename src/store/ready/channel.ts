/**
 * A channel: the ready tasks that the same workers can run, by queue, job type and stage.
 *
 * ```
 * channel ─┬─ finishing: committed tasks, by due time. They come first, and nothing stops them.
 *          ├─ suspects: a channel of their own, for tasks that are granted alone (`isSuspect`)
 *          ├─ last chances: another one, for those whose next loss would be their last (`isLastChance`)
 *          └─ partitions whose limits are open, in a queue: the same shared limits, or none
 *               └─ groups, in a queue by priority and turn
 *                    └─ ready lists, in a queue by due time: the same priority, group and limits
 *                         └─ tasks, in a queue by due time and submission
 * ```
 *
 * So the best task that may start is at the top, and what a limit stops is not looked at:
 * - A partition that a limit closes leaves the queue, with all its lists, however many they are.
 * - A list that is stopped by a limit which is not shared leaves its partition alone. So a group
 *   with ten thousand keys is in one partition and not in ten thousand (`limits.ts`).
 */
import type { LimitSpec, Place, Task } from '../../kernel/index.ts'
import { isLastChance, isSuspect, missedStart } from '../../kernel/index.ts'
import type { IsBefore, QueueMember } from './indexed-queue.ts'
import { IndexedQueue, NOT_QUEUED } from './indexed-queue.ts'
import type { Limited, LimitState } from './limits.ts'
import type { QueueState } from './queue-state.ts'
import type { TaskSlots } from './task-queue.ts'
import { TaskQueue } from './task-queue.ts'

/** What all channels of an index have in common. */
export interface IndexState {
  readonly slots: TaskSlots
  readonly isBefore: IsBefore<Place>
  /** How many turns were given so far. */
  turns: number
  /** Lists of which no task is ready. */
  unused: number
  /** Tasks that are ready in all channels together, whatever stops them. */
  readonly total: { ready: number }
}

/** Of each list, when the oldest is asked for. What came back from a wait stands before older tasks. */
export const FIRST_IN_LINE = 20
const MOST_LISTS_LOOKED = 10_000

/** How many lists were looked at so far. */
export interface TasksLooked {
  lists: number
}

/**
 * What one group has ready in one channel, at one priority; at all priorities in a queue that
 * ages. Groups take turns. Jobs without a group are one group.
 *
 * Idle: it has nothing ready. Waiting: its turn comes after every group's that waited before, and
 * it goes to the end again each time that it is served. So a group is served once in a round,
 * however much it has waiting. A group that was idle has saved up nothing, for it joins at the
 * end, and groups that come and go pass no other.
 */
class ReadyGroup {
  readonly priority: number
  readonly name: string | null
  /** The smallest is next. Meaningless while the group is idle. */
  turn = 0
  /** Tasks that are ready, whether a limit stops them or not; the one on offer included. */
  ready = 0
  /** The only list, until there are two: nearly always it is, and there are many groups. */
  #list: ReadyList | null = null
  /** By the keys of their limits; a list is followed by others with the same keys (`alike`). */
  #byKeys: Map<string, ReadyList> | null = null

  constructor(priority: number, name: string | null) {
    this.priority = priority
    this.name = name
  }

  findList(jobPriority: number, limits: readonly LimitSpec[]): ReadyList | null {
    let list = this.#byKeys === null ? this.#list : (this.#byKeys.get(keysOf(limits)) ?? null)
    while (list !== null && !list.isFor(jobPriority, limits)) list = list.alike
    return list
  }

  addList(list: ReadyList): void {
    list.alike = null
    if (this.#list === null) {
      this.#list = list
      return
    }
    this.#byKeys ??= new Map([[keysOf(this.#list.limits), this.#list]])
    const keys = keysOf(list.limits)
    list.alike = this.#byKeys.get(keys) ?? null
    this.#byKeys.set(keys, list)
  }

  forgetLists(): void {
    this.#list = null
    this.#byKeys = null
  }
}

/** One key is text already: to build text for each task costs a tenth of a submit. */
function keysOf(limits: readonly LimitSpec[]): string {
  const [first] = limits
  if (limits.length < 2) return first?.key ?? ''
  return limits.map(({ key }) => `${key.length}:${key}`).join()
}

/**
 * The ready tasks of a channel that have the same priority, group and limits, so that what stops
 * the first of them stops all. A list is queued; or it is empty; or a limit stops it that is not
 * shared. It ranks by its head, which may be garbage: then it stands too far in front, and `best`
 * moves it. Where a queue ages, a task rises by one priority for each `ageingMs` that it waits. A
 * higher priority counts as an earlier due time instead, so nothing is ranked again as time goes by.
 */
export class ReadyList extends TaskQueue implements Place, QueueMember, Limited {
  slot = NOT_QUEUED
  previous: QueueMember | null = null
  next: QueueMember | null = null
  /** Where it is queued, or was last. */
  home: PartitionGroup | null = null
  /** Tasks that are ready, the one on offer included. */
  ready = 0
  readonly channel: ReadyChannel
  readonly jobPriority: number
  group: ReadyGroup
  readonly limits: readonly LimitState[]
  /** Another list of its group with the same keys. Only the group writes it. */
  alike: ReadyList | null = null
  readonly #index: IndexState

  constructor(
    channel: ReadyChannel,
    jobPriority: number,
    group: ReadyGroup,
    limits: readonly LimitState[],
    index: IndexState,
  ) {
    super(index.slots)
    this.channel = channel
    this.jobPriority = jobPriority
    this.group = group
    this.limits = limits
    this.#index = index
    index.unused += 1
  }

  // Lists are compared within a group, so these are the same.
  get priority(): number {
    return 0
  }

  get turn(): number {
    return 0
  }

  get dueAt(): number {
    const { ageingMs } = this.channel.queue
    return ageingMs === null ? this.headTime : this.headTime - this.jobPriority * ageingMs
  }

  get submission(): number {
    return this.headNumber
  }

  taskCame(): void {
    if (this.ready === 0) this.#index.unused -= 1
    this.ready += 1
    this.#index.total.ready += 1
    this.channel.queue.ready += 1
    this.group.ready += 1
    if (this.group.ready === 1) this.#goToEnd()
  }

  taskLeft(isServed: boolean): void {
    this.ready -= 1
    this.#index.total.ready -= 1
    this.channel.queue.ready -= 1
    this.group.ready -= 1
    if (isServed && this.group.ready > 0) this.#goToEnd()
    if (this.ready === 0) this.#index.unused += 1
  }

  /** Its head may be another one now, or its first, or it lost the last. */
  headChanged(): void {
    if (this.ready === 0) this.clear()
    this.channel.headChanged(this)
  }

  limitChanged(): void {
    this.channel.place(this)
  }

  isFor(jobPriority: number, limits: readonly LimitSpec[]): boolean {
    const own = this.limits
    if (this.jobPriority !== jobPriority || own.length !== limits.length) return false
    for (let i = 0; i < own.length; i++) {
      if (!(own[i] as LimitState).isFor(limits[i] as LimitSpec)) return false
    }
    return true
  }

  /** The group was served, or was idle. */
  #goToEnd(): void {
    this.#index.turns += 1
    this.group.turn = this.#index.turns
  }
}

/**
 * The lists of one group that are queued in one partition. When the group's turn passes, this
 * moves, however many lists it has. The turn by which it ranks may be an older one of its group.
 * Turns only grow, so it stands too far in front then, and `best` moves it.
 */
class PartitionGroup extends IndexedQueue<ReadyList> implements Place, QueueMember {
  slot = NOT_QUEUED
  previous: QueueMember | null = null
  next: QueueMember | null = null
  readonly group: ReadyGroup
  readonly partition: LimitPartition
  readonly priority: number
  turn = 0
  // No two groups of a partition have the same turn, so the rest is never compared.
  readonly dueAt = 0
  readonly submission = 0

  constructor(group: ReadyGroup, partition: LimitPartition, isBefore: IsBefore<Place>) {
    super(isBefore)
    this.group = group
    this.partition = partition
    this.priority = group.priority
  }

  get isOutdated(): boolean {
    return this.turn !== this.group.turn
  }
}

/**
 * The lists of a channel that have the same shared limits, by group. It is among the channel's
 * open partitions while it has lists and all its limits are open. One partition has no limits.
 */
class LimitPartition extends IndexedQueue<PartitionGroup> implements Place, QueueMember, Limited {
  slot = NOT_QUEUED
  previous: QueueMember | null = null
  next: QueueMember | null = null
  readonly limits: readonly LimitState[]
  readonly #open: IndexedQueue<LimitPartition>
  readonly #byGroup = new Map<ReadyGroup, PartitionGroup>()
  readonly #index: IndexState

  constructor(
    limits: readonly LimitState[],
    open: IndexedQueue<LimitPartition>,
    index: IndexState,
  ) {
    super(index.isBefore)
    this.limits = limits
    this.#open = open
    this.#index = index
    for (const limit of limits) limit.addPartition(this)
  }

  get priority(): number {
    return this.first?.priority ?? 0
  }

  get turn(): number {
    return this.first?.turn ?? 0
  }

  get dueAt(): number {
    return this.first?.first?.dueAt ?? Infinity
  }

  get submission(): number {
    return this.first?.first?.submission ?? Infinity
  }

  enqueue(list: ReadyList): void {
    if (list.home?.partition !== this || list.home.group !== list.group) {
      list.home = this.#groupFor(list.group)
    }
    list.home.add(list)
    this.groupChanged(list.home)
  }

  dequeue(list: ReadyList): void {
    const home = list.home as PartitionGroup
    home.remove(list)
    this.groupChanged(home)
  }

  /** The group's turn changed, or which of its lists comes first. */
  groupChanged(group: PartitionGroup): void {
    const { isOutdated } = group
    group.turn = group.group.turn
    if (group.first === null) this.remove(group)
    else if (group.slot === NOT_QUEUED) this.add(group)
    else if (isOutdated) this.moved(group)
    this.limitChanged()
  }

  limitChanged(): void {
    const isQueued = this.slot !== NOT_QUEUED
    if (this.first === null || this.limits.some(({ isClosed }) => isClosed)) {
      if (isQueued) this.#open.remove(this)
    } else if (isQueued) this.#open.moved(this)
    else this.#open.add(this)
  }

  /** Forgets groups that have nothing ready. */
  sweep(): void {
    for (const group of this.#byGroup.keys()) if (group.ready === 0) this.#byGroup.delete(group)
  }

  #groupFor(group: ReadyGroup): PartitionGroup {
    let known = this.#byGroup.get(group)
    if (known === undefined) {
      known = new PartitionGroup(group, this, this.#index.isBefore)
      this.#byGroup.set(group, known)
    }
    return known
  }
}

export class ReadyChannel {
  readonly queue: QueueState
  /** Committed tasks take no turns, and their priority counts no more. */
  readonly finishing: ReadyList
  readonly #index: IndexState
  readonly #lists = new Set<ReadyList>()
  /** By priority, then by name. */
  #groups = new Map<number, Map<string | null, ReadyGroup>>()
  readonly #open: IndexedQueue<LimitPartition>
  readonly #unlimited: LimitPartition
  /** The others, by the ids of their limits. */
  readonly #partitions = new Map<string, LimitPartition>()
  /** Tasks of this channel that may be what kills their workers: only a claim that wants one looks at them. */
  #suspects: ReadyChannel | null = null
  #lastChances: ReadyChannel | null = null

  constructor(queue: QueueState, index: IndexState) {
    this.queue = queue
    this.#index = index
    const apart = { ...index, turns: 0 }
    this.finishing = new ReadyList(this, 0, new ReadyGroup(0, null), [], apart)
    this.#open = new IndexedQueue<LimitPartition>(index.isBefore)
    this.#unlimited = new LimitPartition([], this.#open, index)
  }

  /** AFTER a sweep: nothing is ready in it. */
  get isUnused(): boolean {
    return this.finishing.ready === 0 && this.#lists.size === 0 && !this.hasSuspects
  }

  get hasSuspects(): boolean {
    return this.#suspects !== null || this.#lastChances !== null
  }

  /** Those that there were lately. */
  suspects(lastChances: boolean): ReadyChannel[] {
    const wanted = lastChances ? [this.#suspects, this.#lastChances] : [this.#suspects]
    return wanted.filter((one) => one !== null)
  }

  /** Where a task of this channel is listed. */
  channelFor(task: Task): ReadyChannel {
    if (!isSuspect(task)) return this
    if (isLastChance(task)) {
      return (this.#lastChances ??= new ReadyChannel(this.queue, this.#index))
    }
    return (this.#suspects ??= new ReadyChannel(this.queue, this.#index))
  }

  findList(priority: number, group: string | null, limits: readonly LimitSpec[]): ReadyList | null {
    const groups = this.#groups.get(this.#levelOf(priority))
    return groups?.get(group)?.findList(priority, limits) ?? null
  }

  addList(priority: number, name: string | null, limits: readonly LimitState[]): ReadyList {
    const group = this.#group(priority, name)
    const list = new ReadyList(this, priority, group, limits, this.#index)
    this.#lists.add(list)
    group.addList(list)
    for (const limit of limits) limit.addList(list)
    return list
  }

  headChanged(list: ReadyList): void {
    if (list === this.finishing) return
    if (list.slot === NOT_QUEUED || list.isEmpty) return this.place(list)
    const home = list.home as PartitionGroup
    home.moved(list)
    home.partition.groupChanged(home)
  }

  /** Puts a list where it belongs, after its limits, or what it holds, changed. */
  place(list: ReadyList): void {
    const partition = list.isEmpty ? null : this.#partitionFor(list)
    if (list.slot !== NOT_QUEUED) {
      const before = (list.home as PartitionGroup).partition
      if (before === partition) return
      before.dequeue(list)
    }
    partition?.enqueue(list)
  }

  /** The list whose head comes first, of those that may start. */
  best(now: number): ReadyList | null {
    this.finishing.trim()
    if (!this.finishing.isEmpty) return this.finishing
    if (!this.queue.isOpen(now)) return null
    for (;;) {
      const group = this.#open.first?.first ?? null
      if (group === null) return null
      const list = group.first as ReadyList
      if (group.isOutdated) {
        group.partition.groupChanged(group)
      } else if (list.trim()) {
        this.headChanged(list)
      } else if (missedStart(list.headTask, now)) {
        // Too late to start: the upkeep stops it, and until then it is not offered.
        list.pop()
        this.headChanged(list)
      } else {
        return list
      }
    }
  }

  /**
   * Ageing began, ended or has another pace: other tasks share a turn, and rank otherwise. Of the
   * turns of groups that become one, the first counts.
   */
  rankAgain(): void {
    const lists = [...this.#lists]
    for (const list of lists) if (list.slot !== NOT_QUEUED) list.home?.partition.dequeue(list)
    this.#groups = new Map()
    for (const list of lists) {
      const { name, turn } = list.group
      list.group.ready = 0
      list.group = this.#group(list.jobPriority, name)
      list.group.addList(list)
      if (list.ready === 0) continue
      list.group.turn = list.group.ready === 0 ? turn : Math.min(list.group.turn, turn)
      list.group.ready += list.ready
    }
    for (const list of lists) this.place(list)
    this.#sweepPartitions()
    this.#suspects?.rankAgain()
    this.#lastChances?.rankAgain()
  }

  /** When the oldest of the first few tasks of each list was due; Infinity: none is ready. */
  oldestDue(now: number, looked: TasksLooked): number {
    let oldest = Infinity
    for (const list of [this.finishing, ...this.#lists]) {
      if (list.ready === 0) continue
      if (looked.lists >= MOST_LISTS_LOOKED) return oldest
      looked.lists += 1
      const first: Task[] = []
      list.collect(Infinity, FIRST_IN_LINE, first)
      for (const task of first) {
        if (task.dueAt < oldest && !missedStart(task, now)) oldest = task.dueAt
      }
    }
    for (const one of this.suspects(true)) oldest = Math.min(oldest, one.oldestDue(now, looked))
    return oldest
  }

  /** Forgets what is empty. The number of lists that are left. */
  sweep(): number {
    for (const [level, groups] of this.#groups) {
      for (const [name, group] of groups) {
        group.forgetLists()
        if (group.ready === 0) groups.delete(name)
      }
      if (groups.size === 0) this.#groups.delete(level)
    }
    for (const list of this.#lists) {
      if (list.ready > 0) {
        list.group.addList(list)
      } else {
        this.#lists.delete(list)
        for (const limit of list.limits) limit.removeList(list)
      }
    }
    this.#sweepPartitions()
    const suspects = (this.#suspects?.sweep() ?? 0) + (this.#lastChances?.sweep() ?? 0)
    if (this.#suspects?.isUnused === true) this.#suspects = null
    if (this.#lastChances?.isUnused === true) this.#lastChances = null
    return this.#lists.size + suspects
  }

  #sweepPartitions(): void {
    this.#unlimited.sweep()
    for (const [text, partition] of this.#partitions) {
      partition.sweep()
      if (partition.first !== null) continue
      this.#partitions.delete(text)
      for (const limit of partition.limits) limit.removePartition(partition)
    }
  }

  /** In a queue that ages, groups take turns over all priorities together. */
  #levelOf(priority: number): number {
    return this.queue.ageingMs === null ? priority : 0
  }

  #group(priority: number, name: string | null): ReadyGroup {
    const level = this.#levelOf(priority)
    let groups = this.#groups.get(level)
    if (groups === undefined) this.#groups.set(level, (groups = new Map()))
    let group = groups.get(name)
    if (group === undefined) groups.set(name, (group = new ReadyGroup(level, name)))
    return group
  }

  /** Null: none, while a limit stops the list that is not shared. */
  #partitionFor({ limits }: ReadyList): LimitPartition | null {
    let text = ''
    for (const { isShared, isClosed, id } of limits) {
      if (isShared) text += ` ${id}`
      else if (isClosed) return null
    }
    if (text === '') return this.#unlimited
    let partition = this.#partitions.get(text)
    if (partition === undefined) {
      const shared = limits.filter(({ isShared }) => isShared)
      partition = new LimitPartition(shared, this.#open, this.#index)
      this.#partitions.set(text, partition)
    }
    return partition
  }
}
