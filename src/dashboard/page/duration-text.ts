/**
 * Times and durations in words. They are short, and the whole time stands in the title of what shows it: by the clock of the
 * reader, as all times on the page.
 */

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  for (const [i, [unit, size]] of UNITS.entries()) {
    if (ms < size) continue
    const whole = Math.floor(ms / size)
    const [next, nextSize] = UNITS[i + 1] ?? ['', Infinity]
    const rest = Math.floor((ms - whole * size) / nextSize)
    if (unit === 's' && whole < 10) return `${(ms / 1_000).toFixed(1)} s`
    return whole < 10 && rest > 0 ? `${whole} ${unit} ${rest} ${next}` : `${whole} ${unit}`
  }
  return ''
}

/** Nothing of it is left out: of what was configured, 12 h and 12 h 30 min are not the same. */
export function exactDurationText(ms: number): string {
  let rest = ms
  const parts = [...UNITS, ['ms', 1] as const].flatMap(([unit, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? [] : `${countText(count)} ${unit}`
  })
  return parts.join(' ') || '0 ms'
}

/** `time` before or after `now`, in whole seconds. */
export function agoText(time: number, now: number): string {
  const ms = now - time
  if (Math.abs(ms) < 1_000) return 'now'
  const text = durationText(Math.abs(ms)).replace(/\.\d s$/, ' s')
  return ms > 0 ? `${text} ago` : `in ${text}`
}

function two(part: number): string {
  return String(part).padStart(2, '0')
}

function dayText(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

function timeOfDay(date: Date): string {
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two)
  return `${parts.join(':')}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** By the clock of the reader, with the day if it is another one than that of `now`. */
export function clockText(time: number, now: number): string {
  const date = new Date(time)
  const day = dayText(date)
  return day === dayText(new Date(now)) ? timeOfDay(date) : `${day} ${timeOfDay(date)}`
}

/** With the day, and how far the clock of the reader is ahead of UTC. */
export function wholeTimeText(time: number): string {
  const date = new Date(time)
  const minutes = -date.getTimezoneOffset()
  const ahead = Math.abs(minutes)
  const zone = `${minutes < 0 ? '-' : '+'}${two(Math.floor(ahead / 60))}:${two(ahead % 60)}`
  return `${dayText(date)} ${timeOfDay(date)} ${zone}`
}

export function countText(count: number): string {
  return count.toLocaleString('en')
}
