/**
 * The tables on SQLite, as steps that are taken once and in order, each a list of statements.
 * A step that was released is never changed: what is new is a step more. Until 0.1.0 is released there
 * is one step, which changes in place. What each table is for: `docs/sql-stores.md`.
 */
import { COUNT_CELLS } from '../rows/counted-rows.ts'
import {
  IS_OWN_ROW,
  IS_LISTED_BY_STATE,
  isBaselineForgottenBy,
  isForgottenBy,
  OF_SCHEDULE,
  WORK_CONSTRAINTS,
} from '../statements.ts'

const through = 'coalesce((select through from history), 0)'

export const STEPS: readonly (readonly string[])[] = [
  [
    `create table meta (name text primary key, value text not null) without rowid`,
    `create table events (
      position integer primary key,
      job text,
      before integer,
      type text not null,
      at integer not null,
      record blob not null,
      constraint sound_numbers check (position > 0 and (before is null or before < position))
    )`,
    `create index submits on events (position) where type = 'JobSubmitted'`,
    // Whether a job that has no row was forgotten, or its row is lost.
    `create index forgotten on events (job, position) where type = 'JobForgotten'`,
    // Whether the events before it may be redacted.
    `create index erased on events (job, position) where type = 'JobErased'`,
    // Up to where events may be removed: one row.
    `create table history (
      through integer not null,
      older_than integer not null,
      passed integer not null
    )`,
    `insert into history (through, older_than, passed) values (0, 0, 0)`,
    `create trigger no_update before update on events
    when not (
      new.position = old.position and new.job is old.job and new.before is old.before
      and new.type = old.type and new.at = old.at
      and exists (
        select 1 from events e where e.type = 'JobErased' and e.job = old.job and e.position > old.position
      )
    )
    begin
      select raise(abort, 'events are only ever appended: UPDATE is refused');
    end`,
    `create trigger no_delete before delete on events
    when not case
      when old.job is null then old.type ${OF_SCHEDULE} and old.position <= ${through}
      else ${isForgottenBy('old', through)}
    end
    begin
      select raise(abort, 'events are only ever appended: DELETE is refused');
    end`,
    `create table baselines (
      kind text not null,
      name text not null,
      stage integer not null,
      segment integer not null,
      through integer not null,
      last_position integer not null,
      record blob not null,
      primary key (kind, name, stage, segment, through)
    )`,
    `create index baselines_of on baselines (name)`,
    `create trigger no_baseline_update before update on baselines
    when not (
      new.kind = old.kind and new.name = old.name and new.stage = old.stage
      and new.segment = old.segment and new.through = old.through
      and new.last_position = old.last_position
      and exists (
        select 1 from events e where e.type = 'JobErased' and e.job = old.name and e.position > old.through
      )
    )
    begin
      select raise(abort, 'baselines are only ever appended: UPDATE is refused');
    end`,
    `create trigger no_baseline_delete before delete on baselines
    when not case old.kind
      when 'queue' then false
      when 'schedule' then exists (
        select 1 from baselines b
        where b.kind = old.kind and b.name = old.name and b.through > old.through
      )
      else ${isBaselineForgottenBy('old', through)}
    end
    begin
      select raise(abort, 'baselines are only ever appended: DELETE is refused');
    end`,
    `create table work (
      job text not null,
      stage integer not null,
      segment integer not null,
      position integer not null,
      type text not null,
      queue text,
      key text,
      key_held text,
      grp text,
      priority integer not null,
      retain_ms integer,
      deadline integer,
      tags text,
      last_position integer not null,
      version integer not null,
      state text not null,
      record blob,
      channel text,
      level integer,
      turn integer,
      due_at integer not null,
      rank integer not null,
      place integer not null,
      parked text,
      start_by integer,
      expires_at integer,
      committed integer not null,
      attempt integer not null,
      ended_at integer,
      over_at integer,
      is_suspended integer not null default 0,
      primary key (job, stage, segment),${WORK_CONSTRAINTS}
    )`,
    `create index ready on work (channel, level desc, turn, rank, place, segment)
      where channel is not null and turn is not null and parked is null`,
    `create index not_due on work (due_at, place, segment) where channel is not null and turn is null`,
    `create index parked on work (parked, channel, level desc, turn, rank, place)
      where parked is not null`,
    `create index leased on work (expires_at) where expires_at is not null`,
    `create index never_taken on work (start_by) where start_by is not null`,
    `create index to_end on work (deadline) where deadline is not null and over_at is null and stage = -1`,
    `create index over on work (type, retain_ms, over_at) where over_at is not null`,
    `create index dead on work (position) where state = 'DEAD'`,
    `create index dead_segments on work (position, job) where state = 'DEAD' and stage >= 0`,
    `create index retried on work (job, stage, due_at)
      where stage >= 0 and state = 'WAITING' and attempt > 0`,
    `create unique index key_held on work (key_held) where key_held is not null`,
    `create index keyed on work (key, position) where key is not null`,
    // For lists.
    `create index by_type on work (type, position) where ${IS_OWN_ROW}`,
    `create index by_state on work (state, position) where ${IS_LISTED_BY_STATE}`,
    `create table queues (
      queue text primary key,
      version integer not null check (version > 0),
      record blob not null,
      is_limited integer not null,
      is_paused integer not null,
      full_at real not null
    ) without rowid`,
    `create table schedules (
      schedule text primary key,
      version integer not null check (version > 0),
      record blob not null,
      is_set integer not null
    ) without rowid`,
    `create table limits (
      key text primary key,
      held integer not null check (held >= 0),
      full_at real not null,
      wake_at integer
    ) without rowid`,
    `create index waking on limits (wake_at) where wake_at is not null`,
    `create table group_turns (
      channel text not null,
      level integer not null,
      grp text not null,
      turn integer not null,
      primary key (channel, level, grp)
    ) without rowid`,
    `create index newest_turn on group_turns (channel, level, turn desc)`,
    `create table counts (
      dimension text not null,
      name text not null,
      queue text not null,
      type text not null,
      ${COUNT_CELLS.map((cell) => `${cell} integer not null,`).join('\n      ')}
      primary key (dimension, name, queue, type)
    ) without rowid`,
    // Which jobs have a tag, or failed of an error.
    `create table labels (
      label text not null,
      position integer not null,
      job text not null,
      primary key (label, position)
    ) without rowid`,
    // The states of pipelines, and whether they have held effects, as they are counted.
    `create table pipelines (
      job text primary key,
      position integer not null,
      type text not null,
      tags text,
      counted text not null,
      held integer not null,
      until integer
    ) without rowid`,
    `create index pipelines_until on pipelines (until) where until is not null`,
    `create index pipelines_counted on pipelines (counted, position)`,
    // What people are asked, in each list that a filter may mean; and which tasks have held effects, in another.
    `create table questions (
      list text not null,
      since integer not null,
      position integer not null,
      stage integer not null,
      segment integer not null,
      name text not null,
      job text not null,
      primary key (list, since, position, stage, segment, name)
    ) without rowid`,
    `create table tallies (
      id integer primary key autoincrement,
      job text not null,
      stage integer not null,
      to_check integer not null,
      waiting integer not null,
      leased integer not null,
      completed integer not null,
      failed integer not null,
      dead integer not null,
      dead_committed integer not null,
      committed_open integer not null,
      granted integer not null,
      never_granted integer not null,
      suspended integer not null,
      ended_at integer not null
    )`,
    `create index tallies_of on tallies (job)`,
    `create index tallies_to_check on tallies (id) where to_check`,
    `create table calls (
      id integer primary key autoincrement,
      job text not null,
      stage integer not null,
      segment integer not null
    )`,
    `create index calls_of on calls (job)`,
  ],
]
