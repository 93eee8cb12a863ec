/**
 * What was done, and what waited, in the last day: of the newest quarter of an hour for each two seconds, and of the time before
 * for each minute. What leaves the one is folded into the other: amounts are added, and of what waited the most is kept.
 *
 * Two seconds are known if the server looked BEFORE they began and AFTER they ended, and nothing failed in between. What is not
 * known is a hole, whatever processes later say that they did then.
 *
 * Memory is taken once: 1.2 MB, and 30 kB for each queue, of 40 at the most.
 */
import type { SaidTotals } from '../../engine/presence/presence-loop.ts'
import { TimeRing } from './time-ring.ts'
import type { Amount, Flow } from './written-totals.ts'
import { AMOUNT_WIDTH, WrittenTotals } from './written-totals.ts'

/** What is in a queue now. */
export interface QueueLoad {
  readonly queue: string
  readonly waiting: number
  /** For how long the oldest has been due. */
  readonly oldestMs: number
}

export interface Sample {
  /** The authority's time. */
  readonly at: number
  readonly said: readonly SaidTotals[]
  readonly queues: readonly QueueLoad[]
}

/** How what is kept is cut: into so many steps of the same length, the newest. */
export interface StepTerms {
  readonly stepMs: number
  readonly count: number
}

/** Steps begin at multiples of their length; the last one may not be over. */
export interface Steps {
  readonly stepMs: number
  /** Which is the first; counted from 1970. */
  readonly first: number
  /** When each ends. */
  readonly ends: readonly number[]
}

export interface AmountOfStep {
  /** How much of the step is known; 0: nothing. */
  readonly knownMs: number
  /** As `written-totals.ts` lays them out. */
  readonly numbers: Float64Array
}

export interface QueueHistory {
  readonly queue: string
  /** False: it is gone, and had a history. */
  readonly isThere: boolean
  readonly waitingNow: number
  readonly waiting: readonly (number | null)[]
  readonly oldestMs: readonly (number | null)[]
}

const PERIOD_MS = 2_000
/** A quarter of an hour, and as much as the newest may be late. */
const FINE = { periodMs: PERIOD_MS, length: 466 }
/** A day, and a step more. */
const COARSE = { periodMs: 60_000, length: 1_452 }
/** Samples that are further apart have a hole between them: the process stood still, or its clock was set. */
const LONGEST_GAP_MS = 30_000
/** Of an amount: how much of the period is known, and then the numbers. */
const AMOUNTS = { width: 1 + AMOUNT_WIDTH, empty: 0 }
const UNKNOWN = -1
/** Of a queue: how many wait, and for how long the oldest has been due. */
const READINGS = { width: 2, empty: UNKNOWN }
const MOST_QUEUES = 40

export class FigureHistory {
  readonly #totals = new WrittenTotals()
  readonly #amounts = new FoldedRing(AMOUNTS, addTo)
  readonly #queues = new Map<string, KeptQueue>()
  #queueCount = 0
  #startedAt: number | null = null
  #lastAt = -Infinity
  /** From here to the last sample there is no hole; null: a sample was missed since. */
  #wholeFrom: number | null = null

  /** From when on anything is known: of the first two seconds that began AFTER the first sample; null: there is none. */
  get knownFrom(): number | null {
    return this.#startedAt === null ? null : Math.ceil(this.#startedAt / PERIOD_MS) * PERIOD_MS
  }

  /** When the last sample came. */
  get lastAt(): number {
    return this.#lastAt
  }

  /** That wrote something and live. */
  get processes(): number {
    return this.#totals.processes
  }

  get flow(): Flow {
    return this.#totals.flow
  }

  /** How many queues there were when the last sample came. */
  get queueCount(): number {
    return this.#queueCount
  }

  /** One that is not newer than the last says nothing. */
  add({ at, said, queues }: Sample): void {
    if (at <= this.#lastAt) return
    this.#startedAt ??= at
    if (at - this.#lastAt > LONGEST_GAP_MS) this.#wholeFrom = null
    const from = this.#wholeFrom === null ? at : this.#lastAt
    this.#wholeFrom ??= at
    this.#lastAt = at
    this.#amounts.advance(at)
    this.#noteKnown(from, at)
    for (const amount of this.#totals.hear(said, at)) this.#spread(amount)
    this.#noteQueues(queues, from, at)
  }

  /** The store could not be asked: between the last sample and the next there is a hole. */
  missed(): void {
    this.#wholeFrom = null
  }

  /** Up to when all is known, and from when anything is. */
  steps({ stepMs, count }: StepTerms): Steps {
    const end = Math.floor(this.#totals.knownUntil / PERIOD_MS) * PERIOD_MS
    const start = this.knownFrom ?? end
    const last = Math.ceil(end / stepMs) - 1
    const first = Math.max(last - count + 1, Math.floor(start / stepMs))
    const length = start < end ? last - first + 1 : 0
    const ends = Array.from({ length }, (_, i) => Math.min((first + i + 1) * stepMs, end))
    return { stepMs, first, ends }
  }

  /** What was done in each step. */
  amounts(steps: Steps): readonly AmountOfStep[] {
    return this.#amounts.fold(steps).map((sum) => {
      return { knownMs: sum[0] as number, numbers: sum.subarray(1) }
    })
  }

  /** Of the queues that are kept: those in which most waits come first. */
  queues(steps: Steps): readonly QueueHistory[] {
    return [...this.#queues]
      .map(([queue, { ring, waiting, isThere }]): QueueHistory => {
        const most = ring.fold(steps)
        const line = (at: number) =>
          most.map((one) => (one[at] === UNKNOWN ? null : (one[at] as number)))
        return { queue, isThere, waitingNow: waiting, waiting: line(0), oldestMs: line(1) }
      })
      .toSorted((a, b) => b.waitingNow - a.waitingNow || mostIn(b.waiting) - mostIn(a.waiting))
  }

  #noteKnown(from: number, at: number): void {
    for (const [period, numbers] of this.#amounts.between(from, at)) {
      const [begin, end] = [period * PERIOD_MS, (period + 1) * PERIOD_MS]
      if (begin >= (this.#wholeFrom as number) && end <= at) numbers[0] = PERIOD_MS
    }
  }

  /** Evenly over its time, as far as that is kept in detail. */
  #spread({ from: began, to, numbers }: Amount): void {
    const from = Math.max(Math.min(began, to - 1), to - FINE.length * PERIOD_MS)
    for (const [period, sums] of this.#amounts.between(from, to)) {
      const begin = period * PERIOD_MS
      const ms = Math.min(to, begin + PERIOD_MS) - Math.max(from, begin)
      const share = ms / (to - from)
      numbers.forEach((one, i) => (sums[1 + i] = (sums[1 + i] as number) + one * share))
    }
  }

  #noteQueues(readings: readonly QueueLoad[], from: number, at: number): void {
    this.#queueCount = readings.length
    const known = new Map(readings.map((one) => [one.queue, one]))
    const chosen = this.#chosen(readings)
    for (const queue of chosen) {
      if (!this.#queues.has(queue)) this.#makeRoom(known, chosen)
      const kept = this.#queues.get(queue) ?? newQueue()
      this.#queues.set(queue, kept)
    }
    for (const [queue, kept] of this.#queues) {
      // A queue that is not there any more has nothing in it.
      const { waiting = 0, oldestMs = 0 } = known.get(queue) ?? {}
      kept.waiting = waiting
      kept.isThere = known.has(queue)
      kept.ring.advance(at)
      for (const [, most] of kept.ring.between(from, at)) mostOf(most, [waiting, oldestMs])
    }
  }

  /** Those in which most waits, and of the others those that are kept already. */
  #chosen(readings: readonly QueueLoad[]): ReadonlySet<string> {
    const most = readings
      .toSorted((a, b) => b.waiting - a.waiting || this.#isKept(b) - this.#isKept(a))
      .slice(0, MOST_QUEUES)
    return new Set(most.map(({ queue }) => queue))
  }

  #isKept({ queue }: QueueLoad): number {
    return this.#queues.has(queue) ? 1 : 0
  }

  /** For another queue, in which more waits: of those that are not chosen, the one in which least does goes. */
  #makeRoom(known: ReadonlyMap<string, QueueLoad>, chosen: ReadonlySet<string>): void {
    if (this.#queues.size < MOST_QUEUES) return
    const waiting = (queue: string): number => known.get(queue)?.waiting ?? -1
    const others = [...this.#queues.keys()].filter((queue) => !chosen.has(queue))
    const [least] = others.toSorted((a, b) => waiting(a) - waiting(b))
    this.#queues.delete(least as string)
  }
}

interface KeptQueue {
  readonly ring: FoldedRing
  waiting: number
  isThere: boolean
}

function newQueue(): KeptQueue {
  return { ring: new FoldedRing(READINGS, mostOf), waiting: 0, isThere: true }
}

type Fold = (into: Float64Array, numbers: ArrayLike<number>) => void

/** Of the newest time each two seconds, and of the time before each minute. */
class FoldedRing {
  readonly #fine: TimeRing
  readonly #coarse: TimeRing
  readonly #terms: { readonly width: number; readonly empty: number }
  readonly #fold: Fold

  constructor(terms: { readonly width: number; readonly empty: number }, fold: Fold) {
    this.#terms = terms
    this.#fold = fold
    this.#fine = new TimeRing({ ...FINE, ...terms })
    this.#coarse = new TimeRing({ ...COARSE, ...terms })
  }

  /** Time is here. */
  advance(at: number): void {
    this.#fine.advance(this.#fine.periodOf(at), (period, numbers) => {
      const minute = this.#coarse.periodOf(period * PERIOD_MS)
      this.#coarse.advance(minute)
      const sums = this.#coarse.of(minute)
      if (sums !== null) this.#fold(sums, numbers)
    })
  }

  /** Those of the newest time that begin BEFORE `to`, and end AFTER `from`. */
  *between(from: number, to: number): IterableIterator<[period: number, numbers: Float64Array]> {
    for (let period = this.#fine.periodOf(from); period * PERIOD_MS < to; period++) {
      const numbers = this.#fine.of(period)
      if (numbers !== null) yield [period, numbers]
    }
  }

  /** What each step comes to. */
  fold({ stepMs, first, ends }: Steps): readonly Float64Array[] {
    const { width, empty } = this.#terms
    const steps = ends.map(() => new Float64Array(width).fill(empty))
    const end = ends.at(-1) ?? 0
    for (const ring of [this.#coarse, this.#fine]) {
      for (const [period, numbers] of ring.periods()) {
        const begin = period * ring.periodMs
        const step = steps[Math.floor(begin / stepMs) - first]
        if (step !== undefined && begin < end) this.#fold(step, numbers)
      }
    }
    return steps
  }
}

/** What is not known to be all is left out. */
function addTo(sums: Float64Array, numbers: ArrayLike<number>): void {
  if (numbers[0] === 0) return
  for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] as number) + (numbers[i] as number)
}

function mostOf(most: Float64Array, numbers: ArrayLike<number>): void {
  for (let i = 0; i < most.length; i++) {
    most[i] = Math.max(most[i] as number, numbers[i] as number)
  }
}

function mostIn(line: readonly (number | null)[]): number {
  return line.reduce<number>((most, one) => Math.max(most, one ?? 0), 0)
}
