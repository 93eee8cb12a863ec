/**
 * How rows of `work` that were changed are cleared away, with what points to them in its indexes.
 */
import type { Sweep } from '../sql/dialect.ts'

/** Whoever may not do this, or comes while somebody else does, is only warned. */
export const SWEEP: Sweep = {
  count: `select pg_stat_get_dead_tuples('work'::regclass)`,
  run: 'vacuum (index_cleanup on, truncate off, skip_locked on) work',
}
