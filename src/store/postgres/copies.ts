/**
 * Inserts that are done by COPY when they have many rows. Only on the store's own connections: a
 * library of the user's may not know how.
 */
import { CHANGING, EVENT, FIXED, FRESH } from '../sql/statements.ts'
import { POSTGRES, typeOf } from './statements.ts'

/** With fewer rows, COPY takes longer to begin than it saves. */
export const MANY = 32

/** By the text of the insert: the text of the COPY, which takes the same rows. */
export const COPIES: ReadonlyMap<string, string> = new Map([
  [POSTGRES.insertEvents, copy('events', contents(EVENT))],
  [POSTGRES.insertRows, copy('work', contents([...FIXED, ...CHANGING]))],
  [
    POSTGRES.insertFresh,
    copy('work', {
      ...contents(FRESH),
      stage: '-1',
      segment: '0',
      last_position: `$${FRESH.indexOf('position') + 1}`,
      version: '1',
      state: '"WAITING"',
      place: `$${FRESH.indexOf('position') + 1}`,
      committed: 'false',
      attempt: '0',
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
