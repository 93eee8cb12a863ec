/**
 * Figures over time on a terminal: of each line what is newest, what is usual, and what was most.
 */
import type { Figures } from '../../protocol/index.ts'
import type { Styles } from '../styles.ts'
import { tableText, timeText } from '../table.ts'

interface FigureRow {
  readonly name: string
  readonly values: readonly (number | null)[]
}

export function figuresText(styles: Styles, figures: Figures): string {
  const { range, since, times, rates, waitMs, runMs, queues, queuesLeftOut } = figures
  const head = `The last ${range}, of all processes, as the server has noted since ${seconds(since)}`
  const newest = times.at(-1)
  if (newest === undefined) return `${head}: nothing is known yet.`
  const rows: readonly FigureRow[] = [
    { name: 'submitted a second', values: rates.submitted },
    { name: 'attempts begun a second', values: rates.granted },
    { name: 'committed a second', values: rates.committed },
    { name: 'failed a second', values: rates.failed },
    { name: 'leases lost a second', values: rates.lost },
    { name: 'given up a second', values: rates.quarantined },
    { name: 'wait, mean (ms)', values: waitMs.mean },
    { name: 'wait, 95 % up to (ms)', values: waitMs.most },
    { name: 'run, mean (ms)', values: runMs.mean },
    { name: 'run, 95 % up to (ms)', values: runMs.most },
    ...queues.flatMap(({ queue, waiting, oldestMs }) => [
      { name: `waiting in ${queue}`, values: waiting },
      { name: `oldest in ${queue} (ms)`, values: oldestMs },
    ]),
  ]
  const table = tableText(
    styles,
    [
      { title: 'what', of: ({ name }) => name },
      { title: 'newest', of: ({ values }) => short(values.at(-1) ?? null) },
      { title: 'mean', of: ({ values }) => short(meanOf(values)) },
      { title: 'most', of: ({ values }) => short(mostOf(values)) },
    ],
    rows,
  )
  const others = queuesLeftOut === 0 ? [] : [`${queuesLeftOut} other queues are left out.`]
  return [`${head}, up to ${seconds(newest)}`, table, ...others].join('\n')
}

function seconds(time: number): string {
  return timeText(time).slice(0, 19)
}

function short(value: number | null): string {
  if (value === null) return '-'
  return String(value >= 10 ? Math.round(value) : Number(value.toPrecision(2)))
}

function meanOf(values: FigureRow['values']): number | null {
  const known = values.filter((one) => one !== null)
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0) / known.length
}

function mostOf(values: FigureRow['values']): number | null {
  const known = values.filter((one) => one !== null)
  return known.length === 0 ? null : Math.max(...known)
}
