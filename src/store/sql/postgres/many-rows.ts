/**
 * How asks with many rows are sent, on the store's own connections: a library of the user's may not know
 * how. The answer is the same as with one statement for all of them.
 *
 * - Inserts are copied.
 * - Rows of an update that stand side by side and have most values in common are updated together: what they
 *   share is sent, and taken apart by the server, once. If it is known where they are, they are not looked for.
 */
import type { Statement, RowLocations, Row } from '../connection.ts'
import type { Sent } from './statement-batch.ts'
import { whole } from './statement-batch.ts'
import { COPIES } from './copy-statements.ts'
import { copyMessages, isCopy } from './copy-data.ts'
import { arrayOf, columns, scalar } from './parameters.ts'
import { spotsIn } from './row-locations.ts'
import { POSTGRES } from './statements.ts'
import { TAKEN_ROW, updateTaken } from './update-taken.ts'

/** With fewer rows, it takes longer to begin than it saves. */
export const MANY = 32

/**
 * Rows of one COPY. The server keeps a slot for each until it ends, and what it spends on a slot grows with
 * how many there are: from some hundred on, that is more than another COPY takes to begin.
 */
const MOST_COPIED = 170

/** What jobs that are granted or committed together have in common. */
const ALIKE: ReadonlySet<string> = new Set([
  'was',
  'version',
  'state',
  'expires_at',
  'committed',
  'attempt',
  'ended_at',
  'over_at',
])
const ALIKE_AT = placesOf((column) => ALIKE.has(column))
const DIFFER_AT = placesOf((column) => !ALIKE.has(column))
const SHARED = ALIKE_AT.map((at) => TAKEN_ROW[at] as string)
export const UPDATE_ALIKE = updateTaken(SHARED)
export const UPDATE_AT = updateTaken(SHARED, true)

function placesOf(isOne: (column: string) => boolean): readonly number[] {
  return TAKEN_ROW.flatMap((column, at) => (isOne(column) ? [at] : []))
}

export function partsOf(ask: Statement): readonly Sent[] {
  if (!('rows' in ask)) return [whole(ask)]
  // Of the store's own asks none is a COPY already.
  if (isCopy(ask.sql)) return copies(ask.sql, ask.rows)
  if (ask.rows.length < MANY) return [whole(ask)]
  const copy = COPIES.get(ask.sql)
  if (copy !== undefined) return copies(copy, ask.rows)
  return ask.sql === POSTGRES.updateTaken
    ? updates(ask.rows, ask.locations?.known ?? [])
    : [whole(ask)]
}

function copies(sql: string, rows: readonly Row[]): Sent[] {
  const sent: Sent[] = []
  for (let from = 0; from < rows.length; from += MOST_COPIED) {
    const copied = copyMessages(sql, rows.slice(from, from + MOST_COPIED))
    sent.push({ sql, values: [], copied })
  }
  return sent
}

/** In order, as the rows are: the answers say where each of them is then. */
function updates(rows: readonly Row[], spots: RowLocations['known']): Sent[] {
  const sent: Sent[] = []
  let others: Row[] = []
  const sendOthers = (): void => {
    if (others.length > 0) sent.push(whole({ sql: POSTGRES.updateTaken, rows: others }))
    others = []
  }
  for (let from = 0, end = 0; from < rows.length; from = end) {
    const first = rows[from] as Row
    while (end < rows.length && isAlike(rows[end] as Row, first)) end++
    const alike = rows.slice(from, end)
    if (alike.length < MANY) {
      others.push(...alike)
    } else {
      sendOthers()
      sent.push(updateAlike(alike, spots.slice(from, end)))
    }
  }
  sendOthers()
  return sent
}

function isAlike(one: Row, other: Row): boolean {
  for (const at of ALIKE_AT) if (one[at] !== other[at]) return false
  return true
}

function updateAlike(rows: readonly Row[], spots: RowLocations['known']): Sent {
  const [first = []] = rows
  const shared = ALIKE_AT.map((at) => scalar(first[at] ?? null))
  if (spots.length < rows.length || spots.includes(null)) {
    const values = [...columns(UPDATE_ALIKE, rows, DIFFER_AT), ...shared]
    return { sql: UPDATE_ALIKE, values, copied: null }
  }
  const places = arrayOf(
    'tid',
    spots.map((spot) => [spot]),
    0,
  )
  const values = [...columns(UPDATE_AT, rows, DIFFER_AT.slice(1)), places, ...shared]
  return { sql: UPDATE_AT, values, copied: null }
}

/** Tells where rows are that were moved. `answer`: what `updateTaken` was answered, part by part. */
export function noteSpots({ rows }: RowLocations, answer: readonly Row[]): void {
  const spots = answer.flatMap(([text]) => spotsIn(text as string))
  if (spots.length !== rows.length) return
  rows.forEach((row, i) => (row.ctid = spots[i] as number))
}
