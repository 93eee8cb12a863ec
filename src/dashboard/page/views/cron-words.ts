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
const MONTHS = [
  '',
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const WORDS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** One field of a text. */
type Field =
  | { readonly kind: 'any' }
  | { readonly kind: 'step'; readonly step: number }
  | { readonly kind: 'range'; readonly from: number; readonly to: number }
  | { readonly kind: 'list'; readonly values: readonly number[] }

/** Null: it is not of the usual kinds. */
export function cronWords(cron: string): string | null {
  const text = WORDS[cron.trim().toLowerCase()] ?? cron.trim()
  const parts = text.split(/\s+/)
  // With six, the first is seconds.
  const five = parts.length === 6 && parts[0] === '0' ? parts.slice(1) : parts
  if (five.length !== 5) return null
  const [minute, hour, day, month, weekday] = [
    fieldOf(five[0] as string, 0, 59),
    fieldOf(five[1] as string, 0, 23),
    fieldOf(five[2] as string, 1, 31),
    fieldOf(five[3] as string, 1, 12, MONTHS),
    fieldOf(five[4] as string, 0, 7, DAYS),
  ]
  if (minute === null || hour === null || day === null || month === null || weekday === null) {
    return null
  }
  const words = [
    timeWords(minute, hour),
    dayWords(day, weekday),
    monthWords(month, day.kind !== 'any' && weekday.kind === 'any'),
  ]
  return words.includes(null) ? null : words.filter((one) => one !== '').join(' ')
}

function fieldOf(
  text: string,
  least: number,
  most: number,
  names: readonly string[] = [],
): Field | null {
  if (text === '*') return { kind: 'any' }
  const step = /^\*\/(\d{1,2})$/.exec(text)?.[1]
  if (step !== undefined) {
    return isWithin(Number(step), 1, most) ? { kind: 'step', step: Number(step) } : null
  }
  const number = (one: string): number => {
    const named = names.findIndex((name) => name.slice(0, 3).toLowerCase() === one.toLowerCase())
    return named > -1 && one.length === 3 ? named : /^\d{1,2}$/.test(one) ? Number(one) : Number.NaN
  }
  const range = text.split('-').map(number)
  const [from, to] = range
  if (range.length === 2 && from !== undefined && to !== undefined) {
    return isWithin(from, least, to) && to <= most ? { kind: 'range', from, to } : null
  }
  const values = text.split(',').map(number)
  return values.every((one) => isWithin(one, least, most)) ? { kind: 'list', values } : null
}

/** Empty: every day. */
function dayWords(day: Field, weekday: Field): string | null {
  if (day.kind === 'step' || weekday.kind === 'step') return null
  const ofMonth = valuesWords(day, String)
  const ofWeek = weekdayWords(weekday)
  if (day.kind === 'any') return ofWeek
  const words = `on ${day.kind === 'list' && day.values.length === 1 ? 'day' : 'days'} ${ofMonth}`
  // Either is enough.
  return weekday.kind === 'any' ? words : `${words} of the month, and ${ofWeek}`
}

function weekdayWords(weekday: Field): string {
  if (weekday.kind === 'any') return ''
  if (weekday.kind === 'range') return `from ${DAYS[weekday.from]} to ${DAYS[weekday.to]}`
  return `on ${valuesWords(weekday, (one) => `${DAYS[one]}s`)}`
}

/** `hasDay`: the words before it are of a day of the month. */
function monthWords(month: Field, hasDay: boolean): string | null {
  if (month.kind === 'any') return hasDay ? 'of each month' : ''
  if (month.kind === 'step') return null
  const names = valuesWords(month, (one) => MONTHS[one] as string)
  return month.kind === 'range' ? `from ${names}` : `in ${names}`
}

function timeWords(minute: Field, hour: Field): string | null {
  if (minute.kind === 'range') return null
  if (minute.kind === 'list') return atMinutes(minute.values, hour)
  const every = minute.kind === 'any' ? 'every minute' : `every ${minute.step} minutes of the hour`
  if (hour.kind === 'any') return every
  if (hour.kind === 'range') return `${every} from ${clock(hour.from, 0)} to ${clock(hour.to, 59)}`
  return null
}

const MOST_TIMES = 4

function atMinutes(minutes: readonly number[], hour: Field): string | null {
  const said = `minute${minutes.length === 1 ? '' : 's'} ${listWords(minutes.map(String))}`
  if (hour.kind === 'any') return `every hour at ${said}`
  if (hour.kind === 'step') return `every ${hour.step} hours of the day at ${said}`
  if (hour.kind === 'range') {
    return `every hour from ${hour.from} to ${hour.to} o'clock at ${said}`
  }
  const times = hour.values.flatMap((one) => minutes.map((at) => clock(one, at)))
  return times.length > MOST_TIMES ? null : `at ${listWords(times)}`
}

function clock(hour: number, minute: number): string {
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
}

function valuesWords(field: Field, name: (value: number) => string): string {
  if (field.kind === 'range') return `${name(field.from)} to ${name(field.to)}`
  return field.kind === 'list' ? listWords(field.values.map(name)) : ''
}

function listWords(words: readonly string[]): string {
  const last = words.at(-1) as string
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`
}

function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most
}
