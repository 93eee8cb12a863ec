/**
 * When a schedule is due, in words. A cron text of the usual kinds is said; of any other, the text itself stands there.
 */

const DAYS = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
]

/** Null: it is not of the usual kinds. */
export function cronWords(cron: string): string | null {
  const fields = cron.trim().split(/\s+/)
  if (fields.length !== 5) return null
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string]
  if (month !== '*') return null
  const when = dayWords(day, weekday)
  const time = timeWords(minute, hour)
  if (when === null || time === null) return null
  return when === '' ? time : `${time} ${when}`
}

/** Empty: every day. */
function dayWords(day: string, weekday: string): string | null {
  if (day === '*' && weekday === '*') return ''
  if (day === '*' && weekday === '1-5') return 'from Monday to Friday'
  if (day === '*' && /^[0-7]$/.test(weekday)) return `on ${DAYS[Number(weekday)]}s`
  if (weekday === '*' && isWithin(day, 1, 31)) return `on day ${day} of each month`
  return null
}

function timeWords(minute: string, hour: string): string | null {
  const every = /^\*\/(\d+)$/.exec(minute)?.[1]
  if (hour === '*') {
    if (minute === '*') return 'every minute'
    if (every !== undefined && isWithin(every, 1, 59)) return `every ${every} minutes of the hour`
    return isWithin(minute, 0, 59) ? `every hour at minute ${minute}` : null
  }
  if (!isWithin(minute, 0, 59)) return null
  const everyHour = /^\*\/(\d+)$/.exec(hour)?.[1]
  if (everyHour !== undefined && isWithin(everyHour, 1, 23)) {
    return `every ${everyHour} hours of the day at minute ${minute}`
  }
  if (!isWithin(hour, 0, 23)) return null
  return `every day at ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`.replace(
    'every day at',
    'at',
  )
}

function isWithin(text: string, least: number, most: number): boolean {
  return /^\d{1,2}$/.test(text) && Number(text) >= least && Number(text) <= most
}
