/**
 * The statements of the read model on SQLite. There is one transaction at a time, and each adds to the counts
 * itself.
 */
import { COUNTED_STATES } from '../../state/job-counts.ts'
import type { CountStatements } from '../count-statements.ts'
import { HELD_LIST, STARTS_IN_TIME } from '../count-statements.ts'
import { COUNT_CELLS, COUNT_COLUMNS } from '../rows/counted-rows.ts'
import { loaded } from './loaded-columns.ts'

const columns = COUNT_COLUMNS.join(', ')
const added = `
    on conflict (dimension, name, queue, type) do update
      set ${COUNT_CELLS.map((cell) => `${cell} = ${cell} + excluded.${cell}`).join(', ')}`

const IS_READY = 'x.channel is not null and x.turn is not null and x.parked is null'

/** A pipeline has a count of its own, one for each of its tags, and one if it has held effects. */
function changeByPipelines(sign: '' | '-'): string {
  const cells = COUNTED_STATES.map((state) => `${sign}(p.counted = '${state}')`)
  return `
    insert into counts (${columns})
    select d.dimension, d.name, '', p.type, ${cells.join(', ')}
    from pipelines p join (
      select 'job' as dimension, '' as name
      union all
      select 'tag', value from json_each((select tags from pipelines where job = ?1))
      union all
      select 'held', '' from pipelines where job = ?1 and held
    ) d where p.job = ?1${added}`
}

export const COUNT_STATEMENTS: CountStatements = {
  addCounts: `
    insert into counts (${columns}) values (${COUNT_COLUMNS.map(() => '?').join(', ')})${added}`,
  foldCounts: 'select 0 where ?1 is not null',
  deleteZeroCounts: `
    delete from counts where ${COUNT_CELLS.map((cell) => `${cell} = 0`).join(' and ')}`,
  allCounts: `
    select ${columns} from counts where ${COUNT_CELLS.map((cell) => `${cell} <> 0`).join(' or ')}`,
  countsNamed: `
    select * from (
      select ${columns} from counts where dimension = ?1 and name = ?2 and ?3
    )
    union all
    select * from (
      select ${columns} from counts where dimension = ?1 and name > ?2 and not ?3
      order by dimension, name, queue, type limit ?4
    )`,
  changedCounts: `select ${columns} from counts where ?1 is null`,
  dueCounts: `
    select type, queue, tags, attempt > 0, is_suspended, stage >= 0, count(*) from (
      select type, queue, tags, attempt, is_suspended, stage from work
      where channel is not null and turn is null and due_at <= ?1 order by due_at limit ?2
    ) group by 1, 2, 3, 4, 5, 6`,
  // From channel to channel, and from priority to priority, by the index, however many tasks wait in each.
  oldestDue: `
    with recursive ready (name) as (
      select min(x.channel) from work x where ${IS_READY}
      union all
      select (select min(x.channel) from work x where ${IS_READY} and x.channel > name)
      from ready where name is not null limit ?3
    ), levels (name, level) as (
      select name, (select max(x.level) from work x where x.channel = name and ${IS_READY})
      from ready where name is not null
      union all
      select l.name, (
        select max(x.level) from work x
        where x.channel = l.name and ${IS_READY} and x.level < l.level
      ) from levels l where l.level is not null limit ?3 * 2
    )
    select l.name, (
      select min(due_at) from (
        select x.due_at from work x
        where x.channel = l.name and x.level = l.level and ${IS_READY} and ${STARTS_IN_TIME('?1')}
        order by x.turn, x.rank, x.place, x.segment limit ?4
      )
    ) from levels l where l.level is not null
    union all
    select channel, min(due_at) from (
      select x.channel, x.due_at from work x
      where x.channel is not null and x.turn is null and x.due_at <= ?1 and ${STARTS_IN_TIME('?1')}
      order by x.due_at limit ?2
    ) group by channel
    union all
    select channel, min(due_at) from (
      select x.channel, x.due_at from work x
      where x.parked is not null and ${STARTS_IN_TIME('?1')} limit ?2
    ) group by channel`,
  duePipelines: `
    select type, tags, counted, held, count(*) from (
      select type, tags, counted, held from pipelines where until <= ?1 order by until limit ?2
    ) group by 1, 2, 3, 4`,
  counts: `
    select coalesce(sum(running), 0), coalesce(sum(quarantined), 0) + (
      select count(distinct job) from (
        select job from work indexed by dead_segments
        where state = 'DEAD' and stage >= 0 order by position, job limit ?1
      )
    ), (
      select coalesce(sum(${COUNT_CELLS.join(' + ')}), 0) from counts where dimension = 'held'
    ) from counts where dimension in ('job', 'segment') and queue <> ''`,

  insertLabels: 'insert or ignore into labels (label, position, job) values (?, ?, ?)',
  deleteLabels: 'delete from labels where label = ?1 and position = ?2',
  labelsAt: 'select label, position from labels where label = ? and position = ?',
  countLabels: 'select count(*) from labels',
  strayLabels: `
    select l.job, l.label, l.position from labels l where not exists (
      select 1 from work w where w.job = l.job and w.stage = -1 and w.segment = 0
    ) limit ?`,

  savePipelines: `
    insert into pipelines (job, position, type, tags, counted, held, until)
    values (?, ?, ?, ?, ?, ?, ?)
    on conflict (job) do update
      set counted = excluded.counted, held = excluded.held, until = excluded.until`,
  countedPipelines: 'select job, counted, held from pipelines where job = ?',
  lockPipelines: 'select job, counted, held from pipelines where job = ?',
  uncountPipelines: changeByPipelines('-'),
  countPipelines: changeByPipelines(''),
  deletePipelines: 'delete from pipelines where job = ?',
  allPipelines: 'select job, type, tags, counted, held, until from pipelines',

  insertQuestions: `
    insert into questions (list, since, position, stage, segment, name, job)
    values (?, ?, ?, ?, ?, ?, ?)`,
  deleteQuestions: `
    delete from questions
    where list = ? and since = ? and position = ? and stage = ? and segment = ? and name = ?`,
  questionsBehind: `
    select job, since, position, stage, segment, name from questions
    where list = ?1 and (since, position, stage, segment, name) > (?2, ?3, ?4, ?5, ?6)
    order by since, position, stage, segment, name limit ?7`,
  allQuestions: `
    select list, since, position, stage, segment, name, job from questions
    where (list, since, position, stage, segment, name) > (?1, ?2, ?3, ?4, ?5, ?6)
    order by list, since, position, stage, segment, name limit ?7`,
  heldJobsAfter: `
    select ${loaded}, (select e.record from events e where e.position = w.position) as spec
    from (
      select distinct position, job from questions
      where list = '${HELD_LIST}' and since = 0 and position > ? order by position limit ?
    ) as held join work w on w.job = held.job and w.stage = -1 and w.segment = 0
    order by w.position`,
  heldTasks: `
    select ${loaded}, null as spec from questions q
    join work w on w.job = q.job and w.stage = q.stage and w.segment = q.segment
    where q.list = '${HELD_LIST}' and q.since = 0
      and q.position = (select x.position from work x where x.job = ?1 and x.stage = -1 and x.segment = 0)
    order by q.stage, q.segment limit ?2`,
}
