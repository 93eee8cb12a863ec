import { describe, expect, it } from 'vitest'
import type { AnswerOf } from '../api.ts'
import {
  flowOf,
  means,
  mostly,
  queueHistory,
  rates,
  rateText,
  sampleOf,
  withSample,
} from './samples.ts'
import type { Sample } from './samples.ts'

type Metrics = AnswerOf<'metrics'>

const BOUNDS = [0, 1, 3, 7, null]

function metricsAt(second: number, more: Partial<Metrics> = {}): Metrics {
  const at = new Date(1e12 + second * 1_000).toISOString()
  const empty = { now: at, since: '2026-01-01T00:00:00.000Z', entries: {}, moves: [], traffic: [] }
  return { ...empty, ...more } as unknown as Metrics
}

function traffic(counts: readonly number[], sum: number): Metrics['traffic'] {
  const count = counts.reduce((all, one) => all + one, 0)
  const waitMs = { count, sum, counts, bounds: BOUNDS }
  const none = { count: 0, sum: 0, counts: [], bounds: BOUNDS }
  return [{ waitMs, runMs: none, quarantined: 0 }] as unknown as Metrics['traffic']
}

function moved(count: number): Pick<Metrics, 'moves'> {
  return {
    moves: [
      { of: 'job', from: 'QUEUED', to: 'RUNNING', count },
      { of: 'job', from: null, to: 'QUEUED', count: 2 * count },
    ],
  }
}

function added(...all: readonly Metrics[]): readonly Sample[] {
  return all.reduce<readonly Sample[]>((before, one) => withSample(before, sampleOf(one, null)), [])
}

describe('samples', () => {
  it('say how many came a second between two of them', () => {
    const all = added(
      metricsAt(0, { entries: { JobSubmitted: 10 } }),
      metricsAt(2, { entries: { JobSubmitted: 30, TaskFailed: 1 } }),
    )
    expect(rates(all, ['JobSubmitted'])).toEqual([10])
    expect(rates(all, ['TaskFailed', 'EffectFailed'])).toEqual([0.5])
  })

  it('begin anew with an engine that counts from nothing, and leave out what is not newer', () => {
    const old = metricsAt(0)
    expect(added(old, metricsAt(0))).toHaveLength(1)
    expect(
      added(old, metricsAt(2), metricsAt(4, { since: '2026-01-02T00:00:00.000Z' })),
    ).toHaveLength(1)
  })

  it('say how long things took between two of them, and nothing where there were none', () => {
    const all = added(
      metricsAt(0, { traffic: traffic([100, 0, 0, 0, 0], 0) }),
      metricsAt(2, { traffic: traffic([100, 1, 19, 0, 0], 58) }),
      metricsAt(4, { traffic: traffic([100, 1, 19, 0, 0], 58) }),
    )
    expect(means(all, 'waitMs')).toEqual([2.9, null])
    expect(mostly(all, 'waitMs')).toEqual([3, null])
  })

  it('say how many took each move, over the last ten seconds', () => {
    const all = added(metricsAt(0, moved(0)), metricsAt(30, moved(100)), metricsAt(38, moved(104)))
    const flow = flowOf(all)
    expect(flow.seconds).toBe(8)
    expect(flow.rate('job', 'QUEUED', 'RUNNING')).toBe(0.5)
    expect(flow.rate('job', null, 'QUEUED')).toBe(1)
    expect(flow.rate('segment', 'QUEUED', 'RUNNING')).toBe(0)
    expect(flowOf(all.slice(0, 1)).seconds).toBe(0)
  })

  it('know what a queue was like where it was asked for', () => {
    const mail = {
      name: 'mail',
      states: { QUEUED: 2 },
      segments: { ready: 1 },
      oldestDueAt: new Date(1e12).toISOString(),
    }
    const queues = [mail] as unknown as AnswerOf<'queues.list'>['queues']
    const all = [
      sampleOf(metricsAt(5), queues),
      sampleOf(metricsAt(6), null),
      sampleOf(metricsAt(7), []),
    ]
    expect(queueHistory(all, 'mail', ({ waiting }) => waiting)).toEqual([3, 0])
    expect(queueHistory(all, 'mail', ({ oldestMs }) => oldestMs)).toEqual([5_000, 0])
  })
})

it.each([
  [0, '0'],
  [0.01, '< 0.1'],
  [0.25, '0.3'],
  [12_345.6, '12,346'],
])('a rate of %d is written as %j', (rate, text) => {
  expect(rateText(rate)).toBe(text)
})
