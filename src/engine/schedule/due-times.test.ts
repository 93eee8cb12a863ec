import { expect, it } from 'vitest'
import { baseOf, dueTimes } from './due-times.ts'
import type { StoredSchedule } from './stored-schedule.ts'
import { timetableOf } from './timetable.ts'

const TIMING = { cron: null, timezone: null, everyMs: 10_000, start: 20_000, end: null }
const TIMETABLE = timetableOf(TIMING, 'a test')

it.each(['skip', 'once', 'all'] as const)(
  'nothing is due with %s before the first time',
  (missed) => {
    const stored = { missed, since: 0 } as StoredSchedule
    expect(dueTimes(stored, TIMETABLE, 0, 19_999)).toBeNull()
    expect(dueTimes(stored, TIMETABLE, 0, 20_000)).toEqual({ times: [20_000], record: 20_000 })
  },
)

it.each(['skip', 'once', 'all'] as const)('nothing is due with %s twice', (missed) => {
  const stored = { missed, since: 0 } as StoredSchedule
  expect(dueTimes(stored, TIMETABLE, 30_000, 39_999)).toBeNull()
  expect(dueTimes(stored, TIMETABLE, 30_000, 40_000)).toMatchObject({ times: [40_000] })
})

it('what counts begins where the schedule was set, and after what was fired', () => {
  const stored = { since: 5 } as StoredSchedule
  expect([baseOf(stored, null), baseOf(stored, 3), baseOf(stored, 7)]).toEqual([5, 5, 7])
})
