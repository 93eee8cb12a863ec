/**
 * The statements about calls that upkeep must look at, on SQLite.
 */
import type { CallStatements } from '../statements.ts'

export const CALL_STATEMENTS: CallStatements = {
  insertCalls: 'insert into calls (job, stage, segment) values (?, ?, ?)',
  callsToCheck: 'select id, job, stage, segment from calls order by id limit ?',
  deleteCalls: 'delete from calls where id in (select value from json_each(?))',
  markedCalls: 'select distinct job, stage, segment from calls where job = ?',
}
