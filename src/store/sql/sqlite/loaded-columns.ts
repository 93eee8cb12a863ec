/**
 * The columns of a row `w` of `work` as statements load them: its record comes with its steps.
 */
import { LOADED_COLUMNS } from '../statements.ts'

/** See `Records`: most tasks have no steps. A concatenation of bytes would be a text. */
const record = `case when substr(w.record, 1, 1) = x'02' then (
      with recursive chain (position, before, type, record) as (
        select e.position, e.before, e.type, e.record from events e where e.position = w.last_position
        union all
        select e.position, e.before, e.type, e.record from chain c join events e on e.position = c.before
      ) select unhex('03' || hex(w.record) || coalesce(group_concat(piece, ''), '')
          || printf('%08X', length(w.record)))
      from (
        select printf('%08X', length(record)) || hex(record) as piece from chain
        where type = 'StepRecorded' order by position
      )
    ) else w.record end as record`
export const loaded = LOADED_COLUMNS.map((column) => {
  return column === 'record' ? record : `w.${column}`
}).join(', ')
