import { expect, it } from 'vitest'
import { agoText, durationText } from './duration-text.ts'

it('a duration has tenths of a second, and what was a while ago has none', () => {
  expect(durationText(1_234)).toBe('1.2 s')
  expect(agoText(0, 1_900)).toBe('1 s ago')
  expect(agoText(9_960, 0)).toBe('in 10 s')
  expect(agoText(0, 65_000)).toBe('1 min 5 s ago')
  expect(agoText(500, 0)).toBe('now')
})
