/**
 * The lines of a comparison: each figure of each workload on each store, of both builds, and their
 * ratio. All are costs, so that a ratio below 1 always speaks for the second build.
 */
import { agreement, median, ratioOf, ratioText } from '../ratio.ts'
import { table } from '../table.ts'
import type { StepReport } from '../workload/steps.ts'

/** What both builds came to in a cell, round by round. */
export interface Compared {
  readonly store: string
  readonly workload: string
  readonly a: readonly StepReport[]
  readonly b: readonly StepReport[]
}

type Figure = (report: StepReport) => number | undefined

function aJob(key: keyof StepReport, unit = 1): Figure {
  return (report) => {
    const [value, { jobs }] = [report[key], report]
    return value === undefined || jobs === undefined ? undefined : value / unit / jobs
  }
}

const FIGURES: Readonly<Record<string, Figure>> = {
  'wall µs/job': aJob('wallMs', 1e-3),
  'p50 ms': ({ p50Ms }) => p50Ms,
  'p99 ms': ({ p99Ms }) => p99Ms,
  'CPU µs/job': aJob('cpuUs'),
  'server CPU µs/job': aJob('serverCpuUs'),
  'round trips/job': aJob('roundTrips'),
  'bytes/job': aJob('bytes'),
  'syncs/job': aJob('syncs'),
  'open ms': ({ openMs }) => openMs,
  'heap bytes/job': ({ heapPerJob }) => heapPerJob,
  'peak MiB': ({ peakMiB }) => peakMiB,
}

const HEAD = ['store', 'workload', 'figure', 'A', 'B', 'B/A (spread)', 'in every round']

export function comparisonTable(cells: readonly Compared[]): string[] {
  const rows = cells.flatMap(({ store, workload, a, b }) =>
    Object.entries(FIGURES).flatMap(([name, figure]) => {
      const [ofA, ofB] = [a.map(figure), b.map(figure)]
      const ratio = ratioOf(ofB, ofA)
      if (ratio === null) return []
      const said = agreement(ratio)
      return [[store, workload, name, figureText(ofA), figureText(ofB), ratioText(ratio), said]]
    }),
  )
  return table(HEAD, rows, 3)
}

/** Figures that repeat well enough to be judged: wall time and percentiles do not. */
const JUDGED = ['CPU µs/job', 'round trips/job', 'bytes/job', 'syncs/job', 'heap bytes/job']

/** What costs B more than `most` times what it costs A, and more in every single round. */
export function slowerThan(cells: readonly Compared[], most: number): string[] {
  return cells.flatMap(({ store, workload, a, b }) =>
    JUDGED.flatMap((name) => {
      const figure = FIGURES[name] as Figure
      const ratio = ratioOf(b.map(figure), a.map(figure))
      if (ratio === null || ratio.median <= most || ratio.least <= 1) return []
      return [`${store}, ${workload}: ${name} ${ratioText(ratio)}`]
    }),
  )
}

function figureText(values: readonly (number | undefined)[]): string {
  const middle = median(values.filter((value) => value !== undefined))
  if (middle >= 100) return Math.round(middle).toLocaleString('en-US')
  return middle.toFixed(middle >= 1 ? 2 : 4)
}
