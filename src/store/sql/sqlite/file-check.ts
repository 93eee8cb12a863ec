/**
 * How SQLite looks through its file, and makes indexes anew. Tables of the user's may be in the same file:
 * what is wrong with those is said, too, but nothing of theirs is touched.
 */
import type { FileCheck } from '../dialect.ts'

/** Those that have indexes. */
const TABLES = ['events', 'baselines', 'work', 'limits', 'shares']

export const FILE_CHECK: FileCheck = {
  // It says a hundred things at most, and names an index at the end of a line. One with two rows that it forbids cannot be made anew.
  run: `
    select replace(i.integrity_check, '*** in database main ***' || char(10), ''), m.name
    from pragma_integrity_check i
    left join sqlite_master m on m.type = 'index'
      and m.tbl_name in (${TABLES.map((table) => `'${table}'`).join(', ')})
      and substr(i.integrity_check, -length(m.name) - 7) = ' index ' || m.name
      and i.integrity_check not like 'non-unique %'
    where i.integrity_check <> 'ok'`,
  makeIndexes: TABLES.map((table) => `reindex ${table}`),
}
