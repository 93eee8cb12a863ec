/**
 * All SQL of the store on PostgreSQL but for the tables themselves. What each statement is for, what
 * it is given and what it answers: `../statements.ts`.
 *
 * Locks are taken in one order: queues, then rows, keys, schedules and limits, each by name. A table
 * of parameters comes as arrays, one for each column.
 */
import type { ForgetCount, VacuumTables } from '../dialect.ts'
import type { Statements } from '../statements.ts'
import {
  BASELINE_COLUMNS,
  CHANGING_COLUMNS,
  EVENT_COLUMNS,
  FIXED_COLUMNS,
  FRESH_COLUMNS,
  LOADED_COLUMNS,
  nextTimes,
  notTooLate,
  pastDeadline,
  streamEntries,
  TALLY_COLUMNS,
  TALLY_COUNTS,
  UNLISTED_COLUMNS,
  STANDARD_STATEMENTS,
} from '../statements.ts'
import { CALL_STATEMENTS } from './call-statements.ts'
import { COUNT_STATEMENTS } from './count-statements.ts'
import { loaded } from './loaded-columns.ts'
import { given, typeOf } from './parameter-table.ts'
import { identifier } from './qualified-names.ts'
import { channelHash, TURNS_OF_BLOCK } from './schema.ts'

/** Which rows `w` of work are given. */
const addressed = `w.job = given.job and w.stage = given.stage and w.segment = given.segment`

const submitted = '(select e.record from events e where e.position = w.position)'
/** The JobSubmitted, of a job's own row only. */
const spec = `case when w.stage = -1 then ${submitted} end as spec`
const ADDRESS = ['job', 'stage', 'segment'] as const
/** The same if it is `wanted`, with rows of `addressesWithWanted`. */
const specIfWanted = `case when w.stage = -1 and given.wanted then ${submitted} end`
const addressesWithWanted = given([...ADDRESS, 'wanted'], ['text', 'int4', 'int4', 'bool'])
const clock = '(extract(epoch from clock_timestamp()) * 1000)::int8'
const now = `coalesce($1::int8, ${clock})`
/** The planner uses an index only for a time that does not change from row to row. */
const once = `(select ${now})`
const names = given(['name'], ['text'])
/** Of rows `t`. */
const tallySums = TALLY_COUNTS.map((count) => `sum(t.${count}) as ${count}`).join(', ')
const event = EVENT_COLUMNS.join(', ')
/** It needs no right but the one to draw positions. */
const lastGiven = `coalesce(pg_sequence_last_value('positions'::regclass), 0)`

const OWN = ' and x.stage = -1 and x.segment = 0'
const TASKS = ' and x.stage >= 0'

/**
 * The rows of jobs, job by job. With a plain join the planner may begin at the other end, and read the
 * whole table; `offset 0` keeps it from making a plain join of this.
 */
function rowsOf(job: string, condition = '', name = 'w'): string {
  return `cross join lateral (select * from work x where x.job = ${job}${condition} offset 0) ${name}`
}

/** Jobs with such a task `d`, behind a position. */
function deadAfter(condition: string, order: string): string {
  return `
    select ${loaded}, ${spec} from (
      select distinct d.position, d.job from work d
      where ${condition} and d.position > $1::int8 order by ${order} limit $2::int4
    ) as dead ${rowsOf('dead.job', OWN)}
    order by w.position`
}

/** Of the tasks in a queue, as they were added up and as they changed since. */
function countsOfQueue(queue: string): string {
  const condition = `dimension in ('job', 'segment') and name = '' and queue = ${queue}`
  return `
      select running, queued from counts where ${condition}
      union all
      select running, queued from count_changes where ${condition}`
}

/** Whatever the server's default is: a statement that waited for a lock must read what is there by then. */
const BEGIN = 'begin isolation level read committed'

/** Rows `x` of a channel. */
function inChannel(channel: string): string {
  return `${channelHash('x.channel')} = ${channelHash(channel)} and x.channel = ${channel}`
}

/** Rows `n` of the groups in a channel and level; two channels with the same hash count as one. */
function groupsIn(of: string): string {
  return `${channelHash('n.channel')} = ${channelHash(`${of}.channel`)} and n.level = ${of}.level`
}

/** Of these, the block of the newest turn. */
function newestBlock(of: string): string {
  return `(select n.block from group_turns n where ${groupsIn(of)} order by n.block desc limit 1)`
}

const waitingHash = channelHash('y.channel')

/** Goes from channel to channel by the index, however many tasks wait in each. */
const UNPARK = `
    with recursive parked (key, most, now, hash) as (
      select given.name, given.most, given.now, first.hash
      from unnest($1::text[], $2::int4[], $3::int8[]) as given (name, most, now)
      cross join lateral (
        select ${waitingHash} as hash from work y where y.parked = given.name order by 1 limit 1
      ) first
      union all
      select p.key, p.most, p.now, next.hash from parked p
      cross join lateral (
        select ${waitingHash} as hash from work y where y.parked = p.key and ${waitingHash} > p.hash
        order by 1 limit 1
      ) next
    ), best as materialized (
      select p.key, p.hash, x.job, x.stage, x.segment from parked p
      cross join lateral (
        select y.job, y.stage, y.segment from work y where y.parked = p.key and ${waitingHash} = p.hash
        order by y.level desc, y.turn, y.rank, y.place limit p.most for update skip locked
      ) x
    ), called as (
      update work w set parked = null from best as given where ${addressed}
    )
    update limits l set wake_at = least(l.wake_at, p.now) from parked p
    where l.key = p.key
      and (select count(*) from best b where b.key = p.key and b.hash = p.hash) < p.most
      and (
        select true from work y where y.parked = p.key and ${waitingHash} = p.hash
          and not exists (
            select 1 from best b where b.job = y.job and b.stage = y.stage and b.segment = y.segment
          )
        limit 1
      )`

export const POSTGRES: Statements = {
  ...STANDARD_STATEMENTS,
  ...CALL_STATEMENTS,
  ...COUNT_STATEMENTS,
  begin: BEGIN,
  beginAlone: BEGIN,
  clock: `select ${now}`,
  firstEventFrom: `
    select position, at from events where position >= $1::int8 order by position limit 1`,
  // The transaction takes its number first: a watch must know which transactions may still commit.
  positions: `
    with own as materialized (select pg_current_xact_id())
    select string_agg(nextval('positions')::text, ',') from own, generate_series(1, $1::int4)`,

  lockRows: `
    select ${loaded}, ${specIfWanted} from ${addressesWithWanted} join work w on ${addressed}
    order by w.job, w.stage, w.segment for update of w`,
  readRows: `
    select ${loaded}, ${specIfWanted} from ${addressesWithWanted} join work w on ${addressed}`,
  events: `select e.position, e.record from ${given(['position'])} join events e using (position)`,
  lockKeys: `
    select w.key_held, ${loaded}, ${spec} from ${names} join work w on w.key_held = given.name
    order by w.job for update of w`,
  failedTasks: `
    select ${loaded}, null as spec from ${names} ${rowsOf('given.name', TASKS)}
    where w.state in ('FAILED', 'DEAD') order by w.job, w.stage, w.segment`,
  lockOpenTasks: `
    with locked as (
      select w.job from (select name from ${names} order by name) as given
      cross join lateral (
        select x.job from work x
        where x.job = given.name and x.stage >= 0 and x.state in ('WAITING', 'LEASED', 'DEAD')
        order by x.stage, x.segment for update
      ) w
    ) select count(*) from locked`,
  // `offset 0`: see `rowsOf`.
  tallies: `
    select t.job, t.stage, ${tallySums}, max(t.ended_at) as ended_at,
      (select min(w.due_at) from work w where w.job = t.job and w.stage = t.stage
        and w.stage >= 0 and w.state = 'WAITING' and w.attempt > 0) as retry_at
    from ${names}
    cross join lateral (select * from tallies x where x.job = given.name offset 0) t
    group by t.job, t.stage`,
  lockQueues: `
    select pg_advisory_xact_lock(hashtextextended(current_schema() || '/queue/' || name, 0))
    from (select name from ${names} order by name) as ordered`,
  lockQueuesShared: `
    select pg_advisory_xact_lock_shared(hashtextextended(current_schema() || '/queue/' || name, 0))
    from (select name from ${names} order by name) as ordered`,
  // On its own: a statement that waits for a lock reads everything else as it was before the wait.
  lockLimitedQueues: `
    select q.queue from ${names} join queues q on q.queue = given.name
    where q.is_limited order by q.queue for update of q`,
  queues: `select q.queue, q.record, q.full_at from ${names} join queues q on q.queue = given.name`,
  readQueues: `select q.queue, q.record from ${names} join queues q on q.queue = given.name`,
  leasesInQueues: `
    select q.queue,
      (select count(*) from work w where w.expires_at is not null and w.queue = q.queue)
    from ${names} join queues q on q.queue = given.name where q.is_limited`,
  lockSchedules: `
    select s.schedule, s.record from ${names} join schedules s on s.schedule = given.name
    order by s.schedule for update of s`,
  insertLimits: `
    insert into limits (key, held, full_at) select name, 0, 0 from ${names} order by name
    on conflict (key) do nothing`,
  lockLimits: `
    select l.key, l.held, l.full_at from ${names} join limits l on l.key = given.name
    order by l.key for update of l`,
  tryLockLimits: `
    select l.key, l.held, l.full_at from ${names} join limits l on l.key = given.name
    order by l.key for update of l skip locked`,

  lockDueTasks: `
    select w.job, w.stage, w.segment, w.channel, w.level, w.grp, w.queue, w.type, w.attempt, w.is_suspended, w.tags
    from work w
    where w.channel is not null and w.turn is null and w.due_at <= ${once}
    order by w.due_at, w.place, w.segment limit $2::int4 for update skip locked`,
  setTurns: `
    update work w set turn = given.turn from ${given([...ADDRESS, 'turn'])} where ${addressed}`,
  candidates: `
    select ${loaded}, ${spec}, nextval('positions'), w.level, w.rank, w.place
    from ${given(['name', 'lowest', 'most', 'now', 'taken'], ['text', 'int4', 'int4', 'int8', 'int8'])}
    cross join lateral (
      select ${[...LOADED_COLUMNS, 'level', 'rank', 'place'].map((column) => `x.${column}`).join(', ')}
      from work x
      where ${inChannel('given.name')} and x.turn is not null and x.parked is null
        and x.level >= given.lowest
        and ${notTooLate(`coalesce(given.now, ${clock})`)}
      order by x.level desc, x.turn, x.rank, x.place, x.segment
      limit given.most for update skip locked
    ) w`,
  // From channel to channel by the index, however many tasks wait in each. If two channels had the same
  // hash, the second would be found once the first is empty.
  busyChannels: `
    with recursive ready (hash, name, level, turn, rank, place) as (
      (select ${channelHash('x.channel')}, x.channel, x.level, x.turn, x.rank, x.place from work x
        where x.channel is not null and x.turn is not null and x.parked is null
        order by 1, x.level desc, x.turn, x.rank, x.place limit 1)
      union all
      select next.* from ready r cross join lateral (
        select ${channelHash('x.channel')} as hash, x.channel, x.level, x.turn, x.rank, x.place
        from work x
        where x.channel is not null and x.turn is not null and x.parked is null
          and ${channelHash('x.channel')} > r.hash
        order by 1, x.level desc, x.turn, x.rank, x.place limit 1
      ) next
    )
    (select name, level, turn, rank, place from ready limit $3::int4)
    union all
    select channel, null, null, null, null from (
      select channel from work where channel is not null and turn is null and due_at <= ${once}
      order by due_at limit $2::int4
    ) as due
    union all
    select null, null, null, null, null where exists (select 1 from limits where wake_at <= ${once})`,
  channelsWithReady: `
    select 1 from ${given(['name', 'lowest', 'now'], ['text', 'int4', 'int8'])}
    where exists (
      select 1 from work x
      where ${inChannel('given.name')} and x.turn is not null and x.parked is null
        and x.level >= given.lowest and ${notTooLate('given.now')}
    ) or exists (
      select 1 from work x where x.channel is not null and x.turn is null and x.due_at <= given.now
    )`,
  limitsToWake: `
    select key from limits where wake_at <= ${once} order by wake_at limit $2::int4
    for update skip locked`,
  unpark: UNPARK,
  setWakes: `
    update limits l set wake_at = least(l.wake_at, given.wake_at)
    from ${given(['name', 'wake_at'], ['text', 'int8'])} where l.key = given.name`,
  clearWakes: `update limits l set wake_at = null from ${names} where l.key = given.name`,
  // Where a group begins is the same for all groups of a channel and level: it is looked up once.
  lockGroupTurns: `
    with wanted as materialized (
      select channel, level, grp, keys
      from ${given(['channel', 'level', 'grp', 'keys'], ['text', 'int4', 'text', 'text'])}
    ), places as materialized (
      select one.channel, one.level, (
        select x.turn from work x where ${inChannel('one.channel')} and x.level = one.level
          and x.turn is not null and x.parked is null order by x.turn limit 1
      ) as ready, coalesce((${newestBlock('one')} + 1) * ${TURNS_OF_BLOCK}, 0) as newest
      from (select distinct channel, level from wanted) as one
    )
    select g.channel, g.level, g.grp, (
      select s.turn from group_turns s
      where s.channel = g.channel and s.level = g.level and s.grp = g.grp
    ), coalesce(least(p.ready, case when g.keys is not null then (
      select min(first.turn) from json_array_elements_text(g.keys::json) as k (key)
      cross join lateral (
        select x.turn from work x where x.parked = k.key and ${inChannel('g.channel')} and x.level = g.level
        order by x.turn limit 1
      ) as first
    ) end), p.newest)
    from wanted g join places p on p.channel = g.channel and p.level = g.level`,
  // Without a look for a conflict it costs half. Rows are given, and so locked, in one order everywhere.
  raiseGroupTurns: `
    update group_turns s set turn = greatest(s.turn, given.turn)
    from ${given(['channel', 'level', 'grp', 'turn'])}
    where s.channel = given.channel and s.level = given.level and s.grp = given.grp`,
  saveGroupTurns: `
    insert into group_turns (channel, level, grp, turn)
    select channel, level, grp, turn from ${given(['channel', 'level', 'grp', 'turn'])}
    order by channel, level, grp
    on conflict (channel, level, grp) do update set turn = greatest(group_turns.turn, excluded.turn)`,

  // A row that another transaction has locked is passed: nothing waits for it.
  limitsAfter: `
    select key, held, full_at, wake_at from limits where key > $1::text order by key limit $2::int4`,
  deleteLimits: `
    delete from limits l using (
      select x.key from unnest($1::text[], $2::float8[]) as given (name, full_by)
      join limits x on x.key = given.name
      where x.held = 0 and x.full_at <= given.full_by and x.wake_at is null
      for update of x skip locked
    ) as free where l.key = free.key`,
  groupTurnsAfter: `
    with page as materialized (
      select s.channel, s.level, s.grp, s.turn from group_turns s
      where (s.channel, s.level, s.grp) > ($1::text, $2::int4, $3::text)
      order by s.channel, s.level, s.grp limit $4::int4
    ), places as materialized (
      select one.channel, one.level, (
        select x.turn from work x where ${inChannel('one.channel')} and x.level = one.level
          and x.turn is not null and x.parked is null order by x.turn limit 1
      ) as ready, (
        select max(n.turn) from group_turns n
        where ${groupsIn('one')} and n.block = ${newestBlock('one')}
      ) as newest
      from (select distinct channel, level from page) as one
    )
    select g.channel, g.level, g.grp, g.turn,
      (select p.ready from places p where p.channel = g.channel and p.level = g.level),
      (select p.newest from places p where p.channel = g.channel and p.level = g.level)
    from page g`,
  deleteGroupTurns: `
    delete from group_turns s using (
      select x.channel, x.level, x.grp
      from unnest($1::text[], $2::int4[], $3::text[], $4::int8[]) as given (channel, level, grp, turn)
      join group_turns x on x.channel = given.channel and x.level = given.level and x.grp = given.grp
      where x.turn = given.turn
      for update of x skip locked
    ) as passed
    where s.channel = passed.channel and s.level = passed.level and s.grp = passed.grp`,

  insertEvents: `
    insert into events (position, job, before, type, at, record)
    select * from ${given(['position', 'job', 'before', 'type', 'at', 'record'])}`,
  insertFresh: `
    insert into work (${FRESH_COLUMNS.join(', ')}, last_position, place)
    select given.*, position, position from ${given(FRESH_COLUMNS)}`,
  insertRows: `
    insert into work (${[...FIXED_COLUMNS, ...CHANGING_COLUMNS].join(', ')})
    select * from ${given([...FIXED_COLUMNS, ...CHANGING_COLUMNS])}`,
  updateRows: `
    with changed as (
      update work w set ${CHANGING_COLUMNS.map((column) => `${column} = given.${column}`).join(', ')}
      from ${given([...ADDRESS, 'was', 'position', ...CHANGING_COLUMNS])}
      where ${addressed} and w.version = given.was and w.position = given.position
      returning 1
    ) select as_expected(count(*), cardinality($1::text[])) from changed`,
  updateUnlisted: `
    with changed as (
      update work w set ${UNLISTED_COLUMNS.map((column) => `${column} = given.${column}`).join(', ')},
        rank = given.due_at, place = 0, channel = null, level = null, parked = null, start_by = null,
        is_suspended = false
      from (
        select given.*, -1 as stage, 0 as segment
        from ${given(['job', 'was', 'position', ...UNLISTED_COLUMNS])} offset 0
      ) as given
      where ${addressed} and w.version = given.was and w.position = given.position
      returning 1
    ) select as_expected(count(*), cardinality($1::text[])) from changed`,
  deleteJobs: `delete from work w using ${names} where w.job = given.name`,
  moveTasks: `update work w set queue = given.queue, priority = given.priority, deadline = given.deadline
    from ${given([...ADDRESS, 'queue', 'priority', 'deadline'])} where ${addressed}`,
  dropKeys: `
    update work w set key_held = null
    from (select r.job, r.stage, r.segment from ${names} ${rowsOf('given.name', OWN, 'r')}) as given
    where ${addressed}`,
  saveQueues: `
    with saved as (
      insert into queues (queue, version, record, is_limited, is_paused, full_at)
      select queue, version, record, is_limited, is_paused, full_at
      from ${given(
        ['queue', 'was', 'version', 'record', 'is_limited', 'is_paused', 'full_at'],
        ['text', 'int8', 'int8', 'bytea', 'bool', 'bool', 'float8'],
      )}
      on conflict (queue) do update set version = excluded.version, record = excluded.record,
        is_limited = excluded.is_limited, is_paused = excluded.is_paused, full_at = excluded.full_at
      where queues.version = any($2::int8[])
      returning 1
    ) select as_expected(count(*), cardinality($1::text[])) from saved`,
  rerankQueue: `
    update work set level = case when $3::bool then 0 else priority end,
      rank = due_at - priority * $2::int8
    where queue = $1::text and channel is not null and level <> 2147483647`,
  chargeQueues: `
    update queues q set full_at = given.full_at from ${given(['name', 'full_at'], ['text', 'float8'])}
    where q.queue = given.name`,
  saveSchedules: `
    with saved as (
      insert into schedules (schedule, version, record, is_set)
      select schedule, version, record, is_set
      from ${given(
        ['schedule', 'was', 'version', 'record', 'is_set'],
        ['text', 'int8', 'int8', 'bytea', 'bool'],
      )}
      on conflict (schedule) do update set version = excluded.version, record = excluded.record,
        is_set = excluded.is_set
      where schedules.version = any($2::int8[])
      returning 1
    ) select as_expected(count(*), cardinality($1::text[])) from saved`,
  saveLimits: `
    update limits l set held = given.held, full_at = given.full_at
    from ${given(['name', 'held', 'full_at'], ['text', 'int8', 'float8'])}
    where l.key = given.name`,
  insertTallies: `
    insert into tallies (${TALLY_COLUMNS.join(', ')}) select * from ${given(TALLY_COLUMNS)}`,
  deleteTalliesOf: `delete from tallies t using ${names} where t.job = given.name`,

  notEnded: `
    select w.job from ${names} ${rowsOf('given.name', OWN)} where w.over_at is null
      and not exists (select 1 from work d where d.state = 'DEAD' and d.position = w.position)`,
  wholeJobs: `
    select ${loaded}, ${spec} from ${names} ${rowsOf('given.name')}
    order by w.job, w.stage, w.segment`,
  openJobsAfter: `
    select ${loaded}, s.record as spec from (
      select position, job, record from events
      where type = 'JobSubmitted' and position > $1::int8 order by position limit $2::int4
    ) s ${rowsOf('s.job', OWN)}
    where w.position = s.position and w.over_at is null order by s.position limit $3::int4`,
  submitsAfter: `
    select count(*), max(position) from (
      select position from events
      where type = 'JobSubmitted' and position > $1::int8 order by position limit $2::int4
    ) as passed`,
  deadJobsAfter: deadAfter(`d.state = 'DEAD'`, 'd.position'),
  // In the order of an index that has no other tasks.
  deadPipelinesAfter: deadAfter(`d.state = 'DEAD' and d.stage >= 0`, 'd.position, d.job'),
  lastPosition: `select max(last_position) from work where job = $1::text`,
  jobMark: `select max(position), count(*), sum(version)::int8 from work where job = $1::text`,
  // The size of a record is known without its bytes.
  segmentsAfter: `
    select ${loaded}, null as spec from (
      select x.*, sum(octet_length(x.record)) over (order by x.segment) - octet_length(x.record) as bytes_before
      from (
        select * from work where job = $1::text and stage = $2::int4 and segment > $3::int4
        order by segment limit $4::int4
      ) x
    ) w where w.bytes_before < $5::int8 order by w.segment`,
  jobHistory: `
    with recursive chain (position, before) as (
      select e.position, e.before from work w join events e on e.position = w.last_position
      where w.job = $1::text and w.last_position > $2::int8
      union
      select e.position, e.before from chain c join events e on e.position = c.before
      where c.before > $2::int8
    ) select p.position, (select e.record from events e where e.position = p.position)
      from (select position from chain order by position * $4::int8 limit $3::int4) p
      order by p.position * $4::int8`,
  streamEntries: streamEntries('$1::int8', '$2::int4'),
  eventsAfter: `select position, record from events where position > $1::int8 order by position limit $2::int4`,
  queueView: `
    select (select record from queues where queue = $2::text),
      (select full_at from queues where queue = $2::text),
      coalesce(sum(running), 0)::int8, coalesce(sum(queued), 0)::int8, (
        select count(*) from (
          select queue from work where channel is not null and turn is null and due_at <= ${once}
          order by due_at limit $3::int4
        ) as due where queue = $2::text
      )
    from (${countsOfQueue('$2::text')}) as counted`,
  limitView: `select held, full_at from limits where key = $1::text`,
  limitsUsed: `
    select key, held, full_at from limits where key > $1::text and key >= $2::text
    order by key limit $3::int4`,
  newestLeases: `
    select job, stage, segment from work where expires_at is not null
    order by expires_at desc limit $1::int4`,
  // Apart from the stage: to have jobs in order, the server would read the whole table by the primary key.
  leased: `
    select ${loaded}, ${spec} from work w where w.expires_at is not null
    union all
    select ${loaded}, ${spec} from (
      select distinct l.job from (
        select job, stage from work where expires_at is not null offset 0
      ) as l where l.stage >= 0
    ) as of ${rowsOf('of.job', OWN)} order by 1, 2, 3`,
  schedule: `select record from schedules where schedule = $1::text`,
  schedules: `
    select schedule, record from schedules where is_set and schedule collate "C" > $1::text
    order by schedule collate "C" limit $2::int4`,
  schedulesNamed: `
    select s.schedule, s.record from ${names} join schedules s on s.schedule = given.name
    where s.is_set`,

  // Another transaction decides on a locked row: the next round of upkeep sees it again.
  expiredLeases: `
    select job, stage, segment, attempt from work where expires_at <= ${once}
    order by expires_at limit $2::int4 for update skip locked`,
  startTooLate: `
    select job, stage, segment from work where start_by <= ${once} order by start_by limit $2::int4`,
  pastDeadline: pastDeadline(once, '$2::int4'),
  pipelinesToCheck: `select job from tallies where to_check order by id limit $1::int4`,
  tallyRows: `
    select t.id, ${TALLY_COLUMNS.map((column) => `t.${column}`).join(', ')} from ${names}
    cross join lateral (select * from tallies x where x.job = given.name offset 0) t`,
  jobVersions: `select w.job, w.version from ${names} ${rowsOf('given.name', OWN)}`,
  keepJobs: `
    select 1 from (select name from ${names} order by name) as given
    cross join lateral (
      select 1 from work x where x.job = given.name${OWN} for key share
    ) w`,
  foldTallies: `
    with free as (
      select x.id from json_array_elements_text($1::json) as given (id)
      join tallies x on x.id = given.id::int8 for update of x skip locked
    ), taken as (
      delete from tallies t using free where t.id = free.id
      returning t.job, t.stage, ${TALLY_COUNTS.map((count) => `t.${count}`).join(', ')}, t.ended_at
    )
    insert into tallies (${TALLY_COLUMNS.join(', ')})
    select t.job, t.stage, false, ${tallySums}, max(t.ended_at)
    from taken t
    where exists (select 1 from work x where x.job = t.job${OWN})
    group by t.job, t.stage`,
  deleteTallies: 'select $1::text',
  jobRows: `select ${loaded}, ${spec} from ${names} ${rowsOf('given.name', OWN)}`,
  tasksToStop: `
    select stage, segment from work
    where job = $1::text and stage >= 0 and state in ('WAITING', 'LEASED') and not committed
    order by stage, segment limit $2::int4`,
  markEnded: `
    update work w set over_at = given.over_at from (
      select r.job, r.stage, r.segment, given.over_at
      from ${given(['name', 'over_at'], ['text', 'int8'])} ${rowsOf('given.name', OWN, 'r')}
    ) as given where ${addressed}`,
  // One of the two is empty. The index gives the order only for what stands in `order by`, null or not.
  oldestEnded: `
    (select job, over_at from work
    where over_at is not null and type = $1::text and retain_ms is null and $2::int8 is null
    order by retain_ms, over_at limit $3::int4)
    union all
    (select job, over_at from work
    where over_at is not null and type = $1::text and retain_ms = $2::int8
    order by over_at limit $3::int4)`,

  nextTimes: nextTimes(now, '$2::int8'),
  entryTypesAfter: `
    select position, type from events where position > $1::int8 order by position limit $2::int4`,
  horizon: `
    select pg_snapshot_xmin(pg_current_snapshot())::text::int8,
      coalesce((select max(position) from events), 0)`,
  // The transaction's own number, because a snapshot does not know of those that were given out last.
  fence: `
    select pg_current_xact_id()::text::int8 + 1, coalesce((select max(position) from events), 0)`,
  readMeta: `select value from meta where name = $1::text`,
  setMeta: `insert into meta (name, value) values ($1::text, $2::text) on conflict (name) do nothing`,
  deleteMeta: `delete from meta where name = $1::text`,

  beginReading: 'begin isolation level repeatable read read only',
  lockAll: `
    lock table events, baselines, work, queues, schedules, limits, group_turns, counts,
      count_changes, labels, pipelines, questions, tallies, history, calls in exclusive mode`,
  // The server sorts on the disk what does not fit into memory.
  sortEvents: `
    declare sorted no scroll cursor for
    select ${event} from events order by job collate "C" nulls first, position`,
  nextEvents: 'fetch forward 500 from sorted',
  dropSortedEvents: 'close sorted',
  newestEvents: `select ${event} from events order by position desc limit $1::int4`,
  missingTriggers: `
    select 6 - count(*) from pg_catalog.pg_trigger
    where tgrelid in ('events'::regclass, 'baselines'::regclass)
      and tgname in ('append_only', 'append_only_update', 'append_only_whole') and tgenabled in ('O', 'A')`,
  lastPositions: `
    select coalesce((select max(position) from events), 0), ${lastGiven}`,
  advancePosition: `select setval('positions', greatest($1::int8, ${lastGiven}, 1))`,
  duplicates: `
    select 'work', key_held, count(*) from work where key_held is not null
    group by key_held having count(*) > 1
    union all
    select 'events', position::text, count(*) from events group by position having count(*) > 1
    union all
    select 'queues', queue, count(*) from queues group by queue having count(*) > 1
    union all
    select 'schedules', schedule, count(*) from schedules group by schedule having count(*) > 1`,
  strayRows: `
    select w.job, w.stage, w.segment, w.position from work w where not exists (
      select from events e
      where e.position = w.position and e.job = w.job and e.type = 'JobSubmitted'
    ) order by w.job, w.stage, w.segment limit $1::int4`,
  wholeRows: `
    select ${[...FIXED_COLUMNS, ...CHANGING_COLUMNS].map((column) => `w.${column}`).join(', ')}
    from ${names} ${rowsOf('given.name')} order by w.job, w.stage, w.segment`,
  markedPipelines: `
    select distinct t.job from ${names} join tallies t on t.job = given.name where t.to_check`,
  baselines: `
    select ${BASELINE_COLUMNS.join(', ')} from baselines where kind = $1::text
    order by name, stage, segment, through`,
  baselinesOf: `
    select ${BASELINE_COLUMNS.map((column) => `b.${column}`).join(', ')}
    from ${names} join baselines b on b.name = given.name
    where b.kind in ('job', 'kept', 'gone') order by b.name, b.stage, b.segment, b.through`,
  insertBaselines: `
    insert into baselines (${BASELINE_COLUMNS.join(', ')}) select * from ${given(BASELINE_COLUMNS)}`,
  deleteRows: `delete from work w using ${given(ADDRESS)} where ${addressed}`,
  releaseKeys: `update work w set key_held = null from ${names} where w.key_held = given.name`,
  deleteQueues: `delete from queues q using ${names} where q.queue = given.name`,
  deleteSchedules: `delete from schedules s using ${names} where s.schedule = given.name`,
  unparkAll: `update work w set parked = null from ${names} where w.parked = given.name`,
}

/** By the text of an insert: the text of the COPY that takes the same rows. */
export const COPIES: ReadonlyMap<string, string> = new Map([
  [POSTGRES.insertEvents, copy('events', EVENT_COLUMNS)],
  [POSTGRES.insertRows, copy('work', [...FIXED_COLUMNS, ...CHANGING_COLUMNS])],
  [POSTGRES.insertFresh, copy('work', FRESH_COLUMNS, ['last_position', 'place'])],
])

/**
 * Behind the name of a column stands its parameter, for `copyMessages`. `alsoPosition`: columns that hold
 * the same as `position`.
 */
function copy(
  table: string,
  columns: readonly string[],
  alsoPosition: readonly string[] = [],
): string {
  const list = [...columns, ...alsoPosition].map((column, i) => {
    const parameter = i < columns.length ? i : columns.indexOf('position')
    return `${column} /* $${parameter + 1}::${typeOf(column)} */`
  })
  return `copy ${table} (${list.join(', ')}) from stdin (format binary)`
}

/** A sequence: its numbers are seen by all transactions at once. */
const forgets = `coalesce(pg_sequence_last_value('forgets'::regclass), 0)`

export const FORGET_COUNT: ForgetCount = {
  read: `select ${forgets}`,
  assertSame: `select as_expected(${forgets}, $1::int8)`,
  increment: `select nextval('forgets')`,
}

const CHURNING = [
  'work',
  'tallies',
  'limits',
  'group_turns',
  'counts',
  'count_changes',
  'pipelines',
]
const dead = CHURNING.map((table) => `pg_stat_get_dead_tuples('${table}'::regclass)`)

/** The server only warns a user who may not vacuum, or who comes while another session does. */
export function vacuumTables(schema: string): VacuumTables {
  // Outside of a transaction there may be no path to look for names.
  const tables = CHURNING.map((table) => `${identifier(schema)}.${table}`)
  return {
    count: `select ${dead.join(' + ')}`,
    run: `vacuum (index_cleanup on, truncate off, skip_locked on) ${tables.join(', ')}`,
  }
}
