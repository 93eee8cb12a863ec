/**
 * All SQL of the store on SQLite but for the tables themselves. What each statement is for, what it
 * is given and what it answers: `../statements.ts`.
 *
 * A transaction takes the file's one lock when it begins, so nothing else is locked. A statement with
 * a table of parameters is run for each of its rows.
 */
import type { Preconditions, FileCheck } from '../dialect.ts'
import type { Statements } from '../statements.ts'
import { CALL_STATEMENTS } from './call-statements.ts'
import { COUNT_STATEMENTS } from './count-statements.ts'
import { loaded } from './loaded-columns.ts'
import {
  BASELINE_COLUMNS,
  CHANGING_COLUMNS,
  EVENT_COLUMNS,
  FIXED_COLUMNS,
  FRESH_COLUMNS,
  nextTimes,
  notTooLate,
  pastDeadline,
  streamEntries,
  TALLY_COLUMNS,
  TALLY_COUNTS,
  UNLISTED_COLUMNS,
  STANDARD_STATEMENTS,
} from '../statements.ts'
import { BEGIN } from './stall-timer.ts'

function marks(columns: readonly string[]): string {
  return columns.map(() => '?').join(', ')
}

const submitted = '(select e.record from events e where e.position = w.position)'
/** The JobSubmitted, of a job's own row only. */
const spec = `case when w.stage = -1 then ${submitted} end as spec`
const rows = `
    select ${loaded}, case when w.stage = -1 and ?4 then ${submitted} end as spec
    from work w where w.job = ?1 and w.stage = ?2 and w.segment = ?3`
/** Locks nothing: the transaction has the whole file. */
const nothing = 'select ?'
const queues = 'select queue, record, full_at from queues where queue = ?'
const event = EVENT_COLUMNS.join(', ')
/** Of rows `x`. */
const tallySums = TALLY_COUNTS.map((count) => `sum(x.${count}) as ${count}`).join(', ')
const limits = 'select key, held, full_at from limits where key = ?'

/** Jobs with such a task, behind a position. */
function deadAfter(condition: string, index = ''): string {
  return `
    select ${loaded}, ${spec} from (
      select distinct position, job from work${index} where ${condition} and position > ?
      order by position limit ?
    ) as dead join work w on w.job = dead.job and w.stage = -1 and w.segment = 0
    order by w.position`
}

/** Goes from channel to channel by the index, however many tasks wait in each. */
const UNPARK = `
    update work set parked = null where rowid in (
      with recursive channels (name) as (
        select min(channel) from work where parked = ?1
        union all
        select (select min(channel) from work where parked = ?1 and channel > name)
        from channels where name is not null
      )
      select x.rowid from channels cross join work x
      where name is not null and x.rowid in (
        select y.rowid from work y where y.parked = ?1 and y.channel = name
        order by y.level desc, y.turn, y.rank, y.place limit ?2
      )
    )`

export const SQLITE: Statements = {
  ...STANDARD_STATEMENTS,
  ...CALL_STATEMENTS,
  ...COUNT_STATEMENTS,
  begin: BEGIN,
  beginAlone: 'begin exclusive',
  clock: 'select ?',
  firstEventFrom: 'select position, at from events where position >= ? order by position limit 1',
  positions: `
    with recursive steps (n) as (select 1 where ?1 > 0 union all select n + 1 from steps where n < ?1)
    select group_concat(n + (select coalesce(max(position), 0) from events)) from steps`,

  lockRows: rows,
  readRows: rows,
  events: 'select position, record from events where position = ?',
  lockKeys: `select w.key_held, ${loaded}, ${spec} from work w where w.key_held = ?`,
  failedTasks: `
    select ${loaded}, null as spec from work w
    where w.job = ? and w.stage >= 0 and w.state in ('FAILED', 'DEAD') order by w.stage, w.segment`,
  lockOpenTasks: nothing,
  tallies: `
    select x.job, x.stage, ${tallySums}, max(x.ended_at) as ended_at,
      (select min(w.due_at) from work w where w.job = x.job and w.stage = x.stage
        and w.stage >= 0 and w.state = 'WAITING' and w.attempt > 0) as retry_at
    from tallies x where x.job = ? group by x.job, x.stage`,
  lockQueues: nothing,
  lockQueuesShared: nothing,
  lockLimitedQueues: nothing,
  queues,
  readQueues: queues,
  leasesInQueues: `
    select q.queue, count(*) from queues q
    join work w on w.queue = q.queue and w.expires_at is not null
    where q.queue = ? and q.is_limited group by q.queue`,
  lockSchedules: 'select schedule, record from schedules where schedule = ?',
  insertLimits:
    'insert into limits (key, held, full_at) values (?, 0, 0) on conflict (key) do nothing',
  lockLimits: limits,
  tryLockLimits: limits,

  lockDueTasks: `
    select job, stage, segment, channel, level, grp, queue, type, attempt, is_suspended, tags from work
    where channel is not null and turn is null and due_at <= ?
    order by due_at, place, segment limit ?`,
  setTurns: `update work set turn = ?4 where job = ?1 and stage = ?2 and segment = ?3`,
  // Numbered AFTER the limit: a window over all that waits would read all of it.
  candidates: `
    select ${loaded}, ${spec},
      row_number() over () + ?5 + (select coalesce(max(position), 0) from events),
      w.level, w.rank, w.place
    from (
      select * from work x
      where x.channel = ?1 and x.turn is not null and x.parked is null
        and x.level >= ?2 and ${notTooLate('?4')}
      order by x.level desc, x.turn, x.rank, x.place, x.segment limit ?3
    ) w`,
  // From channel to channel by the index, however many tasks wait in each.
  busyChannels: `
    with recursive ready (name) as (
      select min(channel) from work
      where channel is not null and turn is not null and parked is null
      union all
      select (
        select min(channel) from work
        where channel > name and channel is not null and turn is not null and parked is null
      ) from ready where name is not null limit ?3
    )
    select r.name, w.level, w.turn, w.rank, w.place from ready r
    left join work w on w.rowid = (
      select x.rowid from work x
      where x.channel = r.name and x.turn is not null and x.parked is null and ${notTooLate('?1')}
      order by x.level desc, x.turn, x.rank, x.place, x.segment limit 1
    ) where r.name is not null
    union all
    select channel, null, null, null, null from (
      select channel from work where channel is not null and turn is null and due_at <= ?1
      order by due_at limit ?2
    )
    union all
    select null, null, null, null, null where exists (select 1 from limits where wake_at <= ?1)`,
  channelsWithReady: `
    select 1 where exists (
      select 1 from work x
      where x.channel = ?1 and x.turn is not null and x.parked is null
        and x.level >= ?2 and ${notTooLate('?3')}
    ) or exists (
      select 1 from work x where x.channel is not null and x.turn is null and x.due_at <= ?3
    )`,
  limitsToWake: 'select key from limits where wake_at <= ? order by wake_at limit ?',
  unpark: UNPARK,
  setWakes: `
    update limits set wake_at = min(coalesce(wake_at, ?2), ?2) where key = ?1`,
  clearWakes: 'update limits set wake_at = null where key = ?',
  lockGroupTurns: `
    select ?1, ?2, ?3,
      (select turn from group_turns where channel = ?1 and level = ?2 and grp = ?3),
      coalesce(
        (select min(turn) from (
          select * from (select turn from work where channel = ?1 and level = ?2
            and turn is not null and parked is null order by turn limit 1)
          union all
          select (select x.turn from work x where x.parked = k.value and x.channel = ?1 and x.level = ?2
            order by x.turn limit 1)
          from json_each(?4) as k
        )),
        (select max(turn) + 1 from group_turns where channel = ?1 and level = ?2),
        0
      )`,
  raiseGroupTurns: `
    update group_turns set turn = max(turn, ?4) where channel = ?1 and level = ?2 and grp = ?3`,
  saveGroupTurns: `
    insert into group_turns (channel, level, grp, turn) values (?, ?, ?, ?)
    on conflict (channel, level, grp) do update set turn = max(turn, excluded.turn)`,

  limitsAfter: 'select key, held, full_at, wake_at from limits where key > ? order by key limit ?',
  deleteLimits: `
    delete from limits where key = ?1 and held = 0 and full_at <= ?2 and wake_at is null`,
  groupTurnsAfter: `
    select s.channel, s.level, s.grp, s.turn,
      (select x.turn from work x where x.channel = s.channel and x.level = s.level
        and x.turn is not null and x.parked is null order by x.turn limit 1),
      (select max(n.turn) from group_turns n where n.channel = s.channel and n.level = s.level)
    from group_turns s where (s.channel, s.level, s.grp) > (?, ?, ?)
    order by s.channel, s.level, s.grp limit ?`,
  deleteGroupTurns:
    'delete from group_turns where channel = ?1 and level = ?2 and grp = ?3 and turn = ?4',

  insertEvents:
    'insert into events (position, job, before, type, at, record) values (?, ?, ?, ?, ?, ?)',
  insertFresh: `
    insert into work (${FRESH_COLUMNS.join(', ')}, stage, segment, last_position, version, state, place,
      committed, attempt, is_suspended)
    values (${FRESH_COLUMNS.map((_, i) => `?${i + 1}`).join(', ')}, -1, 0, ?2, 1, 'WAITING', ?2, 0, 0, 0)`,
  insertRows: `
    insert into work (${[...FIXED_COLUMNS, ...CHANGING_COLUMNS].join(', ')}) values (${marks([...FIXED_COLUMNS, ...CHANGING_COLUMNS])})`,
  updateRows: `
    update work set ${CHANGING_COLUMNS.map((column, i) => `${column} = ?${i + 6}`).join(', ')}
    where job = ?1 and stage = ?2 and segment = ?3 and version = ?4 and position = ?5`,
  updateUnlisted: `
    update work set ${UNLISTED_COLUMNS.map((column, i) => `${column} = ?${i + 4}`).join(', ')},
      rank = ?${UNLISTED_COLUMNS.indexOf('due_at') + 4}, place = 0, channel = null, level = null, parked = null,
      start_by = null, is_suspended = 0
    where job = ?1 and stage = -1 and segment = 0 and version = ?2 and position = ?3`,
  deleteJobs: 'delete from work where job = ?',
  moveTasks: `
    update work set queue = ?4, priority = ?5, deadline = ?6
    where job = ?1 and stage = ?2 and segment = ?3`,
  dropKeys: 'update work set key_held = null where job = ? and stage = -1 and segment = 0',
  saveQueues: `
    insert into queues (queue, version, record, is_limited, is_paused, full_at)
    values (?1, ?3, ?4, ?5, ?6, ?7)
    on conflict (queue) do update set version = excluded.version, record = excluded.record,
      is_limited = excluded.is_limited, is_paused = excluded.is_paused, full_at = excluded.full_at
    where queues.version = ?2`,
  rerankQueue: `
    update work set level = case when ?3 then 0 else priority end, rank = due_at - priority * ?2
    where queue = ?1 and channel is not null and level <> 2147483647`,
  chargeQueues: 'update queues set full_at = ?2 where queue = ?1',
  saveSchedules: `
    insert into schedules (schedule, version, record, is_set) values (?1, ?3, ?4, ?5)
    on conflict (schedule) do update set version = excluded.version, record = excluded.record,
      is_set = excluded.is_set
    where schedules.version = ?2`,
  saveLimits: 'update limits set held = ?2, full_at = ?3 where key = ?1',
  insertTallies: `insert into tallies (${TALLY_COLUMNS.join(', ')}) values (${marks(TALLY_COLUMNS)})`,
  deleteTalliesOf: 'delete from tallies where job = ?',

  notEnded: `
    select w.job from work w where w.job = ? and w.stage = -1 and w.segment = 0 and w.over_at is null
      and not exists (select 1 from work d where d.state = 'DEAD' and d.position = w.position)`,
  wholeJobs: `
    select ${loaded}, ${spec} from work w where w.job = ? order by w.stage, w.segment`,
  openJobsAfter: `
    select ${loaded}, s.record as spec from (
      select position, job, record from events
      where type = 'JobSubmitted' and position > ? order by position limit ?
    ) s
    join work w on w.job = s.job and w.stage = -1 and w.segment = 0 and w.position = s.position
    where w.over_at is null order by s.position limit ?`,
  submitsAfter: `
    select count(*), max(position) from (
      select position from events
      where type = 'JobSubmitted' and position > ? order by position limit ?
    )`,
  deadJobsAfter: deadAfter(`state = 'DEAD'`),
  // By its index: without figures of the tables, the one of all tasks that are DEAD is taken.
  deadPipelinesAfter: deadAfter(`state = 'DEAD' and stage >= 0`, ' indexed by dead_segments'),
  lastPosition: 'select max(last_position) from work where job = ?',
  jobMark: 'select max(position), count(*), sum(version) from work where job = ?',
  segmentsAfter: `
    select ${loaded}, null as spec from (
      select *, sum(length(record)) over (order by segment) - length(record) as bytes_before
      from (
        select * from work where job = ?1 and stage = ?2 and segment > ?3 order by segment limit ?4
      ) as page
    ) as w where bytes_before < ?5 order by segment`,
  jobHistory: `
    with recursive chain (position, before) as (
      select e.position, e.before from work w join events e on e.position = w.last_position
      where w.job = ?1 and w.last_position > ?2
      union
      select e.position, e.before from chain c join events e on e.position = c.before
      where c.before > ?2
    ), page (position) as (
      select position from chain order by position * ?4 limit ?3
    ) select p.position, (select e.record from events e where e.position = p.position)
      from page p order by p.position * ?4`,
  streamEntries: streamEntries('?1', '?2'),
  eventsAfter: 'select position, record from events where position > ? order by position limit ?',
  queueView: `
    select (select record from queues where queue = ?2), (select full_at from queues where queue = ?2),
      coalesce((select sum(running) from counts
        where dimension in ('job', 'segment') and name = '' and queue = ?2), 0),
      coalesce((select sum(queued) from counts
        where dimension in ('job', 'segment') and name = '' and queue = ?2), 0),
      (select count(*) from (
        select queue from work where channel is not null and turn is null and due_at <= ?1
        order by due_at limit ?3
      ) where queue = ?2)`,
  limitView: 'select held, full_at from limits where key = ?',
  // From one place: of two bounds SQLite goes by the first alone.
  limitsUsed: `
    select key, held, full_at from limits where key >= max(?1, ?2) and +key > ?1
    order by key limit ?3`,
  newestLeases: `
    select job, stage, segment from work indexed by leased where expires_at is not null
    order by expires_at desc limit ?`,
  // By name: to have its rows in order, SQLite would read the whole table by the primary key.
  leased: `
    select ${loaded}, ${spec} from work w indexed by leased where w.expires_at is not null
    union all
    select ${loaded}, ${spec} from work w where w.stage = -1 and w.segment = 0 and w.job in (
      select x.job from work x where x.expires_at is not null and x.stage >= 0
    ) order by 1, 2, 3`,
  schedule: 'select record from schedules where schedule = ?',
  schedules: `
    select schedule, record from schedules where is_set and schedule > ? order by schedule limit ?`,
  schedulesNamed: 'select schedule, record from schedules where schedule = ? and is_set',

  expiredLeases:
    'select job, stage, segment, attempt from work where expires_at <= ? order by expires_at limit ?',
  startTooLate:
    'select job, stage, segment from work where start_by <= ? order by start_by limit ?',
  pastDeadline: pastDeadline('?', '?'),
  pipelinesToCheck: 'select job from tallies where to_check order by id limit ?',
  tallyRows: `select id, ${TALLY_COLUMNS.join(', ')} from tallies where job = ?`,
  jobVersions: 'select job, version from work where job = ? and stage = -1 and segment = 0',
  keepJobs: nothing,
  foldTallies: `
    insert into tallies (${TALLY_COLUMNS.join(', ')})
    select x.job, x.stage, 0, ${tallySums}, max(x.ended_at)
    from tallies x where x.id in (select value from json_each(?))
      and exists (select 1 from work w where w.job = x.job and w.stage = -1 and w.segment = 0)
    group by x.job, x.stage`,
  deleteTallies: 'delete from tallies where id in (select value from json_each(?))',
  jobRows: `select ${loaded}, ${spec} from work w where w.job = ? and w.stage = -1 and w.segment = 0`,
  tasksToStop: `
    select stage, segment from work
    where job = ? and stage >= 0 and state in ('WAITING', 'LEASED') and not committed
    order by stage, segment limit ?`,
  markEnded: 'update work set over_at = ?2 where job = ?1 and stage = -1 and segment = 0',
  oldestEnded: `
    select job, over_at from work where over_at is not null and type = ? and retain_ms is ?
    order by over_at limit ?`,

  nextTimes: nextTimes('?1', '?2'),
  entryTypesAfter: 'select position, type from events where position > ? order by position limit ?',
  // There is one transaction at a time, so none that began earlier can commit later.
  horizon: 'select 1, coalesce(max(position), 0) from events',
  fence: 'select 0, coalesce(max(position), 0) from events',
  readMeta: 'select value from meta where name = ?',
  setMeta: 'insert into meta (name, value) values (?, ?) on conflict (name) do nothing',
  deleteMeta: 'delete from meta where name = ?',

  beginReading: 'begin',
  lockAll: 'select 1',
  // In a temporary table of the connection: SQLite sorts a long list on the disk.
  sortEvents: `
    create temporary table sorted as select position from events order by job, position`,
  nextEvents: `
    select ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}
    from temp.sorted s join events e on e.position = s.position
    where s.rowid > ?1 and s.rowid <= ?1 + 500 order by s.rowid`,
  dropSortedEvents: 'drop table temp.sorted',
  newestEvents: `select ${event} from events order by position desc limit ?`,
  missingTriggers: `
    select 4 - count(*) from sqlite_master where type = 'trigger'
      and name in ('no_update', 'no_delete', 'no_baseline_update', 'no_baseline_delete')`,
  lastPositions: `
    select coalesce(max(position), 0), coalesce(max(position), 0) from events`,
  advancePosition: 'select ?',
  duplicates: `
    select 'work', key_held, count(*) from work where key_held is not null
    group by key_held having count(*) > 1`,
  strayRows: `
    select w.job, w.stage, w.segment, w.position from work w where not exists (
      select 1 from events e
      where e.position = w.position and e.job = w.job and e.type = 'JobSubmitted'
    ) order by w.job, w.stage, w.segment limit ?`,
  wholeRows: `
    select ${[...FIXED_COLUMNS, ...CHANGING_COLUMNS].join(', ')} from work where job = ? order by stage, segment`,
  markedPipelines: 'select distinct job from tallies where job = ? and to_check',
  baselines: `
    select ${BASELINE_COLUMNS.join(', ')} from baselines where kind = ?
    order by name, stage, segment, through`,
  baselinesOf: `
    select ${BASELINE_COLUMNS.join(', ')} from baselines where name = ? and kind in ('job', 'kept', 'gone')
    order by stage, segment, through`,
  insertBaselines: `insert into baselines (${BASELINE_COLUMNS.join(', ')}) values (${marks(BASELINE_COLUMNS)})`,
  deleteRows: 'delete from work where job = ? and stage = ? and segment = ?',
  releaseKeys: 'update work set key_held = null where key_held = ?',
  deleteQueues: 'delete from queues where queue = ?',
  deleteSchedules: 'delete from schedules where schedule = ?',
  unparkAll: 'update work set parked = null where parked = ?',
}

export const CHECKS: Preconditions = {
  isLast: 'select 1 where ? = (select coalesce(max(position), 0) from events)',
  isQueue: 'select 1 where ?2 = coalesce((select version from queues where queue = ?1), 0)',
}

/** Of our tables these are no damage to the file: verify names the row itself. */
const BROKEN_ROWS = ['events', 'work', 'limits', 'queues', 'schedules'].map(
  (table) => `'CHECK constraint failed in ${table}'`,
)

/** Tables that have indexes. */
const INDEXED = [
  'events',
  'baselines',
  'work',
  'limits',
  'group_turns',
  'labels',
  'pipelines',
  'questions',
]

/**
 * SQLite reads its whole file. Tables of the user's may be in the same file: problems of theirs are
 * reported, too, but nothing of theirs is touched.
 */
export const FILE_CHECK: FileCheck = {
  // It reports a hundred problems at most, and names an index at the end of a line. An index that forbids
  // two rows which are there cannot be rebuilt.
  run: `
    select replace(i.integrity_check, '*** in database main ***' || char(10), ''), m.name
    from pragma_integrity_check i
    left join sqlite_master m on m.type = 'index'
      and m.tbl_name in (${INDEXED.map((table) => `'${table}'`).join(', ')})
      and substr(i.integrity_check, -length(m.name) - 7) = ' index ' || m.name
      and i.integrity_check not like 'non-unique %'
    where i.integrity_check <> 'ok' and i.integrity_check not in (${BROKEN_ROWS.join(', ')})`,
  makeIndexes: INDEXED.map((table) => `reindex ${table}`),
}

/** For a transaction of the user's. */
export const USER_TRANSACTION = {
  /** Fails where a transaction is under way. */
  begin: 'begin',
  /** From here on no other connection writes to the file. */
  lockFile: `update meta set value = value where name = 'id'`,
} as const
