/**
 * Inserts that can be done by COPY.
 */
import { CHANGING_COLUMNS, EVENT_COLUMNS, FIXED_COLUMNS, FRESH_COLUMNS } from '../statements.ts'
import { typeOf } from './parameter-tables.ts'
import { POSTGRES } from './statements.ts'

/** By the text of the insert: the text of the COPY, which takes the same rows. */
export const COPIES: ReadonlyMap<string, string> = new Map([
  [POSTGRES.insertEvents, copy('events', contents(EVENT_COLUMNS))],
  [POSTGRES.insertRows, copy('work', contents([...FIXED_COLUMNS, ...CHANGING_COLUMNS]))],
  [
    POSTGRES.insertFresh,
    copy('work', {
      ...contents(FRESH_COLUMNS),
      last_position: `$${FRESH_COLUMNS.indexOf('position') + 1}`,
      place: `$${FRESH_COLUMNS.indexOf('position') + 1}`,
    }),
  ],
])

/** Each column is one parameter, in order. */
function contents(columns: readonly string[]): Record<string, string> {
  return Object.fromEntries(columns.map((column, i) => [column, `$${i + 1}`]))
}

/** See `copy-data.ts`. */
function copy(table: string, columns: Readonly<Record<string, string>>): string {
  const list = Object.entries(columns).map(
    ([column, content]) => `${column} /* ${content}::${typeOf(column)} */`,
  )
  return `copy ${table} (${list.join(', ')}) from stdin (format binary)`
}
