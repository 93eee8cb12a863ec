/**
 * The columns of a row `w` of `work` as statements load them: its record comes with its steps.
 */
import { LOADED_COLUMNS } from '../statements.ts'

/**
 * See `Records`: a task with steps has them in its events, which are found from its newest entry on. Most
 * tasks have none, and their record comes as it is.
 */
const record = `case when substring(w.record from 1 for 1) = '\\x02'::bytea then (
      with recursive chain (position, before, type, record) as (
        select e.position, e.before, e.type, e.record from events e where e.position = w.last_position
        union all
        select e.position, e.before, e.type, e.record from chain c join events e on e.position = c.before
      ) select '\\x03'::bytea || w.record || coalesce(string_agg(
        int4send(octet_length(c.record)) || c.record, ''::bytea order by c.position), ''::bytea)
        || int4send(octet_length(w.record))
      from chain c where c.type = 'StepRecorded'
    ) else w.record end as record`

export const loaded = LOADED_COLUMNS.map((column) => {
  return column === 'record' ? record : `w.${column}`
}).join(', ')
