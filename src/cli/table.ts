/**
 * Tables and lists of facts as text. A cell shows no control character: what is stored may hold any, and a terminal
 * would obey it.
 */
import type { Styles } from './styles.ts'

// oxlint-disable-next-line no-control-regex -- these are what must not be printed
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g

/** On one line. */
export function plainText(value: unknown): string {
  return textOf(value).replaceAll(CONTROL, ' ')
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  if (value instanceof Date) return timeText(value)
  return JSON.stringify(value) ?? ''
}

/** `2026-11-18 15:00:00.000`, in UTC, as the log has it. */
export function timeText(time: Date | string | number): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString().replace('T', ' ')
}

export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`
}

export interface TextColumn<T> {
  readonly title: string
  readonly of: (row: T) => unknown
  /** At most so many characters. Default 60. */
  readonly most?: number
  /** Given the padded text and the row. */
  readonly style?: (styles: Styles, text: string, row: T) => string
}

const GAP = '  '
const MOST = 60

export function tableText<T>(
  styles: Styles,
  columns: readonly TextColumn<T>[],
  rows: readonly T[],
): string {
  const cells = rows.map((row) =>
    columns.map(({ of, most = MOST }) => shortened(plainText(of(row)), most)),
  )
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...cells.map((line) => (line[i] as string).length)),
  )
  const padded = (text: string, i: number): string =>
    i === columns.length - 1 ? text : text.padEnd(widths[i] as number)
  const head = columns.map(({ title }, i) => styles.dim(padded(title, i))).join(GAP)
  const lines = rows.map((row, r) =>
    columns
      .map(({ style }, i) => {
        const text = padded((cells[r] as string[])[i] as string, i)
        return style === undefined ? text : style(styles, text, row)
      })
      .join(GAP)
      .trimEnd(),
  )
  return [head.trimEnd(), ...lines].join('\n')
}

/** What is nothing is left out. */
export function factsText(
  styles: Styles,
  facts: readonly (readonly [name: string, value: unknown])[],
): string {
  const told = facts.filter(([, value]) => !isNothing(value))
  const width = Math.max(0, ...told.map(([name]) => name.length))
  return told
    .map(([name, value]) => `${styles.dim(name.padEnd(width))}${GAP}${plainText(value)}`)
    .join('\n')
}

function isNothing(value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  )
}
