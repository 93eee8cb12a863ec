/** The share of a whole that progress says. */
import { expect, it } from 'vitest'
import { shareIn } from './progress-share.ts'

it.each([
  [0.5, 0.5],
  [50, 0.5],
  [{ done: 3, of: 8 }, 0.375],
  [{ done: 3, total: 8 }, 0.375],
  [{ percent: 37.5 }, 0.375],
  // More than all is all, and less than nothing is nothing.
  [{ done: 150, of: 100 }, 1],
  [{ done: -1, of: 100 }, 0],
  [{ percent: 150 }, 1],
  [150, null],
  [-1, null],
  [{ done: 1, of: 0 }, null],
  ['half', null],
  [null, null],
])('of %j is %j', (said, share) => {
  expect(shareIn(said)).toBe(share)
})
