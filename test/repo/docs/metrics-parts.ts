/**
 * Draws the table of metrics of the guide from their terms.
 */
import { METRIC_NAMES, METRIC_TERMS } from '../../../src/observe/metrics/metric-names.ts'
import { mono, table } from './blocks.ts'

export function metricsParts(): Readonly<Record<string, string>> {
  const rows = METRIC_NAMES.map((name) => {
    const { type, help, labels } = METRIC_TERMS[name]
    return [mono(name), type, labels.map(mono).join(', '), help]
  })
  return { metrics: table(['Metric', 'Is a', 'Labels', 'What it says'], rows) }
}
