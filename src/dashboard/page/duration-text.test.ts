import { expect, it } from 'vitest'
import {
  agoText,
  clockText,
  durationText,
  exactDurationText,
  wholeTimeText,
} from './duration-text.ts'

it('a duration has tenths of a second, and what was a while ago has none', () => {
  expect(durationText(1_234)).toBe('1.2 s')
  expect(agoText(0, 1_900)).toBe('1 s ago')
  expect(agoText(9_960, 0)).toBe('in 10 s')
  expect(agoText(0, 65_000)).toBe('1 min 5 s ago')
  expect(agoText(500, 0)).toBe('now')
})

it('a configured duration is said whole', () => {
  expect(exactDurationText(750 * 60_000)).toBe('12 h 30 min')
  expect(exactDurationText(1_500)).toBe('1 s 500 ms')
  expect(exactDurationText(604_800_001)).toBe('7 d 1 ms')
  expect(exactDurationText(60_000)).toBe('1 min')
  expect(exactDurationText(0)).toBe('0 ms')
})

it('a time has its day if it is another one, and in a title where on earth it is', () => {
  const now = new Date(2026, 10, 18, 15, 0, 0, 7).getTime()
  expect(clockText(now, now)).toBe('15:00:00.007')
  expect(clockText(now - 86_400_000, now)).toBe('2026-11-17 15:00:00.007')
  const title = wholeTimeText(now)
  expect(title).toMatch(/^2026-11-18 15:00:00\.007 [+-]\d\d:\d\d$/)
  expect(Date.parse(title)).toBe(now)
})
