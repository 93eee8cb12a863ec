/**
 * The statements of time travel on SQLite: the events of jobs up to a moment.
 */
import type { SnapshotStatements } from '../statements.ts'
import { EVENT_COLUMNS } from '../statements.ts'

const event = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')

const page = `
  select e.position, e.job from events e
  where e.type = 'JobSubmitted' and e.position > ?1 and e.position <= ?2 and e.at <= ?3
  order by e.position limit ?4`

/**
 * From the newest entry of each of its rows, or from the one that forgot it, back along the links.
 * `jobs`: (first, job, forgotten). A cross join is carried out in the order in which it is written: SQLite would
 * read all rows of `work` for each page of jobs.
 */
function chains(jobs: string, lastPosition: string, lastTime: string): string {
  return `
    with recursive jobs (first, job, forgotten) as materialized (${jobs}),
    chain (first, forgotten, position, before) as (
      select j.first, j.forgotten, e.position, e.before
      from jobs j cross join events e on e.position = j.first
      union
      select j.first, j.forgotten, e.position, e.before
      from jobs j cross join work w on w.job = j.job and w.position = j.first
      cross join events e on e.position = w.last_position
      union
      select j.first, j.forgotten, e.position, e.before
      from jobs j cross join events e on e.position = j.forgotten
      union
      select c.first, c.forgotten, e.position, e.before
      from chain c cross join events e on e.position = c.before
    )
    select c.first, c.forgotten, ${event} from chain c cross join events e on e.position = c.position
    where e.position <= ${lastPosition} and e.at <= ${lastTime} order by c.first, e.position`
}

export const SNAPSHOTS: SnapshotStatements = {
  passed: `select count(*), max(position) from (${page})`,
  events: chains(
    `
    select p.position, p.job, f.position from (${page}) p
    left join events f on f.position = (
      select min(x.position) from events x
      where x.type = 'JobForgotten' and x.job = p.job and x.position > p.position
    )
    where f.position is null or f.position > ?2 or f.at > ?3`,
    '?2',
    '?3',
  ),
  eventsOf: chains(
    `
    select w.position, w.job, null from work w where w.job = ?1 and w.stage = -1 and w.segment = 0
    union all
    select 0, ?1, (
      select min(f.position) from events f
      where f.type = 'JobForgotten' and f.job = ?1 and (f.position > ?2 or f.at > ?3)
    )`,
    '?2',
    '?3',
  ),
  eventsBetween: `
    select ${event} from events e
    where e.job = ?1 and e.position >= ?2 and e.position <= min(?3, ?4) and e.at <= ?5
    order by e.position`,
  entriesWithin: `
    select position, record from events where position > ?1 and position <= ?2
    order by position limit ?3`,
  newestEntriesWithin: `
    select position, record from events where position > ?1 and position <= ?2
    order by position desc limit ?3`,
  newestUpTo: `
    select position from events where position <= ?1 and at <= ?2 order by position desc limit 1`,
  timeAt: 'select at from events where position <= ? order by position desc limit 1',
  oldest: `select max(through) from baselines where kind in ('job', 'queue', 'schedule')`,
}
