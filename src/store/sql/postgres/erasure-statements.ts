/**
 * The statements by which what is stored of an erased job is redacted on PostgreSQL, and the tables are
 * left without old versions of their rows.
 */
import type { ErasureStatements } from '../statements.ts'
import { identifier } from './qualified-names.ts'

const TABLES = ['events', 'work', 'baselines', 'reports', 'processes']

const REDACTION: Omit<ErasureStatements, 'compact'> = {
  events: `
    with recursive chain (position, before) as (
      select e.position, e.before from work w
      cross join lateral (values (w.last_position), (w.position)) as p (position)
      join events e on e.position = p.position where w.job = $1::text
      union
      select e.position, e.before from chain c join events e on e.position = c.before
    ) select position from chain`,
  eventsBetween: `
    select position from events
    where job = $1::text and position between $2::int8 and $3::int8`,
  redactEvents: `
    update events e set record = given.record
    from unnest($1::int8[], $2::bytea[]) as given (position, record)
    where e.position = given.position`,
  redactRows: `
    update work w set record = given.record
    from unnest($1::text[], $2::int4[], $3::int4[], $4::bytea[]) as given (job, stage, segment, record)
    where w.job = given.job and w.stage = given.stage and w.segment = given.segment`,
  redactBaselines: `
    update baselines b set record = given.record
    from unnest($1::text[], $2::text[], $3::int4[], $4::int4[], $5::int8[], $6::bytea[])
      as given (kind, name, stage, segment, through, record)
    where b.kind = given.kind and b.name = given.name and b.stage = given.stage
      and b.segment = given.segment and b.through = given.through`,
  // A `vacuum full` copies the old versions of rows that a transaction somewhere may still read. One of another database
  // reads none of them, but what begins here meanwhile takes its number for the oldest.
  oldReaders: {
    moment: 'select pg_current_xact_id()::text',
    before: `
      select string_agg(said, ', ' order by said) from (
        select format('process %s (%s) since %s', pid, coalesce(nullif(application_name, ''), backend_type, '?'),
          coalesce(xact_start::text, '?')) as said
        from pg_stat_activity
        where pid <> pg_backend_pid() and (
          age(backend_xid) > age($1::text::xid8::xid)
          or (datname = current_database() or datid is null) and age(backend_xmin) > age($1::text::xid8::xid)
        )
        union all
        select format('prepared transaction %s since %s', gid, prepared) from pg_prepared_xacts
        where age(transaction) > age($1::text::xid8::xid)
        union all
        select format('replication slot %s', slot_name) from pg_replication_slots
        where age(xmin) > age($1::text::xid8::xid)
      ) as readers`,
  },
}

/** `schema`: outside of a transaction there may be no path to look for names. */
export function erasureStatements(schema: string): ErasureStatements {
  // A plain vacuum leaves the bytes of old rows in the free space of their pages. Without the right to it, the
  // server only warns.
  const compact = TABLES.map((table) => ({
    run: `vacuum full ${identifier(schema)}.${table}`,
    mark: `select pg_relation_filenode('${table}')`,
  }))
  return { ...REDACTION, compact }
}
