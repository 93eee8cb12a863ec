/**
 * The databases that are measured: real servers and files, that wait for the disk at each commit.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '../../src/store/index.ts'
import { openConnection as toPostgres } from '../../src/store/sql/postgres/connection.ts'
import { openPostgres, openSqliteStore } from '../../src/store/sql/open-sql.ts'
import type { Connection } from '../../src/store/sql/connection.ts'
import { openConnection as toSqlite } from '../../src/store/sql/sqlite/connection.ts'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import type { Scratch } from '../log/scratch.ts'
import { familyUs } from '../process-time.ts'
import type { Floor } from './floor.ts'
import { POSTGRES_FLOOR, SQLITE_FLOOR } from './floor.ts'
import { openAt } from './open-at.ts'

export interface Database {
  readonly name: string
  readonly floor: Floor
  /** Connections that the floor is measured with. */
  readonly connections: number
  connect(): Promise<Connection>
  /** An empty store. */
  store(): Promise<Store>
  /** What `open` of the engine is given for an empty store. */
  location(): { readonly location: string; readonly schema?: string }
  readonly openAt: typeof openAt
  /** Microseconds on a core that the database itself has used, outside of this process. */
  cpuUs(): number
  close(): Promise<void>
}

/** Settings of a server that is there for a store of this size. */
export const ROOMY = {
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  min_wal_size: '4GB',
  checkpoint_timeout: '30min',
}

export async function postgres(): Promise<Database> {
  const server = await PostgresServer.start({ fsync: true, settings: ROOMY })
  await makeLogFiles(server.url)
  let schemas = 0
  const fresh = (): string => {
    schemas += 1
    return `bench_${schemas}`
  }
  const [pid = ''] = readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
  return {
    name: 'PostgreSQL',
    floor: POSTGRES_FLOOR,
    connections: 4,
    connect: async () => {
      const connection = await toPostgres({ url: server.url })
      // The same plans as the store's: the floor is to be as quick as it can be.
      const off = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']
      const settings = off.map((name) => `set_config('${name}', 'off', false)`).join(', ')
      await connection.run([{ sql: `select ${settings}`, values: [] }])
      return connection
    },
    store: () => openPostgres({ url: server.url, schema: fresh() }),
    location: () => ({ location: server.url, schema: fresh() }),
    openAt,
    cpuUs: () => familyUs(Number(pid)),
    close: async () => {
      await server.stop()
      await server.remove()
    },
  }
}

export async function sqlite(scratch: Scratch): Promise<Database> {
  const path = scratch.fresh('floor')
  return {
    name: 'SQLite',
    floor: SQLITE_FLOOR,
    connections: 1,
    connect: () => toSqlite({ path }),
    store: () => openSqliteStore({ path: scratch.fresh('store') }),
    location: () => ({ location: `sqlite:${scratch.fresh('engine')}` }),
    openAt,
    cpuUs: () => 0,
    close: async () => undefined,
  }
}

const LOG_FILES = 96

/**
 * A server that has run for a while uses the files of its log again. A new one makes each when it is
 * needed, and whoever commits just then waits until 16 MB of zeros are on the disk.
 */
async function makeLogFiles(url: string): Promise<void> {
  const connection = await toPostgres({ url })
  for (let i = 0; i < LOG_FILES; i++) {
    const sql = `select pg_switch_wal() from pg_logical_emit_message(false, 'bench', 'next')`
    await connection.run([{ sql, values: [] }])
  }
  await connection.run([{ sql: 'checkpoint', values: [] }])
  await connection.close()
}
