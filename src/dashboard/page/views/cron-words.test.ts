/** Schedules in words, and none where the words could be wrong. */
import { expect, it } from 'vitest'
import { cronWords } from './cron-words.ts'

it.each([
  ['* * * * *', 'every minute'],
  ['*/5 * * * *', 'every 5 minutes of the hour'],
  ['7 * * * *', 'every hour at minute 7'],
  ['0,30 * * * *', 'every hour at minutes 0 and 30'],
  ['0 */6 * * *', 'every 6 hours of the day at minute 0'],
  ['*/10 8-17 * * *', 'every 10 minutes of the hour from 08:00 to 17:59'],
  ['0 8-17 * * 1-5', "every hour from 8 to 17 o'clock at minute 0 from Monday to Friday"],
  ['30 3 * * *', 'at 03:30'],
  ['@daily', 'at 00:00'],
  ['0 8,20 * * *', 'at 08:00 and 20:00'],
  ['30 3 * * 1-5', 'at 03:30 from Monday to Friday'],
  ['30 3 * * mon-fri', 'at 03:30 from Monday to Friday'],
  ['0 9 * * 0', 'at 09:00 on Sundays'],
  ['0 9 * * 7', 'at 09:00 on Sundays'],
  ['0 3 * * 1,3', 'at 03:00 on Mondays and Wednesdays'],
  ['0 0 1 * *', 'at 00:00 on day 1 of each month'],
  ['0 0 1,15 * *', 'at 00:00 on days 1 and 15 of each month'],
  ['0 0 1 1 *', 'at 00:00 on day 1 in January'],
  ['0 8 * OCT MON', 'at 08:00 on Mondays in October'],
  ['0 0 1 * 1', 'at 00:00 on day 1 of the month, and on Mondays'],
  ['0 15 3 * * *', 'at 03:15'],
  ['60 3 * * *', null],
  ['0 0 L * *', null],
  ['0 0 * * 1#2', null],
  ['0 0 5-1 * *', null],
  ['1,2,3 1,2,3 * * *', null],
  ['15 0 3 * * *', null],
  ['0 0 * * 5-', null],
  ['', null],
])('%s is said as %j', (cron, words) => {
  expect(cronWords(cron)).toBe(words)
})
