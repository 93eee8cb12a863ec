/** Attempts along time: what ran keeps its share, and idle times are cut short. */
import { expect, it } from 'vitest'
import { timelineOf } from './attempt-timeline.ts'

it('cuts an hour between two attempts of a second to a small part of the line', () => {
  const { placeOf, gaps } = timelineOf([
    { from: 0, to: 1_000 },
    { from: 3_601_000, to: 3_602_000 },
  ])
  expect(placeOf(0)).toBe(0)
  expect(placeOf(3_602_000)).toBe(1)
  expect(placeOf(1_000)).toBeCloseTo(1_000 / 2_160)
  expect(placeOf(3_601_000)).toBeCloseTo(1_160 / 2_160)
  expect(gaps.map(({ span }) => span)).toEqual([{ from: 1_000, to: 3_601_000 }])
})

it('takes attempts that overlap together, and leaves short pauses as they are', () => {
  const { gaps, placeOf } = timelineOf([
    { from: 0, to: 600 },
    { from: 500, to: 1_000 },
    { from: 1_010, to: 2_010 },
  ])
  expect(gaps).toEqual([])
  expect(placeOf(1_005)).toBeCloseTo(0.5)
})

it('has a place for attempts that took no time, and none for none', () => {
  expect(timelineOf([{ from: 5, to: 5 }]).placeOf(5)).toBe(0)
  expect(timelineOf([]).gaps).toEqual([])
  const { gaps } = timelineOf([0, 10_000, 20_000].map((time) => ({ from: time, to: time })))
  expect(gaps.reduce((sum, { width }) => sum + width, 0)).toBeLessThan(0.2)
})
