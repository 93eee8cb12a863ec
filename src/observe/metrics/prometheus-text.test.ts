/** The text is what prom-client writes of the same values, and names and values that need care are escaped. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import type { MetricFamily } from './metric-family.ts'
import { prometheusText } from './prometheus-text.ts'

const ODD = 'a "quoted" \\ name\nof two lines, äöü 🦀'

const FAMILIES: readonly MetricFamily[] = [
  {
    name: 'one_total',
    type: 'counter',
    help: 'A counter,\nin two lines, with \\.',
    samples: [
      { labels: { queue: 'mail', type: ODD }, value: 3 },
      { labels: { queue: '', type: 'b' }, value: 1e21 },
    ],
    distributions: [],
  },
  {
    name: 'two',
    type: 'gauge',
    help: 'A gauge.',
    samples: [{ labels: {}, value: 0.25 }],
    distributions: [],
  },
  {
    name: 'three_seconds',
    type: 'histogram',
    help: 'A histogram.',
    samples: [],
    distributions: [
      {
        labels: { queue: ODD },
        count: 4,
        sum: 10.75,
        buckets: [
          { atMost: 0.5, count: 1 },
          { atMost: 2, count: 3 },
        ],
      },
    ],
  },
]

/** The same values, given to prom-client. */
async function ofPromClient(): Promise<string> {
  const registers = [new Registry()]
  const [counter, gauge, histogram] = FAMILIES as [MetricFamily, MetricFamily, MetricFamily]
  const one = new Counter({ ...named(counter), labelNames: ['queue', 'type'], registers })
  for (const { labels, value } of counter.samples) one.inc(labels, value)
  new Gauge({ ...named(gauge), registers }).set(0.25)
  const buckets = [0.5, 2]
  const three = new Histogram({ ...named(histogram), labelNames: ['queue'], buckets, registers })
  for (const value of [0.25, 1, 1.5, 8]) three.observe({ queue: ODD }, value)
  return (registers[0] as Registry).metrics()
}

function named({ name, help }: MetricFamily): { name: string; help: string } {
  return { name, help }
}

/** The labels of a line in order. */
function inOrder(line: string): string {
  return line.replace(/\{(.*)\}/, (_, labels: string) => {
    return `{${[...labels.matchAll(/\w+="(?:[^"\\]|\\.)*"/g)].map(String).toSorted().join(',')}}`
  })
}

/** Without blank lines, and with the labels of each line in order: both are the writer's choice. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(inOrder)
}

describe('Prometheus text', () => {
  it('is what prom-client writes of the same values', async () => {
    expect(linesOf(prometheusText(FAMILIES))).toEqual(linesOf(await ofPromClient()))
  })

  it('ends with the end of a line, and has no half characters', () => {
    const half = [
      { ...(FAMILIES[1] as MetricFamily), samples: [{ labels: { a: '\ud800' }, value: 1 }] },
    ]
    expect(prometheusText(half)).toBe('# HELP two A gauge.\n# TYPE two gauge\ntwo{a="\ufffd"} 1\n')
    expect(prometheusText([])).toBe('')
  })

  it('writes what is no finite number as Go does', () => {
    const values = [Infinity, -Infinity, Number.NaN].map((value) => ({ labels: {}, value }))
    const [family] = [{ ...(FAMILIES[1] as MetricFamily), samples: values }]
    expect(linesOf(prometheusText([family])).slice(2)).toEqual(['two +Inf', 'two -Inf', 'two NaN'])
  })
})
