/**
 * How statements with many rows are sent on the store's own connections; the library of a user's
 * transaction may not know how. The answer is the same as with one statement for all rows.
 *
 * - Inserts are done by COPY.
 * - Neighbouring rows of an update that have most values in common are updated together: what they share is
 *   sent once, and read once by the server. If the locations of the rows are known, the server goes there
 *   without an index.
 */
import type { Statement, RowLocations, Row } from '../connection.ts'
import type { Sent } from './statement-batch.ts'
import { whole } from './statement-batch.ts'
import { COPIES, POSTGRES, UNLISTED_ROW, updateUnlisted } from './statements.ts'
import { arrayOf, columns, copyMessages, isCopy, rowLocations, scalar } from './wire-values.ts'

/** With fewer rows, it takes longer to begin than it saves. */
export const MANY = 32

/**
 * Rows of one COPY. The server keeps a slot for each until it ends, and what it spends on a slot grows with
 * how many there are: from some hundred on, that is more than another COPY takes to begin.
 */
const MOST_COPIED = 170

/** What jobs that are granted or committed together have in common. */
const SHARED: ReadonlySet<string> = new Set([
  'was',
  'version',
  'state',
  'expires_at',
  'committed',
  'attempt',
  'ended_at',
  'over_at',
])
const SHARED_AT = placesOf((column) => SHARED.has(column))
const OWN_AT = placesOf((column) => !SHARED.has(column))
const SHARED_COLUMNS = SHARED_AT.map((at) => UNLISTED_ROW[at] as string)
export const UPDATE_SHARED = updateUnlisted(SHARED_COLUMNS)
export const UPDATE_BY_LOCATION = updateUnlisted(SHARED_COLUMNS, true)

function placesOf(isOne: (column: string) => boolean): readonly number[] {
  return UNLISTED_ROW.flatMap((column, at) => (isOne(column) ? [at] : []))
}

/** What is sent for a statement, in order. */
export function partsOf(statement: Statement): readonly Sent[] {
  if (!('rows' in statement)) return [whole(statement)]
  const { sql, rows, locations } = statement
  // No statement of the store is a COPY already.
  if (isCopy(sql)) return copies(sql, rows)
  if (rows.length < MANY) return [whole(statement)]
  const copy = COPIES.get(sql)
  if (copy !== undefined) return copies(copy, rows)
  return sql === POSTGRES.updateUnlisted
    ? updates(rows, locations?.known ?? [])
    : [whole(statement)]
}

function copies(sql: string, rows: readonly Row[]): Sent[] {
  const sent: Sent[] = []
  for (let from = 0; from < rows.length; from += MOST_COPIED) {
    const copied = copyMessages(sql, rows.slice(from, from + MOST_COPIED))
    sent.push({ sql, values: [], copied })
  }
  return sent
}

/** In the order of the rows: the answers say where each of them is then. */
function updates(rows: readonly Row[], locations: RowLocations['known']): Sent[] {
  const sent: Sent[] = []
  let others: Row[] = []
  const sendOthers = (): void => {
    if (others.length > 0) sent.push(whole({ sql: POSTGRES.updateUnlisted, rows: others }))
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
      sent.push(updateAlike(alike, locations.slice(from, end)))
    }
  }
  sendOthers()
  return sent
}

function isAlike(one: Row, other: Row): boolean {
  for (const at of SHARED_AT) if (one[at] !== other[at]) return false
  return true
}

function updateAlike(rows: readonly Row[], locations: RowLocations['known']): Sent {
  const [first = []] = rows
  const shared = SHARED_AT.map((at) => scalar(first[at] ?? null))
  if (locations.length < rows.length || locations.includes(null)) {
    const values = [...columns(UPDATE_SHARED, rows, OWN_AT), ...shared]
    return { sql: UPDATE_SHARED, values, copied: null }
  }
  const located = locations.map((location) => [location])
  const own = columns(UPDATE_BY_LOCATION, rows, OWN_AT.slice(1))
  const values = [...own, arrayOf('tid', located, 0), ...shared]
  return { sql: UPDATE_BY_LOCATION, values, copied: null }
}

/** Notes where updated rows are now. `answer`: what the parts of `updateUnlisted` answered, in order. */
export function noteLocations({ rows }: RowLocations, answer: readonly Row[]): void {
  const locations = answer.flatMap(([text]) => rowLocations(text as string))
  if (locations.length !== rows.length) return
  rows.forEach((row, i) => (row.ctid = locations[i] as number))
}
