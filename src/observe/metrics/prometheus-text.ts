/**
 * Writes families as Prometheus text, format 0.0.4.
 */
import type { MetricDistribution, MetricFamily, MetricSample } from './metric-family.ts'

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function prometheusText(families: readonly MetricFamily[]): string {
  return families.map(familyText).join('')
}

function familyText({ name, type, help, samples, distributions }: MetricFamily): string {
  const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`]
  for (const sample of samples) lines.push(line(name, sample))
  for (const distribution of distributions) lines.push(...histogramLines(name, distribution))
  return `${lines.join('\n')}\n`
}

function histogramLines(
  name: string,
  { labels, count, sum, buckets }: MetricDistribution,
): string[] {
  const bucket = (le: string, value: number): string =>
    line(`${name}_bucket`, { labels: { ...labels, le }, value })
  return [
    ...buckets.map((one) => bucket(number(one.atMost), one.count)),
    bucket('+Inf', count),
    line(`${name}_sum`, { labels, value: sum }),
    line(`${name}_count`, { labels, value: count }),
  ]
}

function line(name: string, { labels, value }: MetricSample): string {
  const written = Object.entries(labels).map(([label, text]) => `${label}="${quoted(text)}"`)
  const inBraces = written.length === 0 ? '' : `{${written.join(',')}}`
  return `${name}${inBraces} ${number(value)}`
}

function number(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}

/** Of a help text. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

/** Of the value of a label. Half a character would make the text no UTF-8. */
function quoted(text: string): string {
  return escaped(text.replaceAll(/\p{Surrogate}/gu, '\u{FFFD}')).replaceAll('"', '\\"')
}
