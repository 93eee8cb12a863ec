/** Schedules in words, and none where the words could be wrong. */
import { expect, it } from 'vitest'
import { cronWords } from './cron-words.ts'

it.each([
  ['* * * * *', 'every minute'],
  ['*/5 * * * *', 'every 5 minutes of the hour'],
  ['7 * * * *', 'every hour at minute 7'],
  ['0 */6 * * *', 'every 6 hours of the day at minute 0'],
  ['30 3 * * *', 'at 03:30'],
  ['30 3 * * 1-5', 'at 03:30 from Monday to Friday'],
  ['0 9 * * 0', 'at 09:00 on Sundays'],
  ['0 9 * * 7', 'at 09:00 on Sundays'],
  ['0 0 1 * *', 'at 00:00 on day 1 of each month'],
  ['0 0 1 1 *', null],
  ['0 0 1 * 1', null],
  ['60 3 * * *', null],
  ['0 3 * * 1,3', null],
  ['15 0 3 * * *', null],
])('%s is said as %j', (cron, words) => {
  expect(cronWords(cron)).toBe(words)
})
