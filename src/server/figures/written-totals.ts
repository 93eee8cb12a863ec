/**
 * What processes wrote, by their own words, as amounts of stretches of time.
 *
 * A process says totals since it began. What two of its words differ by, it did between them, and that counts as spread evenly
 * over that time. A process that is heard for the first time began to write since the one before was heard, and all that it
 * wrote counts; or it wrote before, and what it wrote until then counts nowhere. One that falls silent takes nothing back.
 */
import type { SaidTotals } from '../../engine/presence/presence-loop.ts'
import type { Totals, TotalsDistribution } from '../../store/index.ts'
import { BOUNDS } from '../../store/index.ts'
import { BEAT_MS } from '../../engine/presence/presence-loop.ts'

export const COUNTERS = [
  'submitted',
  'granted',
  'committed',
  'failed',
  'effectsFailed',
  'lost',
  'quarantined',
] as const satisfies readonly (keyof Totals)[]

const BUCKETS = BOUNDS.length
/** Of a distribution: how many, their sum, and how many in each bucket. */
const DISTRIBUTION = 2 + BUCKETS
export const WAIT_AT = COUNTERS.length
export const RUN_AT = WAIT_AT + DISTRIBUTION
/** Numbers of one amount. */
export const AMOUNT_WIDTH = RUN_AT + DISTRIBUTION

/** Longer ago, a process that was never heard cannot have begun: it was heard, and forgotten. */
const NEW_MS = 60_000
/** For so long a process is remembered that says nothing. */
const REMEMBERED_MS = 3_600_000
const MOST_REMEMBERED = 1_000
/** What a process that lives said is not older: a beat, and half of one more. */
const LATEST_MS = 1.5 * BEAT_MS
/** Over how long a flow is taken: short enough to be live, long enough to be read. */
export const FLOW_MS = 10_000

interface Word {
  readonly at: number
  readonly numbers: Float64Array
  readonly moves: Readonly<Record<string, number>>
}

interface KnownProcess {
  readonly since: number
  /** The newest last; back to one that is as old as a flow is long. */
  words: readonly Word[]
}

/** What was done between two times. */
export interface Amount {
  readonly from: number
  readonly to: number
  readonly numbers: Float64Array
}

export interface Flow {
  readonly seconds: number
  /** By the name of a move, how many a second. */
  readonly rates: ReadonlyMap<string, number>
}

export class WrittenTotals {
  readonly #processes = new Map<string, KnownProcess>()
  #startedAt: number | null = null
  #heardAt = 0

  /** What was done since the words before. `now`: never before the time of the call before. */
  hear(said: readonly SaidTotals[], now: number): Amount[] {
    this.#startedAt ??= now
    this.#heardAt = now
    const amounts = said.flatMap(({ name, at, totals }) => {
      const word = { at: Math.min(at, now), numbers: numbersOf(totals), moves: totals.moves ?? {} }
      return this.#note(name, totals.since, word)
    })
    this.#forgetSilent(now)
    return amounts
  }

  /** Of processes that said something within a beat. */
  get processes(): number {
    return this.#living().length
  }

  /** Up to then all is known of the processes that live. */
  get knownUntil(): number {
    return Math.min(this.#heardAt, ...this.#living().map(newestOf))
  }

  /** What moved in the newest ten seconds that each process told of. */
  get flow(): Flow {
    const rates = new Map<string, number>()
    let longestMs = Math.min(FLOW_MS, this.#heardAt - (this.#startedAt ?? this.#heardAt))
    for (const { words } of this.#living()) {
      const [last, first] = [words.at(-1) as Word, words[0] as Word]
      if (first === last) continue
      // One that has just begun did nothing for the rest of the time.
      const isNew = first.numbers.every((one) => one === 0)
      const ms = isNew ? Math.max(FLOW_MS, last.at - first.at) : last.at - first.at
      longestMs = Math.max(longestMs, ms)
      for (const [move, count] of Object.entries(last.moves)) {
        const rate = (count - (first.moves[move] ?? 0)) / (ms / 1_000)
        if (rate > 0) rates.set(move, (rates.get(move) ?? 0) + rate)
      }
    }
    return { seconds: longestMs / 1_000, rates }
  }

  #note(name: string, since: number, word: Word): Amount[] {
    const known = this.#processes.get(name)
    // Under a name that it had before, a process that counts from nothing is another one.
    const before = known?.since === since ? known.words : this.#wordsBefore(since, word.at)
    const last = before.at(-1)
    if (last !== undefined && word.at <= last.at) return []
    const words = [...before, word]
    const first = words.findLastIndex(({ at }) => at <= word.at - FLOW_MS)
    this.#processes.delete(name)
    this.#processes.set(name, { since, words: words.slice(Math.max(0, first)) })
    return last === undefined ? [] : [{ from: last.at, to: word.at, numbers: less(word, last) }]
  }

  /** Of a process that was not known: that it had done nothing when it began, if that was since others were heard. */
  #wordsBefore(since: number, at: number): readonly Word[] {
    if (since < Math.max(this.#startedAt as number, at - NEW_MS)) return []
    const numbers = new Float64Array(AMOUNT_WIDTH)
    return [{ at: Math.min(since, at - 1), numbers, moves: {} }]
  }

  #living(): KnownProcess[] {
    return [...this.#processes.values()].filter((one) => newestOf(one) > this.#heardAt - LATEST_MS)
  }

  /** Those that said something last are at the end. */
  #forgetSilent(now: number): void {
    for (const [name, one] of this.#processes) {
      const isOne = this.#processes.size > MOST_REMEMBERED || newestOf(one) < now - REMEMBERED_MS
      if (!isOne) return
      this.#processes.delete(name)
    }
  }
}

function newestOf({ words }: KnownProcess): number {
  return (words.at(-1) as Word).at
}

/** Another version of Pawl may leave some out. */
function numbersOf(totals: Totals): Float64Array {
  const numbers = new Float64Array(AMOUNT_WIDTH)
  COUNTERS.forEach((name, i) => (numbers[i] = totals[name] ?? 0))
  putDistribution(numbers, WAIT_AT, totals.waitMs)
  putDistribution(numbers, RUN_AT, totals.runMs)
  return numbers
}

function putDistribution(
  numbers: Float64Array,
  at: number,
  distribution: TotalsDistribution | undefined,
): void {
  const { count = 0, sum = 0, counts = [] } = distribution ?? {}
  numbers.set([count, sum, ...counts.slice(0, BUCKETS)], at)
}

function less({ numbers }: Word, { numbers: before }: Word): Float64Array {
  return numbers.map((one, i) => Math.max(0, one - (before[i] as number)))
}
