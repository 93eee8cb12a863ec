/**
 * What the engine and its queues said at the times that this page asked. The engine counts since it was opened; a figure over
 * time is what two samples differ by. They are kept while the page is open, whichever view it shows.
 */
import { signal } from '@preact/signals'
import type { JobState } from '../../../kernel/index.ts'
import type { AnswerOf } from '../api.ts'
import { quantile } from './distribution.ts'

type SentMetrics = AnswerOf<'metrics'>
type SentQueues = AnswerOf<'queues.list'>['queues']

/** How many were how long, in the buckets of the engine. */
interface Durations {
  readonly count: number
  readonly sum: number
  readonly counts: readonly number[]
  readonly bounds: readonly (number | null)[]
}

export interface QueueSample {
  readonly waiting: number
  /** For how long the oldest that waits has been due. */
  readonly oldestMs: number
}

export interface Sample {
  readonly at: number
  /** When the engine began to count: after that it counts from nothing. */
  readonly since: string
  readonly entries: Readonly<Partial<Record<string, number>>>
  /** By what moves, from where and to where. */
  readonly moves: ReadonlyMap<string, number>
  readonly waitMs: Durations
  readonly runMs: Durations
  readonly givenUp: number
  /** Null: they were not asked for with it. */
  readonly queues: ReadonlyMap<string, QueueSample> | null
}

/** A quarter of an hour, asked every two seconds. */
const MOST = 450

export const samples = signal<readonly Sample[]>([])

export function addSample(metrics: SentMetrics, queues: SentQueues | null): void {
  samples.value = withSample(samples.value, sampleOf(metrics, queues))
}

export function withSample(before: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = before.at(-1)
  if (last === undefined || last.since !== sample.since) return [sample]
  return sample.at <= last.at ? before : [...before, sample].slice(-MOST)
}

export function sampleOf(metrics: SentMetrics, queues: SentQueues | null): Sample {
  const { now, since, entries, moves, traffic } = metrics
  const at = Date.parse(now)
  return {
    at,
    since,
    entries,
    moves: new Map(moves.map(({ of, from, to, count }) => [moveName(of, from, to), count])),
    waitMs: added(traffic.map(({ waitMs }) => waitMs)),
    runMs: added(traffic.map(({ runMs }) => runMs)),
    givenUp: traffic.reduce((sum, { quarantined }) => sum + quarantined, 0),
    queues: queues === null ? null : readingsOf(queues, at),
  }
}

function readingsOf(queues: SentQueues, now: number): ReadonlyMap<string, QueueSample> {
  return new Map(
    queues.map(({ name, states, segments, oldestDueAt }) => {
      const oldestMs = oldestDueAt === null ? 0 : Math.max(0, now - Date.parse(oldestDueAt))
      return [name, { waiting: states.QUEUED + segments.ready, oldestMs }]
    }),
  )
}

function added(all: readonly Durations[]): Durations {
  const counts: number[] = []
  let [count, sum] = [0, 0]
  for (const one of all) {
    count += one.count
    sum += one.sum
    one.counts.forEach((more, i) => (counts[i] = (counts[i] ?? 0) + more))
  }
  return { count, sum, counts, bounds: all[0]?.bounds ?? [] }
}

function moveName(of: 'job' | 'segment', from: JobState | null, to: JobState): string {
  return `${of} ${from ?? ''} ${to}`
}

/** Of what follows: one less than there are samples. */
export function timesOf(all: readonly Sample[]): readonly number[] {
  return all.slice(1).map(({ at }) => at)
}

function perSecond(all: readonly Sample[], value: (one: Sample) => number): readonly number[] {
  return all.slice(1).map((one, i) => rateBetween(all[i] as Sample, one, value))
}

function rateBetween(from: Sample, to: Sample, value: (one: Sample) => number): number {
  return (value(to) - value(from)) / Math.max(0.001, (to.at - from.at) / 1_000)
}

/** Entries of these types, a second, between two samples each. */
export function rates(all: readonly Sample[], types: readonly string[]): readonly number[] {
  return perSecond(all, ({ entries }) => types.reduce((sum, type) => sum + (entries[type] ?? 0), 0))
}

/** Tasks that were given up, a second, between two samples each. */
export function givenUpRates(all: readonly Sample[]): readonly number[] {
  return perSecond(all, ({ givenUp }) => givenUp)
}

/** The mean of what there was between two samples each; null: there was nothing. */
export function means(all: readonly Sample[], of: 'waitMs' | 'runMs'): readonly (number | null)[] {
  return between(all, of, ({ count, sum }) => (count === 0 ? null : sum / count))
}

/** How long at the most 95 % of them took, as the buckets know it. */
export function mostly(all: readonly Sample[], of: 'waitMs' | 'runMs'): readonly (number | null)[] {
  return between(all, of, (durations) => quantile(durations, 0.95))
}

function between<T>(
  all: readonly Sample[],
  of: 'waitMs' | 'runMs',
  value: (durations: Durations) => T,
): readonly T[] {
  return all.slice(1).map((one, i) => {
    const [from, to] = [(all[i] as Sample)[of], one[of]]
    return value({
      ...to,
      count: to.count - from.count,
      sum: to.sum - from.sum,
      counts: to.counts.map((count, bucket) => count - (from.counts[bucket] ?? 0)),
    })
  })
}

/** Over how long a flow is taken: short enough to be live, long enough to be read. */
const FLOW_MS = 10_000

export interface Flow {
  /** Over how many seconds; 0: there are no two samples yet. */
  readonly seconds: number
  /** How many a second went from one state to another. `from`: null: they were submitted. */
  readonly rate: (of: 'job' | 'segment', from: JobState | null, to: JobState) => number
}

export function flowOf(all: readonly Sample[]): Flow {
  const last = all.at(-1)
  const first = all.find(({ at }) => last !== undefined && at >= last.at - FLOW_MS)
  if (last === undefined || first === undefined || first === last) {
    return { seconds: 0, rate: () => 0 }
  }
  return {
    seconds: (last.at - first.at) / 1_000,
    rate: (of, from, to) =>
      rateBetween(first, last, ({ moves }) => moves.get(moveName(of, from, to)) ?? 0),
  }
}

const SPARK_SAMPLES = 60

/** Of one queue, where it was asked for. */
export function queueHistory(
  all: readonly Sample[],
  queue: string,
  value: (reading: QueueSample) => number,
): readonly number[] {
  return all.slice(-SPARK_SAMPLES).flatMap(({ queues }) => {
    if (queues === null) return []
    const reading = queues.get(queue)
    return [reading === undefined ? 0 : value(reading)]
  })
}

export function rateText(rate: number): string {
  if (rate === 0) return '0'
  if (rate >= 10) return Math.round(rate).toLocaleString('en')
  return rate >= 0.1 ? rate.toFixed(1) : '< 0.1'
}
