/**
 * The statements by which jobs are compared with their events on SQLite.
 */
import type { JobCheckStatements } from '../statements.ts'
import { EVENT_COLUMNS, WORK_COLUMNS } from '../statements.ts'

const event = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')

export const JOB_CHECKS: JobCheckStatements = {
  submits: `
    select s.position, s.job, w.job is not null, s.forgotten,
      (select count(*) from (select 1 from work r where r.job = s.job limit ?4)),
      (select coalesce(sum(version), 0) from (select r.version from work r where r.job = s.job limit ?4))
    from (
      select e.position, e.job, exists (
        select 1 from events f
        where f.type = 'JobForgotten' and f.job = e.job and f.position > e.position
      ) as forgotten
      from events e where e.type = 'JobSubmitted' and e.position > ?1 order by e.position limit ?2
    ) s
    left join work w
      on w.job = s.job and w.stage = -1 and w.segment = 0 and w.position = s.position
    where w.job is not null or (not s.forgotten and not exists (
      select 1 from baselines b where b.name = s.job and b.kind = 'gone' and b.through >= s.position
    ))
    order by s.position limit ?3`,
  sizes: `
    select ?1, count(*), coalesce(sum(version), 0), coalesce(max(last_position), 0)
    from (select version, last_position from work where job = ?1 limit ?2)`,
  events: `
    with recursive chain (position, before) as (
      select e.position, e.before from work w join events e on e.position = w.last_position
      where w.job = ?1
      union
      select e.position, e.before from work w join events e on e.position = w.position
      where w.job = ?1
      union
      select e.position, e.before from chain c join events e on e.position = c.before
    ) select ${event}, ?1 from chain c join events e on e.position = c.position`,
  rowHeads: `
    select w.job, w.stage, w.segment, w.position, w.version, w.state, w.attempt, w.due_at,
      case when length(w.record) <= ?5 then w.record end, w.record is not null, e.job, e.at
    from work w left join events e on e.position = w.last_position
    where (w.job, w.stage, w.segment) > (?1, ?2, ?3)
    order by w.job, w.stage, w.segment limit ?4`,
  pipelineHead: `
    select w.record, (select count(*) from work t where t.job = ?1 and t.stage >= 0)
    from work w where w.job = ?1 and w.stage = -1 and w.segment = 0`,
  missing: `
    select s.position, s.job from (
      select e.position, e.job from events e
      where e.type = 'JobSubmitted' and e.position > ?1 order by e.position limit ?2
    ) s
    left join work w
      on w.job = s.job and w.stage = -1 and w.segment = 0 and w.position = s.position
    where w.job is null
      and not exists (
        select 1 from events f
        where f.type = 'JobForgotten' and f.job = s.job and f.position > s.position
      )
      and not exists (
        select 1 from baselines b
        where b.name = s.job and b.kind = 'gone' and b.through >= s.position
      )`,
  rowsAt: `
    select ${WORK_COLUMNS.join(', ')} from work where job = ? and stage = ? and segment = ?`,
}
