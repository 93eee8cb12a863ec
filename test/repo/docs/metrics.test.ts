/**
 * The page, the board and the alerts use names of metrics that exist, with labels that they have.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { MetricName } from '../../../src/observe/metrics/metric-names.ts'
import { METRIC_NAMES, METRIC_TERMS } from '../../../src/observe/metrics/metric-names.ts'
import { ROOT } from '../tidy/tree.ts'
import { rewrite } from './blocks.ts'
import { metricsParts } from './metrics-parts.ts'

const read = (...path: readonly string[]): string =>
  readFileSync(join(ROOT, 'docs', ...path), 'utf8')
const page = read('guide', '22-observing.md')
const alerts = read('observability', 'alerts.yml')
const board = read('observability', 'grafana.json')

interface Panel {
  readonly targets?: readonly { readonly expr: string }[]
}

function expressionsOfBoard(): string[] {
  const { panels } = JSON.parse(board) as { readonly panels: readonly Panel[] }
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
}

function expressionsOfAlerts(): string[] {
  return [...alerts.matchAll(/^ +expr: (.+)$/gm)].map(([, expr = '']) => expr)
}

/** Of the server that reads the metrics. */
const OF_READER = ['job', 'instance']
const OF_PARTS: readonly (readonly [ending: string, type: string])[] = [
  ['_bucket', 'histogram'],
  ['_sum', 'histogram'],
  ['_count', 'histogram'],
]

/** Null: there is none. */
function metricOf(name: string): MetricName | null {
  if (METRIC_NAMES.includes(name as MetricName)) {
    const known = name as MetricName
    return METRIC_TERMS[known].type === 'histogram' ? null : known
  }
  for (const [ending, type] of OF_PARTS) {
    const whole = name.slice(0, -ending.length) as MetricName
    if (name.endsWith(ending) && METRIC_TERMS[whole]?.type === type) return whole
  }
  return null
}

/** What is wrong with an expression: names that do not exist, and labels that none of its metrics has. */
function faultsOf(expression: string): string[] {
  const names = [...expression.matchAll(/\bpawl_\w+/g)].map(String)
  if (names.length === 0) return [`${expression} names no metric`]
  const faults = names.filter((name) => metricOf(name) === null)
  const known = names.flatMap((name) => metricOf(name) ?? [])
  const labels = new Set([...OF_READER, ...known.flatMap((name) => METRIC_TERMS[name].labels)])
  if (names.some((name) => name.endsWith('_bucket'))) labels.add('le')
  const by = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  )
  const matched = [...expression.matchAll(/([a-z]\w*)(?:=~|!=|=)"/g)].map(([, label = '']) => label)
  return faults.concat([...by, ...matched].filter((label) => !labels.has(label as never)))
}

describe('the page of metrics', () => {
  it('shows every metric: run `npm run docs` after a change', () => {
    expect(page).toBe(rewrite(page, metricsParts()))
  })
})

describe.each([
  ['the board', expressionsOfBoard()],
  ['the alert rules', expressionsOfAlerts()],
])('%s', (_, expressions) => {
  it('use metrics and labels that exist', () => {
    expect(expressions.length).toBeGreaterThan(10)
    expect(expressions.flatMap(faultsOf)).toEqual([])
  })
})

describe('the board', () => {
  it('shows every metric', () => {
    const shown = expressionsOfBoard().join(' ')
    expect(METRIC_NAMES.filter((name) => !shown.includes(name))).toEqual([])
  })
})

describe('a wrong name', () => {
  it('would be noticed: of a metric, of a part of one, of a label', () => {
    expect(faultsOf('rate(pawl_jobs_total[5m])')).toEqual(['pawl_jobs_total'])
    expect(faultsOf('pawl_jobs_bucket')).toEqual(['pawl_jobs_bucket'])
    expect(faultsOf('pawl_wait_seconds')).toEqual(['pawl_wait_seconds'])
    expect(faultsOf('sum by (tenant) (pawl_leases)')).toEqual(['tenant'])
    expect(faultsOf('pawl_slots{kind="used"}')).toEqual(['kind'])
    expect(faultsOf('up == 0')).toEqual(['up == 0 names no metric'])
  })
})
