/**
 * What is known of an engine, as families. Everything is asked when it is wanted: between two questions nothing is done.
 *
 * What is counted, this process did. What stands in the store (jobs, queues, workers) says the same whichever process is
 * asked.
 */
import type { EngineMetrics, Health, Pawl, QueueListItem, WorkerInfo } from '../../engine/index.ts'
import type { JobState } from '../../kernel/index.ts'
import type { Distribution, Traffic } from '../../store/index.ts'
import type { LabelBound } from './label-bound.ts'
import { OTHER_NAMES } from './label-bound.ts'
import type { LoopDelay } from './event-loop-port.ts'
import type { MetricDistribution, MetricFamily, MetricSample } from './metric-family.ts'
import type { MetricName } from './metric-names.ts'
import { METRIC_NAMES, METRIC_TERMS } from './metric-names.ts'

/** What the store said of itself. */
export interface StoreReading {
  readonly metrics: EngineMetrics
  readonly states: Readonly<Record<JobState, number>>
  readonly queues: readonly QueueListItem[]
  readonly workers: readonly WorkerInfo[]
  /** When jobs in quarantine were given up. */
  readonly quarantinedSince: readonly Date[]
}

const OLDEST_LOOKED = 100

export async function readStore(pawl: Pawl): Promise<StoreReading> {
  const [metrics, { states }, queues, workers, { jobs }] = await Promise.all([
    pawl.metrics(),
    pawl.counts(),
    pawl.queues(),
    pawl.workers(),
    pawl.quarantine.list({ limit: OLDEST_LOOKED }),
  ])
  return { metrics, states, queues, workers, quarantinedSince: jobs.map(({ since }) => since) }
}

export interface ReadFamilies {
  /** Null: the store cannot be reached. */
  readonly store: StoreReading | null
  readonly health: Health
  readonly delays: readonly LoopDelay[]
  /** Of pairs of queue and type, and of queues. */
  readonly bounds: { readonly pairs: LabelBound; readonly queues: LabelBound }
}

type Values = Partial<Record<MetricName, readonly MetricSample[]>>
type Distributions = Partial<Record<MetricName, readonly MetricDistribution[]>>

export function familiesOf({ store, health, delays, bounds }: ReadFamilies): MetricFamily[] {
  const traffic = store === null ? [] : boundedTraffic(store.metrics.traffic, bounds.pairs)
  const values: Values = {
    pawl_store_up: one(store === null ? 0 : 1),
    pawl_event_loop_delay_seconds: delays.map(({ quantile, seconds }) =>
      sample(seconds, { quantile }),
    ),
    pawl_stalled_tasks: one(health.stalled.length),
    pawl_unserved_jobs: one(sumOf(health.unserved, ({ count }) => count)),
    pawl_invariant_violations: one(health.broken.length),
    ...(store === null ? {} : countersOf(store.metrics, traffic)),
    ...(store === null ? {} : gaugesOf(store, bounds.queues)),
  }
  const distributions: Distributions =
    store === null ? {} : timingsOf(store.metrics.durableUs, traffic)
  return METRIC_NAMES.flatMap((name): MetricFamily[] => {
    const { type, help } = METRIC_TERMS[name]
    const [samples, histograms] = [values[name] ?? [], distributions[name] ?? []]
    const isEmpty = samples.length + histograms.length === 0
    return isEmpty ? [] : [{ name, type, help, samples, distributions: histograms }]
  })
}

function sample(value: number, labels: Readonly<Record<string, string>> = {}): MetricSample {
  return { labels, value }
}

function one(value: number): MetricSample[] {
  return [sample(value)]
}

function sumOf<T>(of: Iterable<T>, value: (one: T) => number): number {
  let sum = 0
  for (const item of of) sum += value(item)
  return sum
}

function countersOf(metrics: EngineMetrics, traffic: readonly Traffic[]): Values {
  const byPair = (count: (one: Traffic) => number): MetricSample[] =>
    traffic.map((pair) => sample(count(pair), labelsOf(pair)))
  return {
    pawl_counting_since_seconds: one(metrics.since.getTime() / 1_000),
    pawl_entries_total: Object.entries(metrics.entries).map(([entry, count]) =>
      sample(count, { entry }),
    ),
    pawl_refused_total: Object.entries(metrics.refused).map(([code, count]) =>
      sample(count, { code }),
    ),
    pawl_jobs_submitted_total: byPair(({ submitted }) => submitted),
    pawl_attempts_started_total: byPair(({ granted }) => granted),
    pawl_attempts_committed_total: byPair(({ committed }) => committed),
    pawl_attempts_failed_total: byPair(({ failed }) => failed),
    pawl_leases_lost_total: byPair(({ lost }) => lost),
    pawl_quarantined_total: byPair(({ quarantined }) => quarantined),
    pawl_stale_reports_total: one(metrics.entries.ReportRefused ?? 0),
    pawl_unknown_outcomes_total: one(metrics.unknownOutcomes),
    pawl_suspensions_total: Object.entries(metrics.suspensions).map(([kind, count]) =>
      sample(count, { kind }),
    ),
  }
}

function gaugesOf(
  { metrics, states, queues, workers, quarantinedSince }: StoreReading,
  bound: LabelBound,
): Values {
  const now = metrics.now.getTime()
  const ageOf = (since: Date | null): number =>
    since === null ? 0 : Math.max(0, now - since.getTime()) / 1_000
  const known = boundedQueues(queues, bound, ageOf)
  const byQueue = (value: (one: QueueReading) => number): MetricSample[] =>
    known.map((queue) => sample(value(queue), { queue: queue.name }))
  const draining = sumOf(workers, ({ isDraining }) => (isDraining ? 1 : 0))
  return {
    pawl_jobs: Object.entries(states).map(([state, count]) => sample(count, { state })),
    pawl_queue_jobs: known.flatMap(({ name, jobs }) =>
      NOT_OVER.map((state) => sample(jobs[state] ?? 0, { queue: name, state })),
    ),
    pawl_queue_waiting: byQueue(({ waiting }) => waiting),
    pawl_queue_running: byQueue(({ running }) => running),
    pawl_queue_oldest_seconds: byQueue(({ oldest }) => oldest),
    pawl_queue_paused: byQueue(({ paused }) => paused),
    pawl_leases: one(metrics.leases),
    pawl_workers: [
      sample(workers.length - draining, { state: 'working' }),
      sample(draining, { state: 'draining' }),
    ],
    pawl_slots: [
      sample(
        sumOf(workers, ({ used }) => used),
        { state: 'used' },
      ),
      sample(
        sumOf(workers, ({ free }) => free),
        { state: 'free' },
      ),
    ],
    pawl_quarantine_jobs: one(metrics.quarantined),
    pawl_held_effect_jobs: one(metrics.heldEffects),
    pawl_quarantine_oldest_seconds: one(Math.max(0, ...quarantinedSince.map(ageOf))),
  }
}

const NOT_OVER = ['CREATED', 'QUEUED', 'RUNNING', 'SUSPENDED', 'RETRYING', 'QUARANTINED'] as const

interface QueueReading {
  readonly name: string
  readonly jobs: Partial<Record<JobState, number>>
  waiting: number
  running: number
  /** In seconds. */
  oldest: number
  paused: number
}

/** Those without a name of their own are one. */
function boundedQueues(
  queues: readonly QueueListItem[],
  bound: LabelBound,
  ageOf: (since: Date | null) => number,
): readonly QueueReading[] {
  const byName = new Map<string, QueueReading>()
  for (const { name: full, states, segments, oldestDueAt, pausedAt } of queues) {
    const name = bound.admits(full) ? full : OTHER_NAMES
    const known = byName.get(name) ?? newReading(name)
    byName.set(name, known)
    for (const state of NOT_OVER) known.jobs[state] = (known.jobs[state] ?? 0) + states[state]
    known.waiting += states.QUEUED + segments.ready
    known.running += states.RUNNING + segments.running
    known.oldest = Math.max(known.oldest, ageOf(oldestDueAt))
    if (pausedAt !== null) known.paused = 1
  }
  return [...byName.values()]
}

function newReading(name: string): QueueReading {
  return { name, jobs: {}, waiting: 0, running: 0, oldest: 0, paused: 0 }
}

function labelsOf({ queue, type }: Traffic): Readonly<Record<string, string>> {
  return { queue, type }
}

/** Those without a name of their own are one. */
function boundedTraffic(traffic: readonly Traffic[], bound: LabelBound): readonly Traffic[] {
  const named: Traffic[] = []
  let others: Traffic | null = null
  for (const pair of traffic) {
    if (bound.admits(JSON.stringify([pair.queue, pair.type]))) named.push(pair)
    else others = others === null ? withoutName(pair) : together(others, pair)
  }
  return others === null ? named : [...named, others]
}

function withoutName(pair: Traffic): Traffic {
  return { ...pair, queue: OTHER_NAMES, type: OTHER_NAMES }
}

function together(a: Traffic, b: Traffic): Traffic {
  return {
    ...a,
    submitted: a.submitted + b.submitted,
    granted: a.granted + b.granted,
    committed: a.committed + b.committed,
    failed: a.failed + b.failed,
    lost: a.lost + b.lost,
    quarantined: a.quarantined + b.quarantined,
    waitMs: added(a.waitMs, b.waitMs),
    runMs: added(a.runMs, b.runMs),
  }
}

function added(a: Distribution, b: Distribution): Distribution {
  return {
    ...a,
    count: a.count + b.count,
    sum: a.sum + b.sum,
    counts: a.counts.map((count, i) => count + (b.counts[i] ?? 0)),
  }
}

/** The buckets that are shown, of those that the engine counts: the powers of two of their bounds. */
const SHOWN_MS = new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22])
const SHOWN_US = new Set([6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 22])
const MS = 1_000
const US = 1_000_000

function timingsOf(durableUs: Distribution, traffic: readonly Traffic[]): Distributions {
  return {
    pawl_wait_seconds: traffic.map((pair) => inSeconds(pair.waitMs, MS, SHOWN_MS, labelsOf(pair))),
    pawl_run_seconds: traffic.map((pair) => inSeconds(pair.runMs, MS, SHOWN_MS, labelsOf(pair))),
    pawl_sync_seconds: [inSeconds(durableUs, US, SHOWN_US, {})],
  }
}

function inSeconds(
  { count, sum, bounds, counts }: Distribution,
  perSecond: number,
  shown: ReadonlySet<number>,
  labels: Readonly<Record<string, string>>,
): MetricDistribution {
  const buckets: { atMost: number; count: number }[] = []
  let upTo = 0
  bounds.forEach((bound, i) => {
    upTo += counts[i] ?? 0
    if (shown.has(i)) buckets.push({ atMost: bound / perSecond, count: upTo })
  })
  return { labels, count, sum: sum / perSecond, buckets }
}
