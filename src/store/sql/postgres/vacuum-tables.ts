/**
 * How rows that were changed or deleted are cleared away, with what points to them in the indexes.
 */
import type { VacuumTables } from '../dialect.ts'

const TABLES = ['work', 'looks', 'limits', 'shares']
const dead = TABLES.map((table) => `pg_stat_get_dead_tuples('${table}'::regclass)`)

/** Whoever may not do this, or comes while somebody else does, is only warned. */
export const VACUUM_TABLES: VacuumTables = {
  count: `select ${dead.join(' + ')}`,
  run: `vacuum (index_cleanup on, truncate off, skip_locked on) ${TABLES.join(', ')}`,
}
