/**
 * One event of an operation that goes on: an entry of the log, a value of a stream.
 */
import type { OperationEvent } from '../../operations/index.ts'
import type { Styles } from '../styles.ts'
import { plainText, shortened, timeText } from '../table.ts'

const MOST = 120
const COMMON = new Set(['type', 'at', 'job', 'version', 'by', 'worker'])

export function eventText(styles: Styles, { id, data }: OperationEvent): string {
  const entry = data as Readonly<Record<string, unknown>>
  const { type, at, job, by, worker, value, exact } = entry
  const place = styles.dim(String(id ?? '').padStart(8))
  if (typeof type !== 'string')
    return `${place}  ${shortened(plainText(valueText(exact) ?? value ?? data), MOST)}`
  const time = typeof at === 'number' ? timeText(at).slice(11, 23) : ''
  const who = plainText(by ?? worker)
  const others = Object.fromEntries(
    Object.entries(entry).filter(([name, one]) => !COMMON.has(name) && one !== null),
  )
  const what = `${type.padEnd(18)} ${plainText(job)}${who === '' ? '' : ` by ${who}`}`
  const rest =
    Object.keys(others).length === 0 ? '' : styles.dim(` ${shortened(plainText(others), MOST)}`)
  return `${place}  ${styles.dim(time)}  ${what}${rest}`
}

/** Undefined: the value is what was recorded. */
function valueText(exact: unknown): string | undefined {
  return (exact as { readonly value?: string } | undefined)?.value
}
