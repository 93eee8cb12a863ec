/**
 * The statements by which jobs are compared with their events on PostgreSQL.
 */
import type { JobCheckStatements } from '../statements.ts'
import { EVENT_COLUMNS, WORK_COLUMNS } from '../statements.ts'

const event = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')

/** `offset 0`: job by job, whatever the planner knows of the tables. */
function sizeOf(job: string, most: string): string {
  return `
    cross join lateral (
      select count(*) as rows, coalesce(sum(x.version), 0)::int8 as entries,
        coalesce(max(x.last_position), 0) as newest
      from (
        select r.version, r.last_position from work r where r.job = ${job} limit ${most}
      ) x offset 0
    ) size`
}

export const JOB_CHECKS: JobCheckStatements = {
  submits: `
    select s.position, s.job, w.job is not null, s.forgotten, size.rows, size.entries
    from (
      select e.position, e.job, exists (
        select 1 from events f
        where f.type = 'JobForgotten' and f.job = e.job and f.position > e.position
      ) as forgotten
      from events e where e.type = 'JobSubmitted' and e.position > $1::int8
      order by e.position limit $2::int4
    ) s
    left join work w
      on w.job = s.job and w.stage = -1 and w.segment = 0 and w.position = s.position
    ${sizeOf('s.job', '$4::int4')}
    where w.job is not null or (not s.forgotten and not exists (
      select 1 from baselines b where b.name = s.job and b.kind = 'gone' and b.through >= s.position
    ))
    order by s.position limit $3::int4`,
  sizes: `
    select given.job, size.rows, size.entries, size.newest
    from unnest($1::text[], $2::int4[]) as given (job, most)
    ${sizeOf('given.job', 'given.most')}`,
  events: `
    with recursive chain (job, position, before) as (
      select w.job, e.position, e.before from unnest($1::text[]) as given (job)
      cross join lateral (
        select x.job, p.position from work x
        cross join lateral (values (x.last_position), (x.position)) as p (position)
        where x.job = given.job offset 0
      ) w
      join events e on e.position = w.position
      union
      select c.job, e.position, e.before from chain c join events e on e.position = c.before
    ) select ${event}, c.job from chain c join events e on e.position = c.position`,
  rowHeads: `
    select w.job, w.stage, w.segment, w.position, w.version, w.state, w.attempt, w.due_at,
      case when length(w.record) <= $5::int4 then w.record end, w.record is not null, e.job, e.at
    from (
      select * from work r where (r.job, r.stage, r.segment) > ($1::text, $2::int4, $3::int4)
      order by r.job, r.stage, r.segment limit $4::int4
    ) w left join events e on e.position = w.last_position
    order by w.job, w.stage, w.segment`,
  pipelineHead: `
    select w.record, (select count(*) from work t where t.job = $1::text and t.stage >= 0)
    from work w where w.job = $1::text and w.stage = -1 and w.segment = 0`,
  missing: `
    select s.position, s.job from (
      select e.position, e.job from events e
      where e.type = 'JobSubmitted' and e.position > $1::int8 order by e.position limit $2::int4
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
    select ${WORK_COLUMNS.map((column) => `w.${column}`).join(', ')}
    from unnest($1::text[], $2::int4[], $3::int4[]) as given (job, stage, segment)
    cross join lateral (
      select * from work x
      where x.job = given.job and x.stage = given.stage and x.segment = given.segment offset 0
    ) w`,
}
