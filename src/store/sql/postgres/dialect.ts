/**
 * What a store on PostgreSQL is told of it. The tables are in a schema of their own.
 */
import type { News } from '../../notice.ts'
import type { Dialect } from '../dialect.ts'
import type { PostgresAddress, ServerLimits } from './address.ts'
import { urlsOf } from './address.ts'
import { openNotifier, tellingNotifier } from './notifier.ts'
import { openConnection } from './connection.ts'
import { PostgresPresence } from './presence.ts'
import { postgresUserDialect } from './user-transaction.ts'
import { erasureStatements } from './erasure-statements.ts'
import { HISTORY } from './history-statements.ts'
import { JOB_CHECKS } from './job-check-statements.ts'
import { STEPS } from './schema.ts'
import { PostgresServers } from './servers.ts'
import { LISTS } from './list-statements.ts'
import { SNAPSHOTS } from './snapshot-statements.ts'
import { quoted } from './qualified-names.ts'
import { FORGET_COUNT, POSTGRES, vacuumTables } from './statements.ts'

/** Transactions under way at once: one decides while others wait for the disk. */
const CONNECTIONS = 4
const POLL_MS = 500

/** `limits`: a port for tests. */
export function postgresDialect(
  { url, schema = 'pawl', connection }: Pick<PostgresAddress, 'url' | 'schema' | 'connection'>,
  limits: ServerLimits = {},
): Dialect {
  const servers = new PostgresServers(urlsOf(url))
  const { max = CONNECTIONS } = connection ?? {}
  const address = { url, ...(connection === undefined ? {} : { connection }), servers, ...limits }
  return {
    where: `The schema ${schema} on PostgreSQL`,
    statements: POSTGRES,
    jobChecks: JOB_CHECKS,
    erasure: erasureStatements(schema),
    history: HISTORY,
    snapshots: SNAPSHOTS,
    lists: LISTS,
    connect: () => openConnection({ ...address, schema, settings: PLANS }),
    userTransactions: postgresUserDialect(address, schema, max),
    connections: max,
    // Those that are committed at the same time share the disk.
    manyCommands: 16,
    pollMs: POLL_MS,
    openNotifier(id: string, onHeard: (news: News) => void, presence, run) {
      if (servers.isPooled) return tellingNotifier(id, run)
      const session = presence instanceof PostgresPresence ? presence : null
      return openNotifier({ ...address, schema }, id, onHeard, session)
    },
    writesSoFar: 'select pg_current_snapshot()::text',
    notice: () => (servers.isPooled ? { kind: 'pooler', why: POOLED } : null),
    availability: servers.availability,
    openPresence: (parts) => new PostgresPresence(schema, parts, servers.isPooled),
    forgetCount: FORGET_COUNT,
    vacuum: vacuumTables(schema),
    hasCursor: true,
    migrations: STEPS,
    // The lock first: two that create a schema at once may both fail.
    prepare: [
      `select pg_advisory_xact_lock(hashtextextended('pawl/' || '${quoted(schema)}', 0))`,
      // Only if it is not there: to ask for it takes rights that not everybody has.
      `do $pawl$ begin
        if not exists (select from pg_catalog.pg_namespace where nspname = '${quoted(schema)}') then
          create schema "${schema.replaceAll('"', '""')}";
        end if;
      end $pawl$`,
    ],
    hasTables: `select count(*) from pg_catalog.pg_tables where schemaname = '${quoted(schema)}' and tablename = 'meta'`,
    setVersion: `
      insert into meta (name, value) values ('version', $1::text)
      on conflict (name) do update set value = excluded.value`,
  }
}

/**
 * Every statement has one plan that is right for it, whatever is in the tables: by the indexes that
 * are there for it, row by row. A planner that goes by statistics would read whole tables while they
 * are small, remember that, and be wrong when they have grown. What is off counts as so dear that the
 * server would compile a statement that needs it all the same: so `jit` is off, too.
 */
const PLANS = [
  ...['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'].map(
    (name) => [name, 'off'] as const,
  ),
  ['plan_cache_mode', 'force_generic_plan'] as const,
]

const POOLED =
  "A pooler stands before the server, and gives each transaction another session: news of other processes are polled for, twice a second, and jobs of a process that dies wait until their leases have run out. If it keeps a session for each connection, say so: open(url, { connection: { pooler: 'session' } })."
