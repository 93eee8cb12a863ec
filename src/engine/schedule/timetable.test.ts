import { describe, expect, it } from 'vitest'
import type { ScheduleTiming, Timetable } from './timetable.ts'
import { timetableOf } from './timetable.ts'

const NONE: ScheduleTiming = { cron: null, timezone: null, everyMs: null, start: null, end: null }
const MINUTE_MS = 60_000

function cron(text: string, timezone = 'UTC', bounds: Partial<ScheduleTiming> = {}): Timetable {
  return timetableOf({ ...NONE, cron: text, timezone, ...bounds }, "schedule 'test'")
}

function every(everyMs: number, bounds: Partial<ScheduleTiming> = {}): Timetable {
  return timetableOf({ ...NONE, everyMs, ...bounds }, "schedule 'test'")
}

/** The next times from a moment on, without year and seconds. */
function times(timetable: Timetable, from: string, count: number): string[] {
  const found: string[] = []
  let last = Date.parse(from)
  for (let i = 0; i < count; i++) {
    const next = timetable.after(last)
    if (next === null) break
    found.push(new Date(next).toISOString().slice(5, 16))
    last = next
  }
  return found
}

describe('a cron text', () => {
  it('is read in its time zone', () => {
    expect(times(cron('0 9 * * *', 'Asia/Tokyo'), '2025-06-01T00:00Z', 2)).toEqual([
      '06-02T00:00',
      '06-03T00:00',
    ])
    expect(times(cron('0 9 * * *'), '2025-06-01T00:00Z', 1)).toEqual(['06-01T09:00'])
  })

  it('gives its own times, also when a thousand others were read since', () => {
    const texts = Array.from({ length: 1_000 }, (_, i) => `${i % 60} ${i % 24} ${1 + (i % 28)} * *`)
    const all = texts.map((text) => cron(text))
    expect(times(all[7] as Timetable, '2025-06-01T00:00Z', 1)).toEqual(['06-08T07:07'])
    expect(times(all[999] as Timetable, '2025-06-01T00:00Z', 1)).toEqual(['06-20T15:39'])
  })

  it('may have seconds, names, and words such as @daily', () => {
    const quick = cron('*/20 * * * * *')
    expect(quick.after(0)).toBe(20_000)
    expect(quick.after(19_999)).toBe(20_000)
    expect(times(cron('0 8 * OCT MON'), '2025-06-01T00:00Z', 1)).toEqual(['10-06T08:00'])
    expect(times(cron('@daily'), '2025-06-01T00:00Z', 1)).toEqual(['06-02T00:00'])
  })

  it('that cannot be read is refused, and the message says what is wrong', () => {
    for (const [text, why] of [
      ['61 * * * *', 'minute: 61'],
      ['* * * *', 'space separated parts'],
      ['', 'space separated parts'],
      ['0 0 0 1 1 * 2030', '7 parts'],
      ['? * * * *', "'?' is not taken"],
      ['2030-01-01T00:00:00', 'a date is not a cron text'],
      [7 as unknown as string, 'string'],
    ] as const) {
      expect(() => cron(text)).toThrow(
        /The `cron` of schedule 'test' cannot be read: .*five fields/,
      )
      expect(() => cron(text)).toThrow(why)
    }
    expect(() => cron('* * * * *', 'Europe/Atlantis')).toThrow(
      "The `timezone` of schedule 'test' is 'Europe/Atlantis', which this system does not know",
    )
  })
})

describe('when the clock is put forward', () => {
  it('a time of day that does not exist comes at the moment of the change, once', () => {
    // Berlin: 02:00 becomes 03:00. New York: the same. Lord Howe: 02:00 becomes 02:30.
    expect(times(cron('30 2 * * *', 'Europe/Berlin'), '2025-03-28T12:00Z', 3)).toEqual([
      '03-29T01:30',
      '03-30T01:00',
      '03-31T00:30',
    ])
    expect(times(cron('30 2 * * *', 'America/New_York'), '2025-03-07T12:00Z', 3)).toEqual([
      '03-08T07:30',
      '03-09T07:00',
      '03-10T06:30',
    ])
    expect(times(cron('15 2 * * *', 'Australia/Lord_Howe'), '2025-10-03T00:00Z', 3)).toEqual([
      '10-03T15:45',
      '10-04T15:30',
      '10-05T15:15',
    ])
  })

  it('what comes several times an hour leaves out what does not exist', () => {
    expect(times(cron('*/30 2 * * *', 'Europe/Berlin'), '2025-03-29T12:00Z', 2)).toEqual([
      '03-31T00:00',
      '03-31T00:30',
    ])
    expect(times(cron('0 * * * *', 'America/New_York'), '2025-03-09T05:30Z', 3)).toEqual([
      '03-09T06:00',
      '03-09T07:00',
      '03-09T08:00',
    ])
    expect(times(cron('*/15 * * * *', 'Australia/Lord_Howe'), '2025-10-04T15:05Z', 3)).toEqual([
      '10-04T15:15',
      '10-04T15:30',
      '10-04T15:45',
    ])
  })
})

describe('when the clock is put back', () => {
  it('a time of day that comes twice counts once, the first time', () => {
    // Berlin: 03:00 becomes 02:00. New York: 02:00 becomes 01:00. Lord Howe: 02:00 becomes 01:30.
    expect(times(cron('30 2 * * *', 'Europe/Berlin'), '2025-10-25T12:00Z', 2)).toEqual([
      '10-26T00:30',
      '10-27T01:30',
    ])
    expect(times(cron('30 1 * * *', 'America/New_York'), '2025-11-01T12:00Z', 2)).toEqual([
      '11-02T05:30',
      '11-03T06:30',
    ])
    expect(times(cron('45 1 * * *', 'Australia/Lord_Howe'), '2025-04-05T00:00Z', 2)).toEqual([
      '04-05T14:45',
      '04-06T15:15',
    ])
  })

  it('what comes several times an hour goes on, through the hour that comes twice', () => {
    expect(times(cron('*/30 * * * *', 'Europe/Berlin'), '2025-10-25T23:50Z', 5)).toEqual([
      '10-26T00:00',
      '10-26T00:30',
      '10-26T01:00',
      '10-26T01:30',
      '10-26T02:00',
    ])
    expect(times(cron('*/15 * * * *', 'Australia/Lord_Howe'), '2025-04-05T14:40Z', 4)).toEqual([
      '04-05T14:45',
      '04-05T15:00',
      '04-05T15:15',
      '04-05T15:30',
    ])
  })
})

describe('an interval', () => {
  it('counts from 1970, whatever a time zone does', () => {
    const hourly = every(60 * MINUTE_MS)
    for (const change of ['2025-03-30T00:00Z', '2025-10-26T00:00Z']) {
      let last = Date.parse(change)
      for (let i = 0; i < 48; i++) {
        const next = hourly.after(last) as number
        expect(next - last).toBe(60 * MINUTE_MS)
        last = next
      }
    }
    expect(times(every(90 * MINUTE_MS), '2025-01-01T00:00Z', 2)).toEqual([
      '01-01T01:30',
      '01-01T03:00',
    ])
  })

  it('counts from its start, if it has one', () => {
    const start = Date.parse('2025-01-01T00:10Z')
    const timetable = every(60 * MINUTE_MS, { start })
    expect(times(timetable, '2020-01-01T00:00Z', 2)).toEqual(['01-01T00:10', '01-01T01:10'])
    expect(timetable.upTo(start - 1)).toBeNull()
    expect(timetable.upTo(start)).toBe(start)
  })
})

describe('start and end', () => {
  const start = Date.parse('2025-01-02T09:00Z')
  const end = Date.parse('2025-01-04T09:00Z')

  it.each([
    ['cron', cron('0 9 * * *', 'UTC', { start, end })],
    ['every', every(24 * 60 * MINUTE_MS, { start, end })],
  ])('of %s are due themselves, and nothing outside of them', (_, timetable) => {
    expect(times(timetable, '2020-01-01T00:00Z', 9)).toEqual([
      '01-02T09:00',
      '01-03T09:00',
      '01-04T09:00',
    ])
    expect(timetable.after(end)).toBeNull()
    expect(timetable.upTo(start - 1)).toBeNull()
    expect(timetable.upTo(end + 1e9)).toBe(end)
    expect(timetable.upTo(end - 1)).toBe(Date.parse('2025-01-03T09:00Z'))
  })
})

it('the newest time up to a moment is one of those that come one after the other', () => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
  ]
  const texts = ['30 2 * * *', '*/15 * * * *', '45 1 * * *', '*/7 1-3 * * *', '0 3 1 * *']
  const days = ['2025-03-08', '2025-03-29', '2025-04-05', '2025-10-04', '2025-10-25', '2025-11-01']
  for (const zone of zones) {
    for (const text of texts) {
      const timetable = cron(text, zone)
      for (const day of days) {
        let last = Date.parse(day)
        for (let i = 0; i < 20; i++) {
          const next = timetable.after(last) as number
          expect(timetable.upTo(next)).toBe(next)
          expect(timetable.upTo(next + 999)).toBe(next)
          expect(timetable.upTo(next - 1)).toBeLessThanOrEqual(last)
          last = next
        }
      }
    }
  }
})
