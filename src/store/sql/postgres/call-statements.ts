/**
 * The statements about calls that upkeep must look at, on PostgreSQL.
 */
import type { CallStatements } from '../statements.ts'

export const CALL_STATEMENTS: CallStatements = {
  insertCalls: `
    insert into calls (job, stage, segment)
    select * from unnest($1::text[], $2::int4[], $3::int4[]) as given (job, stage, segment)`,
  callsToCheck: `select id, job, stage, segment from calls order by id limit $1::int4`,
  deleteCalls: `
    delete from calls c using json_array_elements_text($1::json) as given (id)
    where c.id = given.id::int8`,
  markedCalls: `
    select distinct c.job, c.stage, c.segment
    from unnest($1::text[]) as given (name) join calls c on c.job = given.name`,
}
