import { expect, it } from 'vitest'
import { FIGURE_RANGES } from '../../../protocol/index.ts'
import type { Figures } from '../../../protocol/index.ts'
import { flowRate, queueLine, rangeIn, rateText } from './figure-values.ts'

const FIGURES = {
  queues: [{ queue: 'mail', waiting: [null, 3, null, 4], oldestMs: [1, 2, 3, 4] }],
  flow: { seconds: 10, moves: [{ of: 'job', from: null, to: 'QUEUED', rate: 2 }] },
} as unknown as Figures

it('the range of an address is one that there is', () => {
  expect(FIGURE_RANGES.map(rangeIn)).toEqual(FIGURE_RANGES)
  expect([undefined, '', '2h', 'constructor'].map(rangeIn)).toEqual(['15m', '15m', '15m', '15m'])
})

it('a queue has the values that are known of it, and one that is left out has none', () => {
  expect(queueLine(FIGURES, 'mail', 'waiting')).toEqual([3, 4])
  expect(queueLine(FIGURES, 'mail', 'oldestMs')).toEqual([1, 2, 3, 4])
  expect(queueLine(FIGURES, 'other', 'waiting')).toEqual([])
  expect(queueLine(null, 'mail', 'waiting')).toEqual([])
})

it('a move that nothing takes has no rate', () => {
  expect(flowRate(FIGURES, 'job', null, 'QUEUED')).toBe(2)
  expect(flowRate(FIGURES, 'segment', null, 'QUEUED')).toBe(0)
  expect(flowRate(null, 'job', null, 'QUEUED')).toBe(0)
})

it('a rate is short', () => {
  expect([0, 0.01, 0.25, 9.96, 42.4, 12_345.6].map(rateText)).toEqual([
    '0',
    '< 0.1',
    '0.3',
    '10.0',
    '42',
    '12,346',
  ])
})
