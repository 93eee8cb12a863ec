/**
 * Which task is offered next, by the simplest thing that could be right: look at every task,
 * keep those that may start, and go through the rules one after the other.
 */
import type { Job, Task } from '../../src/kernel/index.ts'
import { isHeldBack, isLastChance, isSuspect, mayStartAt } from '../../src/kernel/index.ts'
import type { ChannelName, Ledger } from '../../src/store/index.ts'

interface Place {
  readonly task: Task
  readonly job: Job
  readonly attempt: number
  readonly dueAt: number
  readonly submission: number
}

/** A group in a channel at a priority: these take turns. Tasks that are granted alone have a channel of their own. */
interface Party {
  readonly name: string
  readonly places: Set<Place>
}

export class NaiveOrder {
  readonly #ledger: Ledger
  readonly #places = new Map<Task, Place>()
  /** In the order of their turns. */
  #parties: Party[] = []
  #submissions = 0
  #returns = -1e9

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** Before each command: what became due since then joins the order. */
  before(now: number): void {
    const inLine = new Set(this.#parties.flatMap(({ places }) => [...places]))
    const due = [...this.#places.values()].filter(
      (place) => place.dueAt <= now && !inLine.has(place),
    )
    for (const place of due.toSorted(byTime)) this.#join(place)
  }

  /** After each command: which tasks came, and which left. */
  after(now: number): void {
    this.#regroup()
    for (const job of this.#ledger.world.jobs.values()) {
      const task = job.task as Task
      const place = this.#places.get(task)
      const isWaiting = task.state === 'WAITING' && !isHeldBack(job)
      if (place !== undefined && !(isWaiting && this.#keeps(place, now))) this.#leave(place)
      if (isWaiting && !this.#places.has(task)) this.#come(task, job, now)
    }
    for (const [task, place] of this.#places) {
      if (!this.#ledger.world.jobs.has(task.job)) this.#leave(place)
    }
  }

  /** `suspects`: whether those that are granted alone may be offered; `lastChances`: also on their last retry. */
  best(
    channels: readonly ChannelName[],
    now: number,
    suspects: boolean,
    lastChances: boolean,
  ): Task | null {
    const asked = [...this.#places.values()].filter(
      ({ task, job }) =>
        (suspects || !isSuspect(task)) &&
        (lastChances || !isLastChance(task)) &&
        channels.some(({ queue, type }) => queue === task.policy.queue && type === job.spec.type) &&
        this.#mayStart(task, now),
    )
    const committed = asked.filter(({ task }) => task.commit !== null).toSorted(byTime)
    if (committed[0] !== undefined) return committed[0].task
    const byQueue = grouped(asked, ({ task }) => task.policy.queue).map((places) => {
      const byType = grouped(places, ({ job, task }) => `${job.spec.type} ${kindOf(task)}`)
      return this.#first(
        byType.map((some) => this.#firstOfChannel(some)),
        this.#ranked,
      )
    })
    return byQueue.length === 0 ? null : this.#first(byQueue, this.#risen(now)).task
  }

  /** Highest priority, then turn, then time. */
  #firstOfChannel(places: readonly Place[]): Place {
    const [first] = places.toSorted((a, b) => {
      const [left, right] = [this.#ranked(a), this.#ranked(b)]
      return (
        right.priority - left.priority ||
        this.#turn(a) - this.#turn(b) ||
        left.time - right.time ||
        a.submission - b.submission
      )
    })
    return first as Place
  }

  /** Highest priority, then of each group what is due first, then turn. */
  #first(places: readonly Place[], scale: (place: Place) => Scaled): Place {
    const top = Math.max(...places.map((place) => scale(place).priority))
    const highest = places.filter((place) => scale(place).priority === top)
    const ofGroups = grouped(highest, ({ job }) => `${job.spec.group}`).map((some) =>
      some.toSorted((a, b) => scale(a).time - scale(b).time || a.submission - b.submission),
    )
    const firsts = ofGroups.map(([first]) => first as Place)
    return firsts.toSorted((a, b) => this.#turn(a) - this.#turn(b))[0] as Place
  }

  readonly #ranked = ({ task, job, dueAt }: Place): Scaled => {
    const { priority } = job.spec
    const ageingMs = this.#ageing(task)
    return ageingMs === null
      ? { priority, time: dueAt }
      : { priority: 0, time: dueAt - priority * ageingMs }
  }

  #risen(now: number): (place: Place) => Scaled {
    return ({ task, job, dueAt }) => {
      const ageingMs = this.#ageing(task)
      const risen = ageingMs === null ? 0 : Math.floor((now - dueAt) / ageingMs)
      return { priority: job.spec.priority + risen, time: dueAt }
    }
  }

  #ageing(task: Task): number | null {
    return this.#ledger.world.queues.get(task.policy.queue)?.ageingMs ?? null
  }

  #turn(place: Place): number {
    return this.#parties.findIndex(({ places }) => places.has(place))
  }

  #keeps({ task, attempt, dueAt }: Place, now: number): boolean {
    return task.attempt === attempt && (task.dueAt === dueAt || dueAt <= now)
  }

  #come(task: Task, job: Job, now: number): void {
    const { attempt, dueAt } = task
    const submission = attempt > 0 ? ++this.#returns : ++this.#submissions
    const place = { task, job, attempt, dueAt, submission }
    this.#places.set(task, place)
    if (dueAt <= now) this.#join(place)
  }

  #join(place: Place): void {
    if (place.task.commit !== null) return
    const { type, priority, group } = place.job.spec
    const level = this.#ageing(place.task) === null ? priority : 0
    const name = JSON.stringify([place.task.policy.queue, type, kindOf(place.task), level, group])
    const party = this.#parties.find((one) => one.name === name)
    if (party === undefined) this.#parties.push({ name, places: new Set([place]) })
    else party.places.add(place)
  }

  /** Ageing may have begun or ended: groups that share a turn now have the first of their turns. */
  #regroup(): void {
    const before = this.#parties
    this.#parties = []
    for (const { places } of before) for (const place of places) this.#join(place)
  }

  #leave(place: Place): void {
    this.#places.delete(place.task)
    const party = this.#parties.find(({ places }) => places.has(place))
    if (party === undefined) return
    party.places.delete(place)
    const others = this.#parties.filter((one) => one !== party)
    if (party.places.size === 0) this.#parties = others
    // It was served: it goes to the end.
    else if (place.task.attempt > place.attempt) this.#parties = [...others, party]
  }

  #mayStart(task: Task, now: number): boolean {
    if (task.dueAt > now) return false
    if (task.startBy !== null && task.attempt === 0 && now >= task.startBy) return false
    if (task.commit !== null) return true
    const { usage, world } = this.#ledger
    const { limits, queue: name } = task.policy
    const queue = world.queues.get(name)
    if (queue !== undefined) {
      const own = { key: name, concurrency: queue.concurrency, rate: queue.rate }
      if (queue.paused) return false
      if (mayStartAt(own, this.#ledger.queueUsage(name) ?? undefined, now) > now) return false
    }
    return limits.every((limit) => mayStartAt(limit, usage.get(limit.key), now) <= now)
  }
}

interface Scaled {
  readonly priority: number
  readonly time: number
}

function byTime(a: Place, b: Place): number {
  return a.dueAt - b.dueAt || a.submission - b.submission
}

function grouped<T>(items: readonly T[], name: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(name(item))
    if (group === undefined) groups.set(name(item), [item])
    else group.push(item)
  }
  return [...groups.values()]
}

/** Tasks of one kind take turns with each other. */
function kindOf(task: Task): string {
  if (!isSuspect(task)) return 'any'
  return isLastChance(task) ? 'last chance' : 'suspect'
}
