/**
 * How inserts of many rows are sent on the store's own connections: by COPY, which the library of a user's
 * transaction may not know. The answer is the same as with one statement for all rows.
 */
import type { Statement, Row } from '../connection.ts'
import type { Sent } from './statement-batch.ts'
import { whole } from './statement-batch.ts'
import { COPIES } from './statements.ts'
import { copyMessages, isCopy } from './wire-values.ts'

/** With fewer rows, it takes longer to begin than it saves. */
export const MANY = 32

/**
 * Rows of one COPY. The server keeps a slot for each until it ends, and what it spends on a slot grows with
 * how many there are: from some hundred on, that is more than another COPY takes to begin.
 */
const MOST_COPIED = 170

/** What is sent for a statement, in order. */
export function partsOf(statement: Statement): readonly Sent[] {
  if (!('rows' in statement)) return [whole(statement)]
  const { sql, rows } = statement
  // No statement of the store is a COPY already.
  if (isCopy(sql)) return copies(sql, rows)
  if (rows.length < MANY) return [whole(statement)]
  const copy = COPIES.get(sql)
  return copy === undefined ? [whole(statement)] : copies(copy, rows)
}

function copies(sql: string, rows: readonly Row[]): Sent[] {
  const sent: Sent[] = []
  for (let from = 0; from < rows.length; from += MOST_COPIED) {
    const copied = copyMessages(sql, rows.slice(from, from + MOST_COPIED))
    sent.push({ sql, values: [], copied })
  }
  return sent
}
