/**
 * All SQL of the store on PostgreSQL but for the tables themselves. What each statement is for, what
 * it is given and what it answers: `../statements.ts`.
 *
 * Locks are taken in one order: queues, then rows, keys, schedules and limits, each by name. A table
 * of parameters comes as arrays, one for each column.
 */
import {
  STANDARD_STATEMENTS,
  BASELINE_COLUMNS,
  CHANGING_COLUMNS,
  EVENT_COLUMNS,
  FIXED_COLUMNS,
  FRESH_COLUMNS,
  LOADED_COLUMNS,
} from '../statements.ts'
import type { Statements } from '../statements.ts'
import { addressed, given } from './parameter-tables.ts'
import { inChannel } from './channel-hash.ts'
import { UNPARK } from './unpark.ts'
import { updateTaken } from './update-taken.ts'
import { UNUSED } from './unused-rows.ts'

const loaded = LOADED_COLUMNS.map((column) => `w.${column}`).join(', ')
const submitted = '(select e.record from events e where e.position = w.position)'
/** With what was submitted: of a job's own row only. */
const spec = `case when w.stage = -1 then ${submitted} end as spec`
const ADDRESS = ['job', 'stage', 'segment'] as const
const clock = '(extract(epoch from clock_timestamp()) * 1000)::int8'
const now = `coalesce($1::int8, ${clock})`
/** Asked once: a clock that is asked for each row is no condition of an index. */
const once = `(select ${now})`
const names = given(['name'], ['text'])
const event = EVENT_COLUMNS.join(', ')
/** Whoever may draw positions may ask for it. */
const lastGiven = `coalesce(pg_sequence_last_value('positions'::regclass), 0)`

const OWN = ' and x.stage = -1 and x.segment = 0'
const TASKS = ' and x.stage >= 0'

/**
 * Rows of jobs that stand before it, job by job. A plain join the planner may do the other way round,
 * and read all of the table; `offset 0` keeps it from making one of this.
 */
function rowsOf(job: string, condition = ''): string {
  return `cross join lateral (select * from work x where x.job = ${job}${condition} offset 0) w`
}

/** A job's own row, to be joined with the table that is changed. */
function ownRow(name: string): string {
  return `cross join lateral (select * from work x where x.job = given.name${OWN} offset 0) ${name}`
}

/** Whatever the server's default is: what is read behind a lock must be what is there by then. */
const BEGIN = 'begin isolation level read committed'

export const POSTGRES: Statements = {
  ...STANDARD_STATEMENTS,
  ...UNUSED,
  begin: BEGIN,
  beginAlone: BEGIN,
  clock: `select ${now}`,
  // With a number of its own first: whoever watches must know which transactions may still commit.
  positions: `
    with own as materialized (select pg_current_xact_id())
    select string_agg(nextval('positions')::text, ',') from own, generate_series(1, $1::int4)`,

  lockRows: `
    select ${loaded}, case when w.stage = -1 and given.wanted then ${submitted} end
    from ${given([...ADDRESS, 'wanted'], ['text', 'int4', 'int4', 'bool'])} join work w on ${addressed}
    order by w.job, w.stage, w.segment for update of w`,
  readRows: `select ${loaded}, ${spec} from ${given(ADDRESS)} join work w on ${addressed}`,
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
  tallies: `
    select w.job, w.stage,
      count(*) filter (where w.state = 'WAITING') as waiting,
      count(*) filter (where w.state = 'LEASED') as leased,
      count(*) filter (where w.state = 'COMPLETED') as completed,
      count(*) filter (where w.state = 'FAILED') as failed,
      count(*) filter (where w.state = 'DEAD') as dead,
      count(*) filter (where w.state = 'DEAD' and w.committed) as dead_committed,
      count(*) filter (where w.state <> 'COMPLETED' and w.committed) as committed_open,
      count(*) filter (where w.attempt > 0) as granted,
      max(w.ended_at) as ended_at,
      count(*) filter (where w.state = 'WAITING' and w.attempt = 0) as fresh,
      min(w.due_at) filter (where w.state = 'WAITING' and w.attempt > 0) as retry_at
    from ${names} ${rowsOf('given.name', TASKS)} group by w.job, w.stage`,
  lockQueues: `
    select pg_advisory_xact_lock(hashtextextended(current_schema() || '/queue/' || name, 0))
    from (select name from ${names} order by name) as ordered`,
  lockQueuesShared: `
    select pg_advisory_xact_lock_shared(hashtextextended(current_schema() || '/queue/' || name, 0))
    from (select name from ${names} order by name) as ordered`,
  // On its own: a statement that waits for a lock reads everything else as it was before.
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
    select w.job, w.stage, w.segment, w.channel, w.level, w.grp from work w
    where w.channel is not null and w.turn is null and w.due_at <= ${once}
    order by w.due_at, w.place, w.segment limit $2::int4 for update skip locked`,
  setTurns: `
    update work w set turn = given.turn from ${given([...ADDRESS, 'turn'])} where ${addressed}`,
  candidates: `
    select ${loaded}, ${spec}, nextval('positions'), w.level, w.rank, w.place, w.spot
    from ${given(['name', 'lowest', 'most', 'now', 'taken'], ['text', 'int4', 'int4', 'int8', 'int8'])}
    cross join lateral (
      select ${[...LOADED_COLUMNS, 'level', 'rank', 'place'].map((column) => `x.${column}`).join(', ')}, x.ctid as spot
      from work x
      where ${inChannel('given.name')} and x.turn is not null and x.parked is null
        and x.level >= given.lowest
        and (x.start_by is null or x.start_by > coalesce(given.now, ${clock}))
      order by x.level desc, x.turn, x.rank, x.place, x.segment
      limit given.most for update skip locked
    ) w`,
  channelsWithReady: `
    select 1 from ${given(['name', 'lowest', 'now'], ['text', 'int4', 'int8'])}
    where exists (
      select 1 from work x
      where ${inChannel('given.name')} and x.turn is not null and x.parked is null
        and x.level >= given.lowest and (x.start_by is null or x.start_by > given.now)
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
  lockGroupTurns: `
    select given.channel, given.level, given.grp, s.turn,
      (select x.turn from work x where ${inChannel('given.channel')} and x.level = given.level
        and x.turn is not null and x.parked is null order by x.turn limit 1),
      (select max(n.turn) from shares n where n.channel = given.channel and n.level = given.level)
    from ${given(['channel', 'level', 'grp'])}
    left join shares s on s.channel = given.channel and s.level = given.level and s.grp = given.grp`,
  saveGroupTurns: `
    insert into shares (channel, level, grp, turn)
    select channel, level, grp, turn from ${given(['channel', 'level', 'grp', 'turn'])}
    order by channel, level, grp
    on conflict (channel, level, grp) do update set turn = greatest(shares.turn, excluded.turn)`,

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
  updateTaken: updateTaken([]),
  deleteJobs: `delete from work w using ${names} where w.job = given.name`,
  dropKeys: `
    update work w set key_held = null
    from (select r.job, r.stage, r.segment from ${names} ${ownRow('r')}) as given
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
  notePipelines: `insert into looks (job) select name from ${names}`,

  notEnded: `
    select w.job from ${names} ${rowsOf('given.name', OWN)} where w.over_at is null
      and not exists (select 1 from work d where d.state = 'DEAD' and d.position = w.position)`,
  wholeJobs: `
    select ${loaded}, ${spec} from ${names} ${rowsOf('given.name')}
    order by w.job, w.stage, w.segment`,
  jobsAfter: `
    select ${loaded}, s.record as spec from events s
    ${rowsOf('s.job', OWN)}
    where s.type = 'JobSubmitted' and s.position > $1::int8 and w.position = s.position
    order by s.position limit $2::int4`,
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
  deadJobsAfter: `
    select ${loaded}, ${spec} from (
      select distinct d.position, d.job from work d
      where d.state = 'DEAD' and d.position > $1::int8 order by d.position limit $2::int4
    ) as dead ${rowsOf('dead.job', OWN)}
    order by w.position`,
  lastPosition: `select max(last_position) from work where job = $1::text`,
  jobHistory: `
    with recursive chain (position, before, record) as (
      select e.position, e.before, e.record from work w join events e on e.position = w.last_position
      where w.job = $1::text
      union
      select e.position, e.before, e.record from chain c join events e on e.position = c.before
    ) select position, record from chain where position > $2::int8 order by position limit $3::int4`,
  eventsAfter: `
    select position, record from events where position > $1::int8 order by position limit $2::int4`,
  queueView: `
    select (select record from queues where queue = $2::text),
      (select full_at from queues where queue = $2::text),
      (select count(*) from work where expires_at is not null and queue = $2::text),
      (select count(*) from work where channel is not null and queue = $2::text and due_at <= ${once})`,
  limitView: `select held, full_at from limits where key = $1::text`,
  leased: `
    select ${loaded}, ${spec} from work w where w.expires_at is not null
    union all
    select ${loaded}, ${spec} from (
      select distinct l.job from work l where l.expires_at is not null and l.stage >= 0
    ) as of ${rowsOf('of.job', OWN)} order by 1, 2, 3`,
  schedule: `select record from schedules where schedule = $1::text`,
  schedules: `
    select schedule, record from schedules where is_set and schedule collate "C" > $1::text
    order by schedule collate "C" limit $2::int4`,

  // A row that is locked is one that somebody decides on: it is looked at again later.
  expiredLeases: `
    select job, stage, segment, attempt from work where expires_at <= ${once}
    order by expires_at limit $2::int4 for update skip locked`,
  startTooLate: `
    select job, stage, segment from work where start_by <= ${once} order by start_by limit $2::int4`,
  pipelineNotes: `select id, job from looks order by id limit $1::int4`,
  deletePipelineNotes: `delete from looks l using ${given(['id'])} where l.id = given.id`,
  jobRows: `
    select ${loaded}, ${spec} from ${names} ${rowsOf('given.name', OWN)}`,
  tasksToStop: `
    select stage, segment from work
    where job = $1::text and stage >= 0 and state in ('WAITING', 'LEASED') and not committed
    order by stage, segment limit $2::int4`,
  markEnded: `
    update work w set over_at = given.over_at from (
      select r.job, r.stage, r.segment, given.over_at
      from ${given(['name', 'over_at'], ['text', 'int8'])} ${ownRow('r')}
    ) as given where ${addressed}`,
  // One of the two is empty. The index is in order only for what stands in `order by`, null or not.
  oldestEnded: `
    (select job, over_at from work
    where over_at is not null and type = $1::text and retain_ms is null and $2::int8 is null
    order by retain_ms, over_at limit $3::int4)
    union all
    (select job, over_at from work
    where over_at is not null and type = $1::text and retain_ms = $2::int8
    order by over_at limit $3::int4)`,

  nextTimes: `
    select ${now},
      (select min(due_at) from work where channel is not null and turn is null and due_at > $2::int8),
      (select min(wake_at) from limits where wake_at > $2::int8),
      (select min(expires_at) from work where expires_at > $2::int8),
      (select min(start_by) from work where start_by > $2::int8)`,
  entryTypesAfter: `
    select position, type from events where position > $1::int8 order by position limit $2::int4`,
  horizon: `
    select pg_snapshot_xmin(pg_current_snapshot())::text::int8,
      coalesce((select max(position) from events), 0)`,
  // A number of its own, because a snapshot does not know of those that were given out last.
  fence: `
    select pg_current_xact_id()::text::int8 + 1, coalesce((select max(position) from events), 0)`,
  readMeta: `select value from meta where name = $1::text`,
  setMeta: `insert into meta (name, value) values ($1::text, $2::text) on conflict (name) do nothing`,
  deleteMeta: `delete from meta where name = $1::text`,

  beginReading: 'begin isolation level repeatable read read only',
  lockAll: `
    lock table events, baselines, work, queues, schedules, limits, shares, looks in exclusive mode`,
  // A cursor keeps its place by itself. What does not fit into memory is sorted on the disk.
  sortEvents: `
    declare sorted no scroll cursor for
    select ${event} from events order by job collate "C" nulls first, position`,
  nextEvents: 'fetch forward 500 from sorted',
  dropSortedEvents: 'close sorted',
  eventRowsAfter: `
    select ${event} from events where position > $1::int8 order by position limit $2::int4`,
  newestEvents: `select ${event} from events order by position desc limit $1::int4`,
  missingTriggers: `
    select 4 - count(*) from pg_catalog.pg_trigger
    where tgrelid in ('events'::regclass, 'baselines'::regclass)
      and tgname in ('append_only', 'append_only_whole') and tgenabled in ('O', 'A')`,
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
  notedPipelines: `select distinct l.job from ${names} join looks l on l.job = given.name`,
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

/** milliseconds: no statement of this transaction takes longer from here on, nor a pause between two. */
export const LIMIT_TIME = `
  select set_config('statement_timeout', $1::text, true),
    set_config('idle_in_transaction_session_timeout', $1::text, true)`

/** channel, text. */
export const TELL = `select pg_notify($1::text, $2::text)`
