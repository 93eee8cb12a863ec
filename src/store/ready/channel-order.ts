/**
 * The channels that one claim asks together, by what comes first of what they offer.
 *
 * Committed tasks come first. Then, first within each queue and then between queues: the highest priority; of each
 * group what is due first; of the groups the one whose turn it is.
 *
 * An offer changes what its own channel offers next, and nothing that another one offers. So only that channel is
 * asked again, and goes where it belongs: an offer costs O(log n) of n channels. But a limit that closes may stop lists
 * of any channel, and a queue that has a limit of its own may close to all its channels: then all are asked again.
 *
 * It is good for one claim: time stands still in it, and nothing becomes ready.
 */
import type { ReadyChannel, ReadyList } from './channel.ts'
import { Heap } from './indexed-queue.ts'
import type { QueueState } from './queue-state.ts'

/** A channel, or several in order. `limitChanges`: how many limits have opened or closed so far. */
export interface AskedChannels {
  best(now: number, limitChanges: number): ReadyList | null
}

/** How lists of one queue, or of different queues, are compared. */
interface Scale {
  priority(list: ReadyList, now: number): number
  dueAt(list: ReadyList): number
}

/** As the queue itself ranks them. */
const IN_QUEUE: Scale = {
  priority: ({ group }) => group.priority,
  dueAt: (list) => list.dueAt,
}

/** With the priority to which they have risen: only some queues may age. */
const BETWEEN_QUEUES: Scale = {
  priority: ({ jobPriority, headTime, channel }, now) => {
    const { ageingMs } = channel.queue
    return jobPriority + (ageingMs === null ? 0 : Math.floor((now - headTime) / ageingMs))
  },
  dueAt: (list) => list.headTime,
}

/** A channel, or those of a queue, and what it offers. */
interface Offering {
  readonly from: AskedChannels
  list: ReadyList
}

/** Those whose lists have the same priority and group. It is never empty. */
class OfferingGroup extends Heap<Offering> {
  readonly priority: number
  readonly name: string | null
  /** Among the groups. Only `GroupHeap` writes it. */
  slot = 0

  constructor(priority: number, name: string | null, scale: Scale) {
    super((a, b) => isEarlier(a.list, b.list, scale))
    this.priority = priority
    this.name = name
  }

  get first(): Offering {
    return this.items[0] as Offering
  }
}

class GroupHeap extends Heap<OfferingGroup> {
  constructor() {
    super((a, b) => {
      if (a.priority !== b.priority) return a.priority > b.priority
      return a.first.list.group.turn < b.first.list.group.turn
    })
  }

  protected override noteSlot(group: OfferingGroup, slot: number): void {
    group.slot = slot
  }
}

export class ChannelOrder implements AskedChannels {
  readonly #all: readonly AskedChannels[]
  readonly #scale: Scale
  #groups = new GroupHeap()
  /** By priority, then by name. */
  #byPriority = new Map<number, Map<string | null, OfferingGroup>>()
  #limitChanges = -1
  /** Of all the channels; null: they are of several. */
  readonly #queue: QueueState | null

  private constructor(all: readonly AskedChannels[], scale: Scale, queue: QueueState | null) {
    this.#all = all
    this.#scale = scale
    this.#queue = queue
  }

  /** The channels of one queue are neighbours in the array. */
  static of(channels: readonly ReadyChannel[]): AskedChannels {
    const queues: AskedChannels[] = []
    for (let from = 0; from < channels.length;) {
      const first = channels[from] as ReadyChannel
      let to = from + 1
      while (channels[to]?.queue === first.queue) to += 1
      const ofQueue = channels.slice(from, to)
      queues.push(ofQueue.length === 1 ? first : new ChannelOrder(ofQueue, IN_QUEUE, first.queue))
      from = to
    }
    const [only] = queues
    return queues.length === 1 && only !== undefined
      ? only
      : new ChannelOrder(queues, BETWEEN_QUEUES, null)
  }

  best(now: number, limitChanges: number): ReadyList | null {
    const isSame = limitChanges === this.#limitChanges && this.#queue?.isLimited !== true
    if (isSame) this.#askFirst(now)
    else this.#askAll(now, limitChanges)
    return this.#groups.items[0]?.first.list ?? null
  }

  #askAll(now: number, limitChanges: number): void {
    this.#limitChanges = limitChanges
    this.#groups = new GroupHeap()
    this.#byPriority = new Map()
    for (const from of this.#all) {
      const list = from.best(now, limitChanges)
      if (list !== null) this.#add({ from, list }, now)
    }
  }

  /** The last offer was from the first. */
  #askFirst(now: number): void {
    const group = this.#groups.items[0]
    if (group === undefined) return
    const { first } = group
    group.removeAt(0)
    if (group.items.length > 0) {
      this.#groups.movedAt(0)
    } else {
      this.#groups.removeAt(0)
      this.#byPriority.get(group.priority)?.delete(group.name)
    }
    const list = first.from.best(now, this.#limitChanges)
    if (list === null) return
    first.list = list
    this.#add(first, now)
  }

  #add(offering: Offering, now: number): void {
    const { list } = offering
    const isFinishing = list === list.channel.finishing
    const priority = isFinishing ? Infinity : this.#scale.priority(list, now)
    const { name } = list.group
    let groups = this.#byPriority.get(priority)
    if (groups === undefined) this.#byPriority.set(priority, (groups = new Map()))
    let group = groups.get(name)
    if (group === undefined) {
      groups.set(name, (group = new OfferingGroup(priority, name, this.#scale)))
      group.push(offering)
      this.#groups.push(group)
    } else {
      group.push(offering)
      this.#groups.movedAt(group.slot)
    }
  }
}

function isEarlier(list: ReadyList, other: ReadyList, scale: Scale): boolean {
  const laterBy = scale.dueAt(list) - scale.dueAt(other)
  return laterBy < 0 || (laterBy === 0 && list.submission < other.submission)
}
