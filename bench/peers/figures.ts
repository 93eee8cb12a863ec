/**
 * The tables of queues beside each other: what each came to, and Pawl against each of the others.
 */
import { median, ratioOf, ratioText } from '../ratio.ts'
import { table, whole } from '../table.ts'
import type { StepReport } from '../workload/steps.ts'
import type { Bar } from './chart.ts'

/** A queue through the workloads: a report of each round, undefined where it failed. */
export interface Measured {
  readonly name: string
  readonly isPawl: boolean
  readonly isSynced: boolean
  readonly reports: Readonly<Record<string, readonly (StepReport | undefined)[]>>
}

const NOTHING = '–'

type Figure = (report: StepReport) => number | undefined

/** What is compared: milliseconds a job, or until its handler starts. */
const cost: Figure = ({ jobs, wallMs, p50Ms }) =>
  wallMs === undefined || jobs === undefined ? p50Ms : wallMs / jobs

const perSecond: Figure = ({ jobs, wallMs }) =>
  wallMs === undefined || jobs === undefined ? undefined : (jobs / wallMs) * 1e3

const cpuUsPerJob: Figure = ({ jobs, cpuUs, serverCpuUs = 0 }) =>
  cpuUs === undefined || jobs === undefined ? undefined : (cpuUs + serverCpuUs) / jobs

/** Medians, with the lowest and the highest of all rounds. */
export function figuresTable(all: readonly Measured[], workloads: readonly string[]): string[] {
  const head = workloads.map((workload) =>
    workload === 'latency' ? 'latency p50 / p99 ms' : `${workload}/s`,
  )
  const rows = all.map(({ name, isSynced, reports }) => [
    name,
    isSynced ? 'yes' : 'no',
    ...workloads.map((workload) => {
      const given = reports[workload] ?? []
      if (workload !== 'latency') return spreadText(valuesOf(given, perSecond))
      const p50 = valuesOf(given, ({ p50Ms }) => p50Ms)
      const p99 = valuesOf(given, ({ p99Ms }) => p99Ms)
      return p50.length === 0 ? NOTHING : `${median(p50).toFixed(1)} / ${median(p99).toFixed(1)}`
    }),
  ])
  return table(['', 'synced', ...head], rows)
}

/** How many times as quick Pawl is: above 1, it is the quicker one. */
export function ratiosTable(
  pawl: Measured,
  all: readonly Measured[],
  workloads: readonly string[],
): string[] {
  const rows = all
    .filter(({ isPawl }) => !isPawl)
    .map(({ name, reports }) => {
      const ratios = workloads.map((workload) => {
        const [theirs, ours] = [reports[workload] ?? [], pawl.reports[workload] ?? []]
        return ratioText(ratioOf(theirs.map(costOf), ours.map(costOf)))
      })
      return [name].concat(ratios)
    })
  return table([`${pawl.name} against`, ...workloads], rows)
}

/** Time on a core, of the process and of its server, which a busy machine blurs less. */
export function cpuTable(all: readonly Measured[], workloads: readonly string[]): string[] {
  const rows = all.map(({ name, reports }) => [
    name,
    ...workloads.map((workload) => spreadText(valuesOf(reports[workload] ?? [], cpuUsPerJob))),
  ])
  return table(['CPU µs/job', ...workloads], rows)
}

/** What a long queue does to the pace of each; 1: nothing. */
export function backlogTable(all: readonly Measured[]): string[] {
  const rows = all.map(({ name, reports: { of20k = [], of200k = [] } }) => {
    return [name, ratioText(ratioOf(of20k.map(costOf), of200k.map(costOf)))]
  })
  return table(['', 'of 200k / of 20k'], rows)
}

/** Of a chart: synced queues only, the quickest first; of the latency, the time at p99. */
export function barsOf(all: readonly Measured[], workload: string): Bar[] {
  const isLatency = workload === 'latency'
  const bars = all
    .filter(({ isSynced }) => isSynced)
    .flatMap(({ name, isPawl, reports }) => {
      const figure: Figure = isLatency ? ({ p99Ms }) => p99Ms : perSecond
      const values = valuesOf(reports[workload] ?? [], figure)
      if (values.length === 0) return []
      const value = median(values)
      const label = isLatency ? `${value.toFixed(1)} ms` : `${whole(value)}/s`
      return [{ name, value, label, isPawl }]
    })
  return bars.toSorted((a, b) => (isLatency ? a.value - b.value : b.value - a.value))
}

function costOf(report: StepReport | undefined): number | undefined {
  return report === undefined ? undefined : cost(report)
}

function valuesOf(reports: readonly (StepReport | undefined)[], figure: Figure): number[] {
  return reports
    .map((report) => (report === undefined ? undefined : figure(report)))
    .filter((value) => value !== undefined)
}

function spreadText(values: readonly number[]): string {
  if (values.length === 0) return NOTHING
  const [least, most] = [Math.min(...values), Math.max(...values)].map(whole)
  const middle = whole(median(values))
  return least === most ? middle : `${middle} (${least}–${most})`
}
