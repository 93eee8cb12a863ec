/**
 * How rows of plain jobs that were taken are changed on PostgreSQL: `updateTaken` of `../statements.ts`.
 */
import { TAKEN_COLUMNS } from '../statements.ts'
import { addressed, given, typeOf } from './parameter-tables.ts'

/** The columns of a row that `updateTaken` is given. */
export const TAKEN_ROW = ['job', 'was', 'position', ...TAKEN_COLUMNS] as const

/**
 * `same`: columns that have one value in all rows. They come behind the others, as scalars.
 * `bySpot`: rows are found where they are said to be, last of what differs, and not by their jobs, which are
 * left out. The position says whether it is the right one: no two plain jobs have the same.
 */
export function updateTaken(same: readonly string[], bySpot = false): string {
  const own = TAKEN_ROW.filter((column) => !same.includes(column))
  const differ = bySpot ? [...own.slice(1), 'spot'] : own
  const value = (column: string): string => {
    const at = same.indexOf(column)
    return at < 0 ? `given.${column}` : `$${differ.length + at + 1}::${typeOf(column)}`
  }
  const rows = given(differ)
  return `
    with changed as (
      update work w set ${TAKEN_COLUMNS.map((column) => `${column} = ${value(column)}`).join(', ')},
        rank = ${value('due_at')}, place = 0, channel = null, level = null, parked = null, start_by = null
      from ${bySpot ? rows : `(select given.*, -1 as stage, 0 as segment from ${rows} offset 0) as given`}
      where ${bySpot ? 'w.ctid = given.spot' : addressed}
        and w.version = ${value('was')} and w.position = given.position
      returning w.ctid
    )
    select string_agg(ctid::text, ''), as_expected(count(*), cardinality($1::${typeOf(differ[0] as string)}[]))
    from changed`
}
