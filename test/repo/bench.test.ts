/**
 * What the benches make of their options and of what was measured. The measuring itself is not
 * tested: its figures are those of a machine.
 */
import { describe, expect, it } from 'vitest'
import { comparisonTable, slowerThan } from '../../bench/compare/figures.ts'
import { growthOf, grows } from '../../bench/growth/row.ts'
import { BadOption, readArguments } from '../../bench/options.ts'
import { barChart } from '../../bench/peers/chart.ts'
import type { Measured } from '../../bench/peers/figures.ts'
import {
  backlogTable,
  barsOf,
  cpuTable,
  figuresTable,
  ratiosTable,
} from '../../bench/peers/figures.ts'
import { isPawl, QUEUE_NAMES } from '../../bench/peers/subjects.ts'
import { agreement, median, ratioOf, ratioText } from '../../bench/ratio.ts'
import { payload } from '../../bench/workload/queue.ts'
import type { StepReport } from '../../bench/workload/steps.ts'

const KNOWN = {
  stores: { type: 'string', multiple: true },
  rounds: { type: 'string' },
  quick: { type: 'boolean' },
} as const
const STORES = ['directory', 'sqlite', 'postgres']

/** Without the head. */
function cellsOf(lines: readonly string[]): string[][] {
  return lines.slice(1).map((line) => line.split(/\s{2,}/))
}

function figures(cpuUs: number, syncs: number, wallMs = 50): StepReport {
  return { jobs: 100, wallMs, cpuUs, syncs }
}

function took(wallMs: number): StepReport {
  return { jobs: 1_000, wallMs, cpuUs: 2_000, serverCpuUs: 1_000 }
}

function measured(name: string, wallMs: number, isSynced = true): Measured {
  const reports = { bulk: [took(wallMs)], latency: [{ p50Ms: 1, p99Ms: wallMs }] }
  return { name, isPawl: name.startsWith('pawl'), isSynced, reports }
}

describe('the options of a bench', () => {
  it('are chosen by commas or one by one, and come in the order that is known', () => {
    const byCommas = readArguments(['--stores', 'postgres,directory'], KNOWN)
    expect(byCommas.among('stores', STORES)).toEqual(['directory', 'postgres'])
    const oneByOne = readArguments(['--stores', 'sqlite', '--stores', 'directory'], KNOWN)
    expect(oneByOne.among('stores', STORES)).toEqual(['directory', 'sqlite'])
  })

  it('are all of them where none is chosen', () => {
    const read = readArguments(['HEAD'], KNOWN, 1)
    expect(read.among('stores', STORES)).toEqual(STORES)
    expect(read.count('rounds', 5)).toBe(5)
    expect(read.has('quick')).toBe(false)
    expect(read.positionals).toEqual(['HEAD'])
  })

  it('can be some of them where none is chosen', () => {
    expect(readArguments([], KNOWN).among('stores', STORES, ['sqlite'])).toEqual(['sqlite'])
  })

  it.each([
    [['--store', 'sqlite'], /'--store'.*--stores, --rounds, --quick, and --help/],
    [['--stores', 'redis'], /no 'redis' for --stores; there are: directory, sqlite, postgres/],
    [['--rounds', '0'], /--rounds must be a count, not '0'/],
    [['--rounds', 'many'], /--rounds must be a count, not 'many'/],
    [['HEAD', 'main'], /'main' is too many/],
  ])('%j is refused, with what to write instead', (args, message) => {
    const read = (): unknown => {
      const found = readArguments(args, KNOWN, 1)
      return [found.among('stores', STORES), found.count('rounds', 5)]
    }
    expect(read).toThrow(BadOption)
    expect(read).toThrow(message)
  })
})

describe('the ratio of two that were measured by turns', () => {
  it('is the median of the ratios of each round, not the ratio of the medians', () => {
    // The machine is three times slower in the second round, for both.
    const ratio = ratioOf([11, 33, 12], [10, 30, 10])
    expect(ratio?.median).toBeCloseTo(1.1)
    expect(ratioText(ratio)).toBe('1.10 (1.10–1.20)')
  })

  it('leaves out a round in which one of them is missing, or that there is nothing to compare with', () => {
    expect(ratioOf([2, undefined, 4, 0, 3], [1, 1, undefined, 0, -1])).toMatchObject({
      median: 2,
      rounds: 1,
    })
    expect(ratioOf([undefined], [1])).toBeNull()
    expect(ratioText(null)).toBe('–')
  })

  it('has the mean of the middle two as its median, where there is no middle one', () => {
    expect(median([1, 10, 3, 5])).toBe(4)
    expect(median([7])).toBe(7)
    expect(median([])).toBeNaN()
  })

  it('is agreed on when five rounds or more say the same', () => {
    const ratio = { median: 1.2, least: 1.01, most: 1.4, rounds: 5 }
    expect(agreement(ratio)).toBe('more')
    expect(agreement({ ...ratio, least: 0.99 })).toBe('')
    expect(agreement({ ...ratio, least: 0.5, most: 0.9 })).toBe('less')
    expect(agreement({ ...ratio, rounds: 4 })).toBe('')
  })
})

describe('the table of a comparison', () => {
  const report = { jobs: 100, wallMs: 50, cpuUs: 3_000, syncs: 1, bytes: undefined }

  it('has a line for each figure that both builds have, a job', () => {
    const b = { ...report, wallMs: 100 }
    const cell = { store: 'directory', workload: 'bulk', a: [report], b: [b] }
    expect(cellsOf(comparisonTable([cell]))).toEqual([
      ['directory', 'bulk', 'wall µs/job', '500', '1,000', '2.00'],
      ['directory', 'bulk', 'CPU µs/job', '30.00', '30.00', '1.00'],
      ['directory', 'bulk', 'syncs/job', '0.0100', '0.0100', '1.00'],
    ])
  })
})

describe('the guard against getting slower', () => {
  const a = [figures(1_000, 10), figures(1_000, 10), figures(1_000, 10)]
  const judged = (b: readonly StepReport[]): string[] =>
    slowerThan([{ store: 'sqlite', workload: 'drain', a, b }], 1.2)

  it('names what costs too much, and more in every round', () => {
    const b = [figures(1_250, 10), figures(1_300, 11), figures(1_100, 10)]
    expect(judged(b)).toEqual(['sqlite, drain: CPU µs/job 1.25 (1.10–1.30)'])
  })

  it('passes a cost that one round does not show, and one that is not above the bound', () => {
    expect(judged([figures(2_000, 10), figures(2_000, 10), figures(990, 10)])).toEqual([])
    expect(judged([figures(1_200, 12), figures(1_200, 12), figures(1_200, 12)])).toEqual([])
  })

  it('does not judge by the clock', () => {
    expect(judged([figures(1_000, 10, 500), figures(1_000, 10, 500)])).toEqual([])
  })
})

describe('a chart of queues beside each other', () => {
  const all = [measured('a <b>', 400), measured('pawl-directory', 100), measured('x', 50, false)]
  const named = (workload: string): string[] =>
    barsOf(all, workload).map(({ name, label }) => `${name} ${label}`)

  it('has the synced ones, the quickest first', () => {
    expect(named('bulk')).toEqual(['pawl-directory 10,000/s', 'a <b> 2,500/s'])
    expect(named('latency')).toEqual(['pawl-directory 100.0 ms', 'a <b> 400.0 ms'])
    expect(named('cycle')).toEqual([])
  })

  it('has bars as long as their values, and Pawl stands out', () => {
    const chart = barChart('Bulk', barsOf(all, 'bulk'))
    const bars = [...chart.matchAll(/<rect class="(\w+)" .*? width="([\d.]+)"/g)]
    expect(bars.map(([, name, width]) => [name, width])).toEqual([
      ['pawl', '440.0'],
      ['peer', '110.0'],
    ])
    expect(chart).toContain('>a &lt;b&gt;<')
  })
})

describe('what a long queue does to the pace', () => {
  it('is the ratio of the paces, round by round', () => {
    const reports = { of20k: [took(100), took(100)], of200k: [took(200), took(100)] }
    const one = { name: 'pg-boss', isPawl: false, isSynced: true, reports }
    expect(cellsOf(backlogTable([one]))).toEqual([['pg-boss', '0.75 (0.50–1.00)']])
  })
})

describe('the tables of queues beside each other', () => {
  const pawl = {
    name: 'pawl-directory',
    isPawl: true,
    isSynced: true,
    reports: { bulk: [took(100), took(200)], latency: [{ p50Ms: 2, p99Ms: 9 }] },
  }
  const peer = {
    name: 'pg-boss',
    isPawl: false,
    isSynced: true,
    reports: { bulk: [took(200), undefined], latency: [{ p50Ms: 3, p99Ms: 4 }] },
  }
  const workloads = ['bulk', 'latency']

  it('have the median of what was measured, and its spread', () => {
    expect(cellsOf(figuresTable([pawl, peer], workloads))).toEqual([
      ['pawl-directory', 'yes', '7,500 (5,000–10,000)', '2.0 / 9.0'],
      ['pg-boss', 'yes', '5,000', '3.0 / 4.0'],
    ])
  })

  it('say how many times as quick Pawl is, in rounds that have both', () => {
    expect(cellsOf(ratiosTable(pawl, [pawl, peer], workloads))).toEqual([
      ['pg-boss', '2.00', '1.50'],
    ])
  })

  it('add the time of the server to that of the process', () => {
    expect(cellsOf(cpuTable([peer], ['bulk', 'drain']))).toEqual([['pg-boss', '3', '–']])
  })

  it('have Pawl on each of its stores', () => {
    const names = ['directory', 'sqlite', 'postgres', 'http'].map((store) => `pawl-${store}`)
    expect(QUEUE_NAMES.filter(isPawl)).toEqual(names)
  })
})

describe('the growth of a cost', () => {
  const points = [
    { unit: 'a step', size: 10, us: 20 },
    { unit: 'a job', size: 10, us: 5 },
    { unit: 'a step', size: 100, us: 31 },
    { unit: 'a job', size: 100, us: 7.5 },
  ]

  it('is the ratio of the largest size to the one before it, unit by unit', () => {
    const found = growthOf('row', 'sqlite', points)
    expect(found.map(({ unit, ratio }) => [unit, ratio])).toEqual([
      ['a step', 1.55],
      ['a job', 1.5],
    ])
    expect(found.map(grows)).toEqual([true, false])
    const three = [{ unit: 'a job', size: 1, us: 50 }, ...points]
    expect(growthOf('row', 'sqlite', three).map(({ unit, ratio }) => [unit, ratio])).toEqual([
      ['a job', 1.5],
      ['a step', 1.55],
    ])
  })

  it('is no failure where it is known, on that store only', () => {
    const known = { 'a step on sqlite': 'because' }
    expect(growthOf('row', 'sqlite', points, known).map(grows)).toEqual([false, false])
    expect(growthOf('row', 'postgres', points, known).map(grows)).toEqual([true, false])
  })

  it('that could not be measured is a failure', () => {
    const nothing = points.map(({ unit, size }) => ({ unit, size, us: 0 }))
    expect(growthOf('row', 'sqlite', nothing).map(grows)).toEqual([true, true])
  })
})

describe('the payload of a job', () => {
  it('has about 200 bytes', () => {
    const bytes = JSON.stringify(payload(12_345, 1_234.5)).length
    expect(bytes).toBeGreaterThan(180)
    expect(bytes).toBeLessThan(240)
  })
})
