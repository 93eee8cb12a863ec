/**
 * The statements by name. Each dialect has their texts, in a file of its own; nothing else in the store
 * knows SQL.
 *
 * No statement decides anything: they lock, read, count and write. Each comment has the parameters and,
 * after the arrow, the columns; *rows* are a table of parameters. `now` may be null: then it is the
 * database's own clock.
 */

import type { CountStatements } from './count-statements.ts'

/** What a record is made from. Below, `spec` is the record of the job's JobSubmitted, of job rows only. */
export const LOADED_COLUMNS = [
  'job',
  'stage',
  'segment',
  'position',
  'last_position',
  'version',
  'turn',
  'parked',
  'record',
] as const

/** Written once, when the row is inserted; queue and priority again when it is rescheduled. */
export const FIXED_COLUMNS = [
  'job',
  'stage',
  'segment',
  'position',
  'type',
  'queue',
  'key',
  'key_held',
  'grp',
  'priority',
  'retain_ms',
  'deadline',
  'tags',
] as const

/** Written for a plain job that has not changed since it was submitted; the other columns follow. */
export const FRESH_COLUMNS = [
  'job',
  'position',
  'type',
  'queue',
  'key',
  'key_held',
  'grp',
  'priority',
  'retain_ms',
  'channel',
  'level',
  'turn',
  'due_at',
  'rank',
  'start_by',
  'tags',
] as const

/** Written with every change. */
export const CHANGING_COLUMNS = [
  'last_position',
  'version',
  'state',
  'record',
  'channel',
  'level',
  'turn',
  'due_at',
  'rank',
  'place',
  'parked',
  'start_by',
  'expires_at',
  'committed',
  'attempt',
  'ended_at',
  'over_at',
  'is_suspended',
] as const

/** Written with every change of a plain job that was granted before and is not listed; the others follow. */
export const UNLISTED_COLUMNS = [
  'last_position',
  'version',
  'state',
  'record',
  'due_at',
  'expires_at',
  'committed',
  'attempt',
  'ended_at',
  'over_at',
] as const

/** What the column `state` of a row may say: that of its task, or that it is a pipeline's own row. */
export const ROW_STATES = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD', 'PIPELINE'] as const

/**
 * What no row of `work` may hold, on every database: the database itself refuses it. Only a job that has
 * not changed since it was submitted has no record of its own. States one by one: for a list, SQLite makes a
 * table anew with each statement.
 */
export const WORK_CONSTRAINTS = `
      constraint known_state check (${ROW_STATES.map((state) => `state = '${state}'`).join(' or ')}),
      constraint sound_numbers check (
        attempt >= 0 and version > 0 and stage >= -1 and segment >= 0 and position > 0
      ),
      constraint has_record check (record is not null or (version = 1 and stage = -1))`

/**
 * A job's own row, for the index by type alone: in any other words it would be taken for other statements, too, as
 * long as the table is empty, and they would keep that plan.
 */
export const IS_OWN_ROW = 'stage + 0 = -1'

/**
 * Jobs that failed, and those that wait for another attempt, a person or a message: one index for lists by these states,
 * because each index costs every change of a row. What waits for a worker is in none: it is changed again soon. Nor is what
 * succeeded, which is most of all jobs. SQLite uses the index only where this stands word for word.
 */
export const IS_LISTED_BY_STATE = `stage = -1
      and (state = 'FAILED' or (state = 'WAITING' and (attempt > 0 or channel is null)))`

/** About calls that upkeep must look at: see `call-checks.ts`. */
export interface CallStatements {
  /** rows (job, stage, segment). */
  readonly insertCalls: string
  /** most → id, job, stage, segment, the oldest first; the same task may come again. */
  readonly callsToCheck: string
  /** ids as JSON. */
  readonly deleteCalls: string
  /** rows (job) → job, stage, segment of those that are to be looked at. */
  readonly markedCalls: string
}

export interface Statements extends CallStatements, CountStatements {
  /** For a transaction that can be done again: the database may roll it back if it is idle for long. */
  readonly begin: string
  /** For a transaction that the database does not roll back, however long it takes. */
  readonly beginAlone: string
  readonly commit: string
  readonly rollback: string
  /** Begins a part of a transaction that can be rolled back without the rest. */
  readonly savepoint: string
  readonly rollbackToSavepoint: string
  readonly releaseSavepoint: string
  /** now → the time in milliseconds. AFTER all locks. */
  readonly clock: string
  /** position → position, at of the first event from there on. */
  readonly firstEventFrom: string
  /** count → so many new positions, ascending, as one text: `7,8,9`. */
  readonly positions: string

  /** rows (job, stage, segment, whether the spec is wanted) → loaded, spec; locked in order. */
  readonly lockRows: string
  /** The same without locks, for rows that cannot change or may be stale. */
  readonly readRows: string
  /** rows (position) → position, record. */
  readonly events: string
  /** rows (key) → key, loaded, spec of the job that holds it; locked. */
  readonly lockKeys: string
  /** rows (job) → loaded, spec of its tasks that are FAILED or DEAD. */
  readonly failedTasks: string
  /** rows (job): its tasks that are open or DEAD are locked in order. */
  readonly lockOpenTasks: string
  /** rows (job) → job, stage, the sums of TALLY_COUNTS, ended_at, and the first time of a retry. */
  readonly tallies: string
  /** rows (queue): locked alone: no other transaction grants in them. */
  readonly lockQueues: string
  /** rows (queue): locked with others: they may grant, too, and the queue stays as it is. */
  readonly lockQueuesShared: string
  /** rows (queue): locks those with limits of their own. Their leases are counted AFTER that. */
  readonly lockLimitedQueues: string
  /** rows (queue) → queue, record, full_at. */
  readonly queues: string
  /** rows (queue) → queue, record; without locks. */
  readonly readQueues: string
  /** rows (queue) → queue, how many of its tasks hold a lease. */
  readonly leasesInQueues: string
  /** rows (schedule) → record; locked. */
  readonly lockSchedules: string
  /** rows (key): inserts those that are not there, so that they can be locked. */
  readonly insertLimits: string
  /** rows (key) → key, held, full_at; locked in order. */
  readonly lockLimits: string
  /** rows (key) → the same, of those that are there and that no other transaction has locked. */
  readonly tryLockLimits: string

  /**
   * now, most → job, stage, segment, channel, level, grp, queue, type, attempt, is_suspended, tags of due tasks without
   * a turn; locked.
   */
  readonly lockDueTasks: string
  /** rows (job, stage, segment, turn): they are ready, and parked for no limit. */
  readonly setTurns: string
  /** rows (channel, lowest level, most, now, positions taken) → loaded, spec, a new position, level, rank, place; locked. */
  readonly candidates: string
  /**
   * now, most due, most → channels that have ready tasks, so many at most, with level, turn, rank and place of the
   * first; those of the tasks that became due first; null if a limit has room by now.
   */
  readonly busyChannels: string
  /** rows (channel, lowest level, now) → 1 for each that has a ready task, locked or not. */
  readonly channelsWithReady: string
  /** now, most → key of limits whose rate lets something start by now. */
  readonly limitsToWake: string
  /**
   * rows (key, most, now): of each channel, so many of the tasks parked for a limit are ready again, the
   * best first. If another transaction has one of them locked, the limit's wake_at is set to now. The
   * limits are locked.
   */
  readonly unpark: string
  /** rows (key, wake_at): a claim unparks for it at this time, or earlier. */
  readonly setWakes: string
  /** rows (key). */
  readonly clearWakes: string
  /**
   * rows (channel, level, grp, keys as a JSON array or null) → channel, level, grp, the group's newest turn, and where a
   * group begins that has none: at the smallest turn that is ready, or is parked for one of these keys; or, if none
   * is, behind the newest of all.
   */
  readonly lockGroupTurns: string
  /** rows (channel, level, grp, turn): of groups that have a row. */
  readonly raiseGroupTurns: string
  /** The same of others. */
  readonly saveGroupTurns: string

  /** key, most → key, held, full_at, wake_at of limits behind it, in order. */
  readonly limitsAfter: string
  /** rows (key, time): of those that no task holds or is parked for, and whose bucket was full by then. */
  readonly deleteLimits: string
  /** channel, level, grp, most → channel, level, grp, turn of those behind it, in order; with the smallest turn that is ready, and the newest. */
  readonly groupTurnsAfter: string
  /** rows (channel, level, grp, turn): those that are still at this turn. */
  readonly deleteGroupTurns: string

  /** rows (position, job, before, type, at, record). */
  readonly insertEvents: string
  /** rows (fresh): jobs that have not changed since they were submitted. Fails if one is there. */
  readonly insertFresh: string
  /** rows (fixed, changing): fails if one is there. */
  readonly insertRows: string
  /** rows (job, stage, segment, version before, position, changing): fails if one has changed. */
  readonly updateRows: string
  /**
   * rows (job, version before, position, UNLISTED_COLUMNS): the same of plain jobs that were granted before
   * and are not listed.
   */
  readonly updateUnlisted: string
  /** rows (job, stage, segment, queue, priority, deadline): AFTER their other columns. */
  readonly moveTasks: string
  /** rows (job): all of its rows. */
  readonly deleteJobs: string
  /** rows (job): it no longer holds its key. */
  readonly dropKeys: string
  /** rows (queue, version before, version, record, is_limited, is_paused, full_at); 0 before: there was none. */
  readonly saveQueues: string
  /** queue, ageing, whether it ages: everything that waits in it is ranked again. */
  readonly rerankQueue: string
  /** rows (queue, full_at). */
  readonly chargeQueues: string
  /** rows (schedule, version before, version, record, is_set). */
  readonly saveSchedules: string
  /** rows (key, held, full_at). */
  readonly saveLimits: string
  /** rows (TALLY_COLUMNS). */
  readonly insertTallies: string
  /** rows (job). */
  readonly deleteTalliesOf: string

  /** rows (job) → job of those that are neither over nor in quarantine. */
  readonly notEnded: string
  /** rows (job) → loaded, spec of all of its rows, its own first. */
  readonly wholeJobs: string
  /** position, passed, most → loaded, spec of the own rows of those among the next ones submitted that are not over. */
  readonly openJobsAfter: string
  /** position, passed → how many the next ones submitted are, at most so many, and the last position. */
  readonly submitsAfter: string
  /** position, most → the same of those that have a task that is DEAD. */
  readonly deadJobsAfter: string
  /** The same of pipelines. */
  readonly deadPipelinesAfter: string
  /** job → the position of the newest entry of any of its rows. */
  readonly lastPosition: string
  /** job → position, how many rows it has, the sum of their versions: the same as long as none of them changes. */
  readonly jobMark: string
  /** job, stage, segment, most, bytes → loaded, spec of the segments behind it, in order, up to the one that reaches so many bytes. */
  readonly segmentsAfter: string
  /** job, position, most, 1 or -1 → position, record of its entries behind it, in order or newest first. */
  readonly jobHistory: string
  /**
   * position, most → position, the one before it, record of that entry and of those before it in its chain,
   * newest first; the record only of a StreamAppended.
   */
  readonly streamEntries: string
  /** position, most → position, record of all entries behind it, in order. */
  readonly eventsAfter: string
  /**
   * now, queue, most → record, full_at, the counts of its leased and its ready tasks, and how many are due
   * that no claim has given a turn yet. Of those it reads so many, of all queues.
   */
  readonly queueView: string
  /** key → held, full_at. */
  readonly limitView: string
  /** after, prefix, most → key, held, full_at of limits behind it, from the prefix on, in order. */
  readonly limitsUsed: string
  /** most → job, stage, segment of the leases that run out last. */
  readonly newestLeases: string
  /** → loaded, spec of what is leased; of a segment, the spec of its job too. */
  readonly leased: string
  /** schedule → record. */
  readonly schedule: string
  /** after, most → schedule, record of those that are set, in order. */
  readonly schedules: string
  /** rows (schedule) → schedule, record of those that are set. */
  readonly schedulesNamed: string

  /** now, most → job, stage, segment, attempt of leases that ran out. */
  readonly expiredLeases: string
  /** now, most → job, stage, segment of tasks that no worker took in time. */
  readonly startTooLate: string
  /** now, most → job, state of jobs whose deadline has passed and that are not known to be over. */
  readonly pastDeadline: string
  /** most → job of tallies that upkeep must check, the oldest first; the same job may come again. */
  readonly pipelinesToCheck: string
  /** rows (job) → id, TALLY_COLUMNS. */
  readonly tallyRows: string
  /** rows (job) → job, version of its own row. */
  readonly jobVersions: string
  /** rows (job): its own row is not deleted until the transaction is over. */
  readonly keepJobs: string
  /**
   * ids as JSON: one row for each stage in place of these, of those that are still there and that no other
   * process is folding; none for a job that is not there. On SQLite `deleteTallies` follows.
   */
  readonly foldTallies: string
  /** ids as JSON. */
  readonly deleteTallies: string
  /** rows (job) → loaded, spec of its own row. */
  readonly jobRows: string
  /** job, most → stage, segment of tasks that an ending job stops; also of on-failure stages. */
  readonly tasksToStop: string
  /** rows (job, over_at): a pipeline came to its end. */
  readonly markEnded: string
  /** → type, retain_ms of all kinds of jobs that are over. A kind without retain_ms may have no job. */
  readonly endedKinds: string
  /** → type, how many jobs of it are over: reads all of them. */
  readonly countEndedByType: string
  /** type, retain_ms, most → job, over_at of those that ended first. */
  readonly oldestEnded: string

  /** now, announced → the time; then the first times after `announced` at which a task is due, a limit has room, a lease ends and a task is too late, each null if there is none. */
  readonly nextTimes: string
  /** position, most → position, type of entries behind it, in order. */
  readonly entryTypesAfter: string
  /** → the number of a transaction before which all are over, the newest position. */
  readonly horizon: string
  /** → a number above those of all transactions that took a position so far, the newest position. */
  readonly fence: string
  /** name → value. */
  readonly readMeta: string
  /** name, value: only if there is none. */
  readonly setMeta: string
  /** name. */
  readonly deleteMeta: string

  /** The rest is for verify, repair and copy. This begins a transaction that reads one moment. */
  readonly beginReading: string
  /** No other transaction writes until this one is over. Others can still read. */
  readonly lockAll: string
  /** Puts all events in order: those of no job first, then job by job, each by position. */
  readonly sortEvents: string
  /** The next 500 of them: EVENT_COLUMNS. On SQLite: how many were taken before. */
  readonly nextEvents: string
  readonly dropSortedEvents: string
  /** most → EVENT_COLUMNS, the newest first. */
  readonly newestEvents: string
  /** → how many are missing of the triggers that refuse to change events. */
  readonly missingTriggers: string
  readonly countEvents: string
  /** → the newest position, the last one that was drawn. */
  readonly lastPositions: string
  /** position: the next ones that are drawn are later. */
  readonly advancePosition: string
  /** → table, name, count of what is there more than once, and must not be. */
  readonly duplicates: string
  /** most → job, stage, segment, position of rows whose JobSubmitted is not there. */
  readonly strayRows: string
  /** rows (job) → fixed, changing of all of its rows, in order. */
  readonly wholeRows: string
  /** rows (job) → job of those that upkeep must check. */
  readonly markedPipelines: string
  /** → job of tallies of jobs that are not there. */
  readonly strayTallies: string
  /** → queue, version, record, is_limited, is_paused, full_at. */
  readonly allQueues: string
  /** → schedule, version, record, is_set. */
  readonly allSchedules: string
  /** → key, held, full_at, wake_at. */
  readonly allLimits: string
  /** kind → BASELINE_COLUMNS of all of this kind. */
  readonly baselines: string
  /** rows (name) → BASELINE_COLUMNS of jobs, also of those that were given up. */
  readonly baselinesOf: string
  /** rows (kind, name, stage, segment, through, last_position, record). */
  readonly insertBaselines: string
  /** rows (job, stage, segment). */
  readonly deleteRows: string
  /** rows (key): no job holds it any more. */
  readonly releaseKeys: string
  /** rows (queue). */
  readonly deleteQueues: string
  /** rows (schedule). */
  readonly deleteSchedules: string
  /** rows (key): all tasks that are parked for it are ready again. */
  readonly unparkAll: string
}

/** The columns of an event. */
export const EVENT_COLUMNS = ['position', 'job', 'before', 'type', 'at', 'record'] as const

/**
 * To fold jobs from their events up to a moment: its *bounds* are the last position and the last time that
 * count. They change nothing. An event of a job stands here as: the first position of the job, or 0 if only
 * its end is known; where it was forgotten later, or null; EVENT_COLUMNS.
 */
export interface SnapshotStatements {
  /** position, bounds, most → how many the next jobs submitted are, at most so many, and the last position. */
  readonly passed: string
  /** The same → the events of those that were not forgotten by then, job by job, in order. */
  readonly events: string
  /** job, bounds → the events of the job with this id that was there then, if there was one, in order. */
  readonly eventsOf: string
  /**
   * job, first position, last position, bounds → EVENT_COLUMNS in order. It reads all that stands between: for
   * pipelines that were forgotten since, whose tasks no row leads to any more.
   */
  readonly eventsBetween: string
  /** position, through, most → position, record of the entries behind it up to that one, in order. */
  readonly entriesWithin: string
  /** The same, newest first. */
  readonly newestEntriesWithin: string
  /** bounds → the position of the newest entry within them. */
  readonly newestUpTo: string
  /** position → the time of the newest entry up to it. */
  readonly timeAt: string
  /** → how far the baselines of a copied store go; null: it is none. */
  readonly oldest: string
}

/** To fold some jobs from their events, and to compare them with their rows. They change nothing. */
export interface JobCheckStatements {
  /**
   * position, passed, most, most rows → position, job, whether its own row is there, whether it was forgotten
   * later, how many rows it has and how many entries they say they had: of the next ones submitted, without
   * those that were forgotten or given up and have no row.
   */
  readonly submits: string
  /**
   * rows (job, most rows) → job; how many rows it has, how many entries they say they had, and the newest of
   * those, all of so many rows at most.
   */
  readonly sizes: string
  /** rows (job) → EVENT_COLUMNS of the entries that its rows lead to, in any order, and the job. */
  readonly events: string
  /** rows (job, stage, segment) → fixed, changing. */
  readonly rowsAt: string
  /**
   * job, stage, segment, most, most bytes → job, stage, segment, position, version, state, attempt, due_at, record
   * or null if it is longer, whether it has one; job and time of the event that it leads to, null if there is none:
   * of the next rows in order.
   */
  readonly rowHeads: string
  /** job → the record of its own row, and how many rows of tasks it has. */
  readonly pipelineHead: string
  /** position, passed → position, job of those of the next ones submitted that should have a row and have none. */
  readonly missing: string
}

/** To redact what is stored of an erased job, and to leave nothing of what was stored before. */
export interface ErasureStatements {
  /** job → position of each entry of any of its rows, in any order. */
  readonly events: string
  /** job, from, through → position of each entry between them, linked or not. It reads all events of that time. */
  readonly eventsBetween: string
  /** rows (position, record): the database refuses it unless their job is erased behind them. */
  readonly redactEvents: string
  /** rows (job, stage, segment, record). */
  readonly redactRows: string
  /** rows (kind, name, stage, segment, through, record): as `redactEvents`. */
  readonly redactBaselines: string
  /** What to wait for before it is compacted; null: nothing. */
  readonly oldReaders: OldReadersStatements | null
  /** One after the other, each outside of a transaction. Others wait for them. */
  readonly compact: readonly CompactStatement[]
}

/** To find who may still read rows as they were before: no database removes these as long as a transaction may. */
export interface OldReadersStatements {
  /** → a moment in the order of transactions: now. */
  readonly moment: string
  /** moment → the transactions that began before it and have not ended, in words; null: none. */
  readonly before: string
}

export interface CompactStatement {
  /** No result, or → 1 in the first column if others use the file: it is to be tried again. */
  readonly run: string
  /** → something that is not the same AFTER it was run; null: a statement that does nothing fails. */
  readonly mark: string | null
}

/** To remove events whose time is over: see `upkeep/history-pruning.ts`, and `HistoryMark`. */
export interface HistoryStatements {
  /** → through, older_than, passed. */
  readonly read: string
  /** rows (through, older_than, passed; through before, passed before): fails if they are others by now. */
  readonly move: string
  /** position → position, at of the first event from there on. */
  readonly eventFrom: string
  /**
   * after, through, most passed, most → EVENT_COLUMNS of those among the next events that may be removed: of
   * schedules, and of jobs that were forgotten up to `through`. The record only of those without a job. Never
   * the newest event: on SQLite the next position follows from it.
   */
  readonly removable: string
  /** after, through, most passed → how many events are passed by that, and the last of them. */
  readonly passed: string
  /** rows (position). The database refuses to delete what may not be removed. */
  readonly deleteEvents: string
  /** rows (schedule) → BASELINE_COLUMNS of schedules. */
  readonly scheduleBaselines: string
  /** rows (schedule, through): its baselines before that one. */
  readonly deleteScheduleBaselines: string
  /** rows (job, position): its baselines up to there, where it was forgotten. */
  readonly deleteJobBaselines: string
  /** after, through, most → EVENT_COLUMNS by position, without those of jobs that were forgotten up to `through`. */
  readonly keptEvents: string
  /** kind, through → BASELINE_COLUMNS of all of this kind, without those of the same jobs. */
  readonly keptBaselines: string
}

/** Entries that are folded into a baseline, and then removed. */
const SCHEDULE_ENTRIES = ['ScheduleSet', 'ScheduleFired', 'ScheduleRemoved'] as const
export const OF_SCHEDULE = `in (${SCHEDULE_ENTRIES.map((type) => `'${type}'`).join(', ')})`

/** Whether the job of an event was forgotten, between the event and a position. By the index `forgotten`. */
export function isForgottenBy(event: string, through: string): string {
  return `exists (
        select 1 from events f
        where f.type = 'JobForgotten' and f.job = ${event}.job and f.position >= ${event}.position
          and f.position <= ${through}
      )`
}

/** Whether the job of a baseline was forgotten, between the baseline and a position. */
export function isBaselineForgottenBy(baseline: string, through: string): string {
  return `exists (
        select 1 from events f
        where f.type = 'JobForgotten' and f.job = ${baseline}.name
          and f.position >= ${baseline}.through and f.position <= ${through}
      )`
}

/** The columns of a baseline: see `rows/event-rows.ts`. */
export const BASELINE_COLUMNS = [
  'kind',
  'name',
  'stage',
  'segment',
  'through',
  'last_position',
  'record',
] as const

/** What a tally counts. */
export const TALLY_COUNTS = [
  'waiting',
  'leased',
  'completed',
  'failed',
  'dead',
  'dead_committed',
  'committed_open',
  'granted',
  'never_granted',
  'suspended',
] as const

/** The columns of a change of a tally: see `rows/tally-rows.ts`. */
export const TALLY_COLUMNS = ['job', 'stage', 'to_check', ...TALLY_COUNTS, 'ended_at'] as const

/** Of a row `x`: it is neither too late for a first attempt, nor for any. */
export function notTooLate(now: string): string {
  return `(x.start_by is null or x.start_by > ${now})
        and (x.deadline is null or x.deadline > ${now} or x.committed)`
}

export function pastDeadline(now: string, most: string): string {
  return `
    select job, state from work
    where deadline <= ${now} and over_at is null and stage = -1 and not committed
    order by deadline limit ${most}`
}

/** The first times after the given one at which something is due. */
export function nextTimes(now: string, since: string): string {
  return `
    select ${now},
      (select min(due_at) from work where channel is not null and turn is null and due_at > ${since}),
      (select min(wake_at) from limits where wake_at > ${since}),
      (select min(expires_at) from work where expires_at > ${since}),
      (select min(start_by) from work where start_by > ${since}),
      (select min(deadline) from work where deadline > ${since} and over_at is null and stage = -1)`
}

/** Of an entry and those before it in its chain, newest first, the record of each StreamAppended. */
export function streamEntries(position: string, most: string): string {
  const record = `case when e.type = 'StreamAppended' then e.record end`
  return `
    with recursive chain (position, before, record, depth) as (
      select e.position, e.before, ${record}, 1 from events e where e.position = ${position}
      union all
      select e.position, e.before, ${record}, c.depth + 1
      from chain c join events e on e.position = c.before where c.depth < ${most}
    ) select position, before, record from chain order by position desc`
}

/** Whole rows of `work`: all columns, in one order. */
export const WORK_COLUMNS = [...FIXED_COLUMNS, ...CHANGING_COLUMNS] as const
export type Column = (typeof WORK_COLUMNS)[number]
/** Where each column stands in a whole row. */
export const WORK_COLUMN_AT = Object.fromEntries(
  WORK_COLUMNS.map((column, i) => [column, i]),
) as Readonly<Record<Column, number>>

/** Statements that every database takes word for word: they have no parameters. */
export const STANDARD_STATEMENTS = {
  commit: 'commit',
  rollback: 'rollback',
  savepoint: 'savepoint pawl',
  rollbackToSavepoint: 'rollback to savepoint pawl',
  releaseSavepoint: 'release savepoint pawl',
  // From kind to kind by the index, however many jobs are of each. The last of a type has no time.
  endedKinds: `
    with recursive types (type) as (
      select (select min(type) from work where over_at is not null)
      union all
      select (select min(w.type) from work w where w.over_at is not null and w.type > t.type)
      from types t where t.type is not null
    ), kinds (type, retain_ms) as (
      select t.type, (select min(w.retain_ms) from work w where w.over_at is not null and w.type = t.type)
      from types t where t.type is not null
      union all
      select k.type, (
        select min(w.retain_ms) from work w
        where w.over_at is not null and w.type = k.type and w.retain_ms > k.retain_ms
      ) from kinds k where k.retain_ms is not null
    ) select type, retain_ms from kinds`,
  countEndedByType: 'select type, count(*) from work where over_at is not null group by type',
  countEvents: 'select count(*) from events',
  allQueues: 'select queue, version, record, is_limited, is_paused, full_at from queues',
  allSchedules: 'select schedule, version, record, is_set from schedules',
  allLimits: 'select key, held, full_at, wake_at from limits',
  strayTallies: `
    select distinct t.job from tallies t
    where not exists (select 1 from work w where w.job = t.job and w.stage = -1 and w.segment = 0)`,
} satisfies Partial<Statements>
