/**
 * Counters and timings of every transition, since this process opened the store.
 *
 * They are kept in memory and follow from the entries that were decided here, not from those that
 * were replayed. A query is answered when what was counted is durable, as with every other read.
 */
import type {
  Entry,
  Job,
  JobState,
  JobSubmitted,
  PendingWait,
  Rejection,
  Task,
  TaskEntry,
} from '../../kernel/index.ts'
import { plainState } from '../../kernel/index.ts'
import type { Distribution, Metrics, StateMove, Totals, Traffic } from '../metrics.ts'
import { COUNTED_STATES } from './job-counts.ts'
import { typeOf } from './job-with-stored-spec.ts'
import type { TaskSnapshot } from './task-snapshot.ts'
import { totalsOf } from './totals.ts'

/** Beyond this many pairs of type and queue, those that come are counted together. */
const MOST_METERS = 1_000
const OTHERS = '(others)'

export class Meters {
  readonly durableUs = new Histogram()
  #since = 0
  readonly #entries: Record<string, number> = {}
  readonly #refused: Record<string, number> = {}
  readonly #moves = new StateMoves()
  readonly #byQueue = new Map<string, Map<string, Meter>>()
  #unknown = 0
  readonly #suspensions = { sleep: 0, message: 0, question: 0, call: 0 }
  #count = 0
  /** The one that was asked for last: mostly, the next one is the same. */
  #last = new Meter('', '')

  /** `count`: of submits that are alike, at once. */
  submitted(entry: JobSubmitted, count = 1): void {
    this.#note(entry, count)
    this.#moves.submitted(entry, count)
    const { type, policy, stages } = entry.spec
    this.#meter(policy?.queue ?? stages?.[0]?.policy.queue ?? '', type).submitted += count
  }

  /** AFTER it was applied. */
  changedTask(
    entry: TaskEntry,
    job: Job,
    before: TaskSnapshot,
    isDead: boolean,
    queue: string,
  ): void {
    this.#note(entry)
    if ('settled' in entry) this.#unknown += entry.settled.length
    if (isDead && before.state !== 'DEAD') this.#meter(queue, typeOf(job)).quarantined += 1
    switch (entry.type) {
      case 'LeaseGranted': {
        const meter = this.#meter(queue, typeOf(job))
        meter.granted += 1
        meter.waitMs.add(entry.at - before.waitingSince)
        return
      }
      case 'ExecutionCommitted': {
        const meter = this.#meter(queue, typeOf(job))
        meter.committed += 1
        if (before.lease !== null) meter.runMs.add(entry.at - before.lease.grantedAt)
        return
      }
      case 'TaskFailed': {
        const meter = this.#meter(queue, typeOf(job))
        meter.failed += 1
        if (before.lease !== null) meter.runMs.add(entry.at - before.lease.grantedAt)
        return
      }
      case 'ExecutionSuspended':
        for (const wait of entry.waits) this.#suspensions[kindOf(wait)] += 1
        return
      case 'LeaseExpired':
      case 'LeaseRevoked':
        this.#meter(queue, typeOf(job)).lost += 1
        return
      default:
    }
  }

  /** What the change does to the state of the task, if it has one. */
  countMove<T>(job: Job | null, task: Task | null, now: number, change: () => T): T {
    if (job === null || task === null) return change()
    const before = statesBefore(job, task, now)
    const changed = change()
    this.moved(job.task === null, statesAround(before, job, task, now))
    return changed
  }

  /** What an entry did to the state of a plain job, or of a segment. */
  moved(isSegment: boolean, states: StatesAround): void {
    this.#moves.changed(isSegment, states)
  }

  changed(entry: Entry): void {
    this.#note(entry)
  }

  /** A command was answered with a no. Nothing is written of it, so it counts when it is answered. */
  refused({ code }: Rejection): void {
    this.#refused[code] = (this.#refused[code] ?? 0) + 1
  }

  /** `stands`: what the store says of itself now. */
  metrics(now: number, stands: Pick<Metrics, 'leases' | 'quarantined' | 'heldEffects'>): Metrics {
    const traffic: Traffic[] = []
    for (const byType of this.#byQueue.values()) {
      for (const meter of byType.values()) traffic.push(trafficOf(meter))
    }
    return {
      now,
      since: this.#since === 0 ? now : this.#since,
      entries: { ...this.#entries },
      moves: this.#moves.moves,
      refused: { ...this.#refused },
      traffic,
      durableUs: this.durableUs.distribution,
      unknownOutcomes: this.#unknown,
      suspensions: { ...this.#suspensions },
      ...stands,
    }
  }

  /** Null: nothing was counted yet. */
  totals(): Totals | null {
    return this.#since === 0
      ? null
      : totalsOf(this.metrics(this.#since, { leases: 0, quarantined: 0, heldEffects: 0 }))
  }

  #note({ type, at }: Entry, count = 1): void {
    if (this.#since === 0) this.#since = at
    this.#entries[type] = (this.#entries[type] ?? 0) + count
  }

  #meter(queue: string, type: string): Meter {
    const last = this.#last
    if (last.queue === queue && last.type === type) return last
    let byType = this.#byQueue.get(queue)
    let meter = byType?.get(type)
    if (meter === undefined) {
      if (this.#count >= MOST_METERS && queue !== OTHERS) return this.#meter(OTHERS, OTHERS)
      this.#count += 1
      if (byType === undefined) this.#byQueue.set(queue, (byType = new Map()))
      byType.set(type, (meter = new Meter(queue, type)))
    }
    this.#last = meter
    return meter
  }
}

function kindOf({ callee, ask, message }: PendingWait): keyof Metrics['suspensions'] {
  if (callee !== null) return 'call'
  if (message === null) return 'sleep'
  return ask === null ? 'message' : 'question'
}

class Meter {
  readonly queue: string
  readonly type: string
  submitted = 0
  granted = 0
  committed = 0
  failed = 0
  lost = 0
  quarantined = 0
  readonly waitMs = new Histogram()
  readonly runMs = new Histogram()

  constructor(queue: string, type: string) {
    this.queue = queue
    this.type = type
  }
}

function trafficOf({ waitMs, runMs, ...meter }: Meter): Traffic {
  return { ...meter, waitMs: waitMs.distribution, runMs: runMs.distribution }
}

const STATES = COUNTED_STATES.length
const NUMBER_OF = Object.fromEntries(COUNTED_STATES.map((state, i) => [state, i])) as Readonly<
  Record<JobState, number>
>

/** Three states in one number: after its last entry, BEFORE this one, and AFTER it. Most entries need no object. */
export type StatesAround = number

/** BEFORE an entry changes the task: the first two. */
export function statesBefore(job: Job, task: Task, now: number): number {
  const last = plainState(job, task, Math.min(task.time, now))
  return NUMBER_OF[last] * STATES + NUMBER_OF[plainState(job, task, now)]
}

/** AFTER it did. */
export function statesAround(before: number, job: Job, task: Task, now: number): StatesAround {
  return before * STATES + NUMBER_OF[plainState(job, task, now)]
}

/**
 * How often jobs went from one state to another: plain jobs, and segments of pipelines, each as if it were a plain job. What a
 * pipeline does follows from its segments, and is not counted.
 *
 * Entries make moves, and so does time: a delay, a pause before a retry or a sleep ends, and nothing is written. Such a move is
 * counted with the next entry of the task, which mostly is the grant that it was waiting for.
 */
class StateMoves {
  readonly #jobs = new Float64Array(STATES * STATES)
  readonly #segments = new Float64Array(STATES * STATES)
  /** By the state that they began in. */
  readonly #submitted = new Float64Array(STATES)

  /** `count`: of submits that are alike. */
  submitted({ spec, dueAt, at }: JobSubmitted, count: number): void {
    if (spec.policy === null) return
    const first = NUMBER_OF[spec.held || dueAt > at ? 'CREATED' : 'QUEUED']
    this.#submitted[first] = (this.#submitted[first] as number) + count
  }

  changed(isSegment: boolean, states: StatesAround): void {
    const [last, before] = [
      Math.floor(states / STATES / STATES),
      Math.floor(states / STATES) % STATES,
    ]
    const counts = isSegment ? this.#segments : this.#jobs
    const [byTime, byEntry] = [last * STATES + before, before * STATES + (states % STATES)]
    if (last !== before) counts[byTime] = (counts[byTime] as number) + 1
    if (before !== states % STATES) counts[byEntry] = (counts[byEntry] as number) + 1
  }

  /** Those that were made. */
  get moves(): readonly StateMove[] {
    const moves: StateMove[] = []
    this.#submitted.forEach((count, to) => {
      if (count > 0) moves.push({ of: 'job', from: null, to: stateOf(to), count })
    })
    for (const [of, counts] of [
      ['job', this.#jobs],
      ['segment', this.#segments],
    ] as const) {
      counts.forEach((count, i) => {
        const [from, to] = [stateOf(Math.floor(i / STATES)), stateOf(i % STATES)]
        if (count > 0) moves.push({ of, from, to, count })
      })
    }
    return moves
  }
}

function stateOf(number: number): JobState {
  return COUNTED_STATES[number] as JobState
}

/** The last one has no upper bound. */
const BUCKETS = 32
const LARGEST = 2 ** 31 - 1

/** The largest number of each bucket: 0, 1, 3, 7, 15 and so on; of the last, Infinity. */
export const BOUNDS: readonly number[] = Array.from({ length: BUCKETS }, (_, i) =>
  i === BUCKETS - 1 ? Infinity : 2 ** i - 1,
)

/**
 * How often a whole number was how large: counts in buckets that double, so that adding one costs a
 * few nanoseconds and memory is fixed.
 */
export class Histogram {
  readonly #counts = new Float64Array(BUCKETS)
  #count = 0
  #sum = 0

  /** What is below 0 counts as 0. */
  add(value: number): void {
    const whole = value > 0 ? (value < LARGEST ? Math.floor(value) : LARGEST) : 0
    const bucket = 32 - Math.clz32(whole)
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.#count += 1
    this.#sum += whole
  }

  get distribution(): Distribution {
    return { count: this.#count, sum: this.#sum, bounds: BOUNDS, counts: [...this.#counts] }
  }
}
