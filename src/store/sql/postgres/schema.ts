/**
 * The tables on PostgreSQL, as steps that are taken once and in order, each a list of statements.
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

const through = 'coalesce((select h.through from history h), 0)'

/**
 * A channel as an index has it: a number, because an index whose first column is a long text is walked
 * through. Two channels may have the same hash: a statement compares the channel as well.
 */
export function channelHash(channel: string): string {
  return `hashtextextended(${channel}, 0)`
}

/**
 * For tables whose rows come and go. Every reader passes dead rows until they are vacuumed, so that comes
 * early. The free space in each page is for changed rows, which then need no new entry in an index.
 */
const CHURN = `with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01,
      autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0)`

/** Turns of groups are indexed in blocks: a turn that grows within its block leaves every index as it is. */
export const TURNS_OF_BLOCK = 64

/**
 * For an index in which no two rows are equal, but for the versions of one row until they are vacuumed:
 * deduplicating those costs more with each change than the space that it saves.
 */
const DISTINCT = `with (deduplicate_items = off)`

export const STEPS: readonly (readonly string[])[] = [
  [
    `create table meta (name text collate "C" primary key, value text not null)`,
    `create sequence positions`,
    `create sequence forgets`,
    `create table events (
      position bigint primary key,
      job text collate "C",
      before bigint,
      type text collate "C" not null,
      at bigint not null,
      record bytea not null,
      constraint sound_numbers check (position > 0 and before < position)
    )`,
    `create index submits on events (position) where type = 'JobSubmitted'`,
    // Whether a job that has no row was forgotten, or its row is lost.
    `create index forgotten on events (job, position) where type = 'JobForgotten'`,
    `create function refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% are only ever appended: % is refused', tg_table_name, tg_op using errcode = '42501';
    end $$`,
    // Whether the events before it may be redacted.
    `create index erased on events (job, position) where type = 'JobErased'`,
    // A trigger runs in any session, so the schema is that of its table.
    `create function refuse_change_unless_erased() returns trigger language plpgsql as $$
    declare
      is_erased boolean := false;
    begin
      if to_jsonb(new) - 'record' = to_jsonb(old) - 'record' then
        execute format(
          'select exists (select from %I.events where type = ''JobErased'' and job = $1 and position > $2)',
          tg_table_schema
        ) into is_erased using
          to_jsonb(old) ->> tg_argv[0], (to_jsonb(old) ->> tg_argv[1])::bigint;
      end if;
      if is_erased then return new; end if;
      raise exception '% are only ever appended: % is refused', tg_table_name, tg_op using errcode = '42501';
    end $$`,
    `create trigger append_only_update before update on events
      for each row execute function refuse_change_unless_erased('job', 'position')`,
    // Up to where events may be removed: one row.
    `create table history (
      through bigint not null,
      older_than bigint not null,
      passed bigint not null
    )`,
    `insert into history (through, older_than, passed) values (0, 0, 0)`,
    `create function keep_event() returns trigger language plpgsql as $$
    declare
      is_over boolean := case
        when old.job is null then old.type ${OF_SCHEDULE} and old.position <= ${through}
        else ${isForgottenBy('old', through)}
      end;
    begin
      if is_over then return old; end if;
      raise exception 'events are only ever appended: % is refused', tg_op using errcode = '42501';
    end $$`,
    `create trigger append_only before delete on events
      for each row execute function keep_event()`,
    `create trigger append_only_whole before truncate on events
      for each statement execute function refuse_change()`,
    `create table baselines (
      kind text collate "C" not null,
      name text collate "C" not null,
      stage integer not null,
      segment integer not null,
      through bigint not null,
      last_position bigint not null,
      record bytea not null,
      primary key (kind, name, stage, segment, through)
    )`,
    `create index baselines_of on baselines (name)`,
    `create function keep_baseline() returns trigger language plpgsql as $$
    declare
      is_over boolean := case old.kind
        when 'queue' then false
        when 'schedule' then exists (
          select 1 from baselines b
          where b.kind = old.kind and b.name = old.name and b.through > old.through
        )
        else ${isBaselineForgottenBy('old', through)}
      end;
    begin
      if is_over then return old; end if;
      raise exception 'baselines are only ever appended: % is refused', tg_op using errcode = '42501';
    end $$`,
    `create trigger append_only_update before update on baselines
      for each row execute function refuse_change_unless_erased('name', 'through')`,
    `create trigger append_only before delete on baselines
      for each row execute function keep_baseline()`,
    // Whatever the search path of a session is, and whatever temporary tables it has.
    `do $$ begin
      execute format('alter function keep_event() set search_path = %I, pg_temp', current_schema());
      execute format('alter function keep_baseline() set search_path = %I, pg_temp', current_schema());
    end $$`,
    `create trigger append_only_whole before truncate on baselines
      for each statement execute function refuse_change()`,
    `create function as_expected(changed bigint, expected bigint) returns void language plpgsql as $$
    begin
      if changed <> expected then
        raise exception '% of % rows are not as they were', expected - changed, expected
          using errcode = '40001';
      end if;
    end $$`,
    // Columns that are never null and have one length come first: behind the first column that may be null,
    // or that is a text, the server finds a column by walking over all before it. The defaults are those of
    // a plain job that was just submitted.
    `create table work (
      position bigint not null,
      last_position bigint not null,
      version bigint not null default 1,
      due_at bigint not null,
      rank bigint not null,
      place bigint not null,
      stage integer not null default -1,
      segment integer not null default 0,
      priority integer not null,
      attempt integer not null default 0,
      committed boolean not null default false,
      is_suspended boolean not null default false,
      job text collate "C" not null,
      state text collate "C" not null default 'WAITING',
      type text collate "C" not null,
      expires_at bigint,
      over_at bigint,
      ended_at bigint,
      turn bigint,
      level integer,
      channel text collate "C",
      queue text collate "C",
      start_by bigint,
      deadline bigint,
      retain_ms bigint,
      key text collate "C",
      key_held text collate "C",
      parked text collate "C",
      grp text collate "C",
      tags text collate "C",
      record bytea,
      primary key (job, stage, segment) ${DISTINCT},${WORK_CONSTRAINTS}
    ) ${CHURN}`,
    `create index ready on work (${channelHash('channel')}, level desc, turn, rank, place, segment)
      ${DISTINCT} where channel is not null and turn is not null and parked is null`,
    `create index not_due on work (due_at, place, segment) where channel is not null and turn is null`,
    `create index parked on work (parked, ${channelHash('channel')}, level desc, turn, rank, place)
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
    // Without what holds a lease: each change of a row is an entry in each index that the row is in.
    `create index by_type on work (type, position) where ${IS_OWN_ROW} and expires_at is null`,
    `create index by_state on work (state, position) where ${IS_LISTED_BY_STATE}`,
    `create table queues (
      queue text collate "C" primary key,
      version bigint not null check (version > 0),
      record bytea not null,
      is_limited boolean not null,
      is_paused boolean not null,
      full_at double precision not null
    )`,
    `create table schedules (
      schedule text collate "C" primary key,
      version bigint not null check (version > 0),
      record bytea not null,
      is_set boolean not null
    )`,
    `create table limits (
      key text collate "C" primary key,
      held bigint not null check (held >= 0),
      full_at double precision not null,
      wake_at bigint
    ) ${CHURN}`,
    `create index waking on limits (wake_at) where wake_at is not null`,
    `create table group_turns (
      channel text collate "C" not null,
      level integer not null,
      grp text collate "C" not null,
      turn bigint not null,
      block bigint generated always as (turn / ${TURNS_OF_BLOCK}) stored,
      primary key (channel, level, grp)
    ) ${CHURN}`,
    // By the hash: an index that begins with the channel would also be taken to look up a single group.
    `create index newest_turn on group_turns (${channelHash('channel')}, level, block desc)`,
    `create table counts (
      ${COUNT_CELLS.map((cell) => `${cell} bigint not null,`).join('\n      ')}
      dimension text collate "C" not null,
      name text collate "C" not null,
      queue text collate "C" not null,
      type text collate "C" not null,
      primary key (dimension, name, queue, type)
    ) ${CHURN}`,
    // Transactions only append, so that none waits for another; upkeep adds them up in `counts`.
    `create table count_changes (
      ${COUNT_CELLS.map((cell) => `${cell} integer not null,`).join('\n      ')}
      dimension text collate "C" not null,
      name text collate "C" not null,
      queue text collate "C" not null,
      type text collate "C" not null
    ) ${CHURN}`,
    // Which jobs have a tag, or failed of an error.
    `create table labels (
      position bigint not null,
      label text collate "C" not null,
      job text collate "C" not null,
      primary key (label, position)
    )`,
    // The states of pipelines, and whether they have held effects, as they are counted.
    `create table pipelines (
      position bigint not null,
      until bigint,
      held boolean not null,
      job text collate "C" primary key,
      counted text collate "C" not null,
      type text collate "C" not null,
      tags text collate "C"
    ) ${CHURN}`,
    `create index pipelines_until on pipelines (until) where until is not null`,
    `create index pipelines_counted on pipelines (counted, position)`,
    // What people are asked, in each list that a filter may mean; and which tasks have held effects, in another.
    `create table questions (
      since bigint not null,
      position bigint not null,
      stage integer not null,
      segment integer not null,
      list text collate "C" not null,
      name text collate "C" not null,
      job text collate "C" not null,
      primary key (list, since, position, stage, segment, name)
    ) ${CHURN}`,
    `create table tallies (
      id bigint generated always as identity primary key,
      ended_at bigint not null,
      stage integer not null,
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
      to_check boolean not null,
      job text collate "C" not null
    ) ${CHURN}`,
    `create index tallies_of on tallies (job)`,
    `create index tallies_to_check on tallies (id) where to_check`,
    `create table calls (
      id bigint generated always as identity primary key,
      stage integer not null,
      segment integer not null,
      job text collate "C" not null
    ) ${CHURN}`,
    `create index calls_of on calls (job)`,
    // Presence is soft: what is not logged costs no write that must be durable.
    `create unlogged table processes (
      name text collate "C" primary key,
      heard_at bigint not null,
      is_judged boolean not null,
      text text not null,
      asked jsonb not null default '{}'
    ) with (fillfactor = 50)`,
    `create unlogged table reports (
      job text collate "C" primary key,
      said_at bigint not null,
      text text not null
    ) with (fillfactor = 50)`,
    // Statistics would keep some of the records where no erasing finds them; no plan goes by them.
    ...['events', 'baselines', 'work', 'schedules'].map(
      (table) => `alter table ${table} alter column record set statistics 0`,
    ),
    `alter table reports alter column text set statistics 0`,
  ],
]
