/**
 * The statements of the read model on PostgreSQL. A transaction only appends to `count_changes`, so that none
 * waits for another; upkeep adds the changes up in `counts`.
 */
import { COUNTED_STATES } from '../../state/job-counts.ts'
import type { CountStatements } from '../count-statements.ts'
import { HELD_LIST, STARTS_IN_TIME } from '../count-statements.ts'
import { COUNT_CELLS, COUNT_COLUMNS } from '../rows/counted-rows.ts'
import { loaded } from './loaded-columns.ts'
import { channelHash } from './schema.ts'

const NAMES = 'dimension, name, queue, type'
const columns = COUNT_COLUMNS.join(', ')
const sums = COUNT_CELLS.map((cell) => `sum(${cell})::int8 as ${cell}`).join(', ')
const given = COUNT_COLUMNS.map((_, i) => `$${i + 1}::${i < 4 ? 'text' : 'int8'}[]`).join(', ')
const jobs = 'unnest($1::text[]) as given (job)'
const once = `(select coalesce($1::int8, (extract(epoch from clock_timestamp()) * 1000)::int8))`

const hash = channelHash('x.channel')
const IS_READY = 'x.channel is not null and x.turn is not null and x.parked is null'

/** The counts as they were added up and as they changed since. */
const ALL = `select ${columns} from counts union all select ${columns} from count_changes`

/** A pipeline has a count of its own, one for each of its tags, and one if it has held effects. */
function changeByPipelines(sign: '' | '-'): string {
  const cells = COUNTED_STATES.map((state) => `${sign}(p.counted = '${state}')::int4`)
  return `
    insert into count_changes (${columns})
    select d.dimension, d.name, '', p.type, ${cells.join(', ')}
    from ${jobs} join pipelines p on p.job = given.job
    cross join lateral (
      select 'job' as dimension, '' as name
      union all
      select 'tag', tag.value from json_array_elements_text(p.tags::json) as tag (value)
      union all
      select 'held', '' where p.held
    ) d`
}

export const COUNT_STATEMENTS: CountStatements = {
  addCounts: `insert into count_changes (${columns}) select * from unnest(${given})`,
  // Changes that another process adds up are locked: they are passed.
  foldCounts: `
    with taken as (
      delete from count_changes where ctid = any(array(
        select ctid from count_changes limit $1::int4 for update skip locked
      )) returning ${columns}
    ), folded as (
      insert into counts (${columns})
      select ${NAMES}, ${COUNT_CELLS.map((cell) => `sum(${cell})`).join(', ')} from taken
      group by ${NAMES} order by ${NAMES}
      on conflict (dimension, name, queue, type) do update
        set ${COUNT_CELLS.map((cell) => `${cell} = counts.${cell} + excluded.${cell}`).join(', ')}
    ) select count(*) from taken`,
  deleteZeroCounts: `
    delete from counts where ctid = any(array(
      select ctid from counts where ${COUNT_CELLS.map((cell) => `${cell} = 0`).join(' and ')}
      for update skip locked
    ))`,
  allCounts: `
    select ${NAMES}, ${sums} from (${ALL}) as counted group by ${NAMES}
    having ${COUNT_CELLS.map((cell) => `sum(${cell}) <> 0`).join(' or ')}`,
  // One of the two is empty.
  countsNamed: `
    (select ${columns} from counts where dimension = $1::text and name = $2::text and $3::bool)
    union all
    (select ${columns} from counts where dimension = $1::text and name > $2::text and not $3::bool
    order by ${NAMES} limit $4::int4)`,
  changedCounts: `
    select ${NAMES}, ${sums} from count_changes where dimension = $1::text group by ${NAMES}`,
  dueCounts: `
    select type, queue, tags, attempt > 0, is_suspended, stage >= 0, count(*) from (
      select type, queue, tags, attempt, is_suspended, stage from work
      where channel is not null and turn is null and due_at <= ${once} order by due_at limit $2::int4
    ) as due group by 1, 2, 3, 4, 5, 6`,
  // From channel to channel, and from priority to priority, by the index, however many tasks wait in each.
  oldestDue: `
    with recursive ready (hash, name) as (
      (select ${hash}, x.channel from work x where ${IS_READY} order by 1 limit 1)
      union all
      select next.hash, next.name from ready r cross join lateral (
        select ${hash} as hash, x.channel as name from work x where ${IS_READY} and ${hash} > r.hash
        order by 1 limit 1
      ) next
    ), levels (hash, name, level) as (
      select r.hash, r.name, (
        select max(x.level) from work x
        where ${hash} = r.hash and x.channel = r.name and ${IS_READY}
      ) from (select hash, name from ready limit $3::int4) r
      union all
      select l.hash, l.name, (
        select max(x.level) from work x
        where ${hash} = l.hash and x.channel = l.name and ${IS_READY} and x.level < l.level
      ) from levels l where l.level is not null
    )
    select l.name, (
      select min(first.due_at) from (
        select x.due_at from work x
        where ${hash} = l.hash and x.channel = l.name and x.level = l.level and ${IS_READY}
          and ${STARTS_IN_TIME(once)}
        order by x.turn, x.rank, x.place, x.segment limit $4::int4
      ) as first
    ) from (select * from levels where level is not null limit $3::int4) l
    union all
    select channel, min(due_at) from (
      select x.channel, x.due_at from work x
      where x.channel is not null and x.turn is null and x.due_at <= ${once}
        and ${STARTS_IN_TIME(once)}
      order by x.due_at limit $2::int4
    ) as due group by channel
    union all
    select channel, min(due_at) from (
      select x.channel, x.due_at from work x
      where x.parked is not null and ${STARTS_IN_TIME(once)} limit $2::int4
    ) as parked group by channel`,
  duePipelines: `
    select type, tags, counted, held, count(*) from (
      select type, tags, counted, held from pipelines
      where until <= ${once} order by until limit $2::int4
    ) as due group by 1, 2, 3, 4`,
  counts: `
    select coalesce(sum(running), 0)::int8, coalesce(sum(quarantined), 0)::int8 + (
      select count(distinct job) from (
        select job from work where state = 'DEAD' and stage >= 0 order by position, job limit $1::int4
      ) as segments
    ), (
      select coalesce(sum(${COUNT_CELLS.join(' + ')}), 0)::int8 from (${ALL}) as held
      where dimension = 'held'
    ) from (${ALL}) as counted where dimension in ('job', 'segment') and queue <> ''`,

  insertLabels: `
    insert into labels (label, position, job)
    select * from unnest($1::text[], $2::int8[], $3::text[]) on conflict do nothing`,
  deleteLabels: `
    delete from labels l using unnest($1::text[], $2::int8[]) as given (label, position)
    where l.label = given.label and l.position = given.position`,
  labelsAt: `
    select l.label, l.position from unnest($1::text[], $2::int8[]) as given (label, position)
    join labels l on l.label = given.label and l.position = given.position`,
  countLabels: 'select count(*) from labels',
  strayLabels: `
    select l.job, l.label, l.position from labels l where not exists (
      select 1 from work w where w.job = l.job and w.stage = -1 and w.segment = 0
    ) limit $1::int4`,

  savePipelines: `
    insert into pipelines (job, position, type, tags, counted, held, until)
    select * from unnest(
      $1::text[], $2::int8[], $3::text[], $4::text[], $5::text[], $6::bool[], $7::int8[]
    )
    on conflict (job) do update
      set counted = excluded.counted, held = excluded.held, until = excluded.until`,
  countedPipelines: `
    select p.job, p.counted, p.held from ${jobs} join pipelines p on p.job = given.job`,
  lockPipelines: `
    select p.job, p.counted, p.held from ${jobs} join pipelines p on p.job = given.job
    order by p.job for update of p`,
  uncountPipelines: changeByPipelines('-'),
  countPipelines: changeByPipelines(''),
  deletePipelines: `delete from pipelines p using ${jobs} where p.job = given.job`,
  allPipelines: 'select job, type, tags, counted, held, until from pipelines',

  insertQuestions: `
    insert into questions (list, since, position, stage, segment, name, job)
    select * from unnest(
      $1::text[], $2::int8[], $3::int8[], $4::int4[], $5::int4[], $6::text[], $7::text[]
    )`,
  deleteQuestions: `
    delete from questions q using unnest(
      $1::text[], $2::int8[], $3::int8[], $4::int4[], $5::int4[], $6::text[]
    ) as given (list, since, position, stage, segment, name)
    where (q.list, q.since, q.position, q.stage, q.segment, q.name)
      = (given.list, given.since, given.position, given.stage, given.segment, given.name)`,
  questionsBehind: `
    select job, since, position, stage, segment, name from questions
    where list = $1::text and (since, position, stage, segment, name)
      > ($2::int8, $3::int8, $4::int4, $5::int4, $6::text)
    order by since, position, stage, segment, name limit $7::int4`,
  allQuestions: `
    select list, since, position, stage, segment, name, job from questions
    where (list, since, position, stage, segment, name)
      > ($1::text, $2::int8, $3::int8, $4::int4, $5::int4, $6::text)
    order by list, since, position, stage, segment, name limit $7::int4`,
  // `offset 0`: see `rowsOf` of the statements.
  heldJobsAfter: `
    select ${loaded}, (select e.record from events e where e.position = w.position) as spec
    from (
      select distinct q.position, q.job from questions q
      where q.list = '${HELD_LIST}' and q.since = 0 and q.position > $1::int8
      order by q.position limit $2::int4
    ) as held
    cross join lateral (
      select * from work x where x.job = held.job and x.stage = -1 and x.segment = 0 offset 0
    ) w order by w.position`,
  heldTasks: `
    select ${loaded}, null as spec from (
      select q.job, q.stage, q.segment from questions q
      where q.list = '${HELD_LIST}' and q.since = 0 and q.position = (
        select x.position from work x where x.job = $1::text and x.stage = -1 and x.segment = 0
      ) order by q.stage, q.segment limit $2::int4
    ) as held
    cross join lateral (
      select * from work x
      where x.job = held.job and x.stage = held.stage and x.segment = held.segment offset 0
    ) w order by w.stage, w.segment`,
}
