/**
 * The statements of time travel on PostgreSQL: the events of jobs up to a moment.
 */
import type { SnapshotStatements } from '../statements.ts'
import { EVENT_COLUMNS } from '../statements.ts'

const event = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')

const page = `
  select e.position, e.job from events e
  where e.type = 'JobSubmitted' and e.position > $1::int8 and e.position <= $2::int8 and e.at <= $3::int8
  order by e.position limit $4::int4`

/**
 * From the newest entry of each of its rows, or from the one that forgot it, back along the links.
 * `jobs`: (first, job, forgotten). `offset 0`: job by job, whatever the planner knows of the tables.
 */
function chains(jobs: string): string {
  return `
    with recursive jobs (first, job, forgotten) as materialized (${jobs}),
    chain (first, forgotten, position, before) as (
      select j.first, j.forgotten, e.position, e.before
      from jobs j
      cross join lateral (
        select x.last_position as position from work x where x.job = j.job and x.position = j.first
        union all select j.first
        union all select j.forgotten
        offset 0
      ) start
      join events e on e.position = start.position
      union
      select c.first, c.forgotten, e.position, e.before
      from chain c join events e on e.position = c.before
    )
    select c.first, c.forgotten, ${event} from chain c join events e on e.position = c.position
    where e.position <= $2::int8 and e.at <= $3::int8 order by c.first, e.position`
}

export const SNAPSHOTS: SnapshotStatements = {
  passed: `select count(*), max(position) from (${page}) as passed`,
  events: chains(`
    select p.position, p.job, f.position from (${page}) p
    left join lateral (
      select x.position, x.at from events x
      where x.type = 'JobForgotten' and x.job = p.job and x.position > p.position
      order by x.position limit 1
    ) f on true
    where f.position is null or f.position > $2::int8 or f.at > $3::int8`),
  eventsOf: chains(`
    select w.position, w.job, null::int8 from work w
    where w.job = $1::text and w.stage = -1 and w.segment = 0
    union all
    select 0, $1::text, (
      select min(f.position) from events f
      where f.type = 'JobForgotten' and f.job = $1::text and (f.position > $2::int8 or f.at > $3::int8)
    )`),
  eventsBetween: `
    select ${event} from events e
    where e.job = $1::text and e.position >= $2::int8 and e.position <= least($3::int8, $4::int8)
      and e.at <= $5::int8
    order by e.position`,
  entriesWithin: `
    select position, record from events where position > $1::int8 and position <= $2::int8
    order by position limit $3::int4`,
  newestEntriesWithin: `
    select position, record from events where position > $1::int8 and position <= $2::int8
    order by position desc limit $3::int4`,
  newestUpTo: `
    select position from events where position <= $1::int8 and at <= $2::int8
    order by position desc limit 1`,
  timeAt: 'select at from events where position <= $1::int8 order by position desc limit 1',
  oldest: `select max(through) from baselines where kind in ('job', 'queue', 'schedule')`,
}
