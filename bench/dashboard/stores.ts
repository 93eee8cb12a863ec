/**
 * The stores that the dashboard bench looks at. In a folder that is kept, a store that was loaded once is found again.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { newFolder, PostgresServer, sweepServers } from '../../test/support/postgres-server.ts'
import type { StoreName } from '../growth/place.ts'
import type { Scratch } from '../log/scratch.ts'
import { familyUs } from '../process-time.ts'
import { ROOMY } from '../sql/databases.ts'

export interface StoreAddress {
  readonly location: string
  readonly schema: string | null
}

export interface BenchStore {
  readonly address: StoreAddress
  readonly isLoaded: boolean
  noteLoaded(): void
  /** Of the server, outside of the engine's process. */
  serverUs(): number
  /** Nothing is cleaned up meanwhile: it would fall on one turn, and not on the next. */
  undisturbed<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** `kept`: where stores stay; null: they are removed. */
export async function benchStore(
  name: StoreName,
  jobs: number,
  kept: string | null,
  scratch: Scratch,
): Promise<BenchStore> {
  const folder = kept === null ? freshFolder(name, scratch) : join(kept, `${name}-${jobs}`)
  const note = join(folder, 'loaded')
  const marks = {
    isLoaded: existsSync(note),
    noteLoaded: () => writeFileSync(note, ''),
  }
  if (name === 'postgres') return { ...marks, ...(await onPostgres(folder, kept !== null)) }
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'pawl')
  return {
    ...marks,
    address: { location: name === 'sqlite' ? `sqlite:${path}` : path, schema: null },
    serverUs: () => 0,
    undisturbed: (work) => work(),
    close: async () => undefined,
  }
}

/** The server of PostgreSQL may run as a user to whom the folder of the bench is closed. */
function freshFolder(name: StoreName, scratch: Scratch): string {
  return name === 'postgres' ? newFolder() : scratch.fresh(name)
}

async function onPostgres(
  folder: string,
  isKept: boolean,
): Promise<Pick<BenchStore, 'address' | 'serverUs' | 'undisturbed' | 'close'>> {
  await sweepServers()
  const options = { fsync: true, settings: ROOMY }
  const server = existsSync(join(folder, 'data'))
    ? await PostgresServer.again(options, folder)
    : await PostgresServer.start(options, folder)
  const [pid] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
  const end = (): void => void process.kill(Number(pid), 'SIGQUIT')
  process.once('exit', end)
  return {
    address: { location: server.url, schema: 'bench' },
    serverUs: () => familyUs(Number(pid)),
    undisturbed: async (work) => {
      await tell(server.url, 'alter system set autovacuum = off', 'select pg_reload_conf()')
      try {
        return await work()
      } finally {
        await tell(server.url, 'alter system reset autovacuum', 'select pg_reload_conf()')
      }
    },
    close: async () => {
      process.off('exit', end)
      await server.stop()
      if (!isKept) await server.remove()
    },
  }
}

async function tell(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  for (const sql of statements) await client.query(sql)
  await client.end()
}
