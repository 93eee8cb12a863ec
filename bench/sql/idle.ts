/**
 * Part `idle`: what an engine with a worker asks of PostgreSQL while nothing happens, counted in the
 * server's log.
 */
import { readFileSync } from 'node:fs'
import { job, open } from '../../src/index.ts'
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import { atMost } from '../log/aim.ts'
import type { Database } from './databases.ts'

/** Until polls have slowed down, and connections that are not needed are closed. */
const SETTLE_MS = 25_000
const REST_MS = 20_000
const MOST_STATEMENTS = 5
const MOST_CONNECTIONS = 2

const STATEMENT = /LOG: {2}(?:execute [^:]*|statement): /g
const CLIENTS = `select count(*)::int4 from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid()`

const nothing = job('nothing', { run: () => null })

export async function benchIdle(
  { name }: Database,
  say: (line: string) => void,
): Promise<string[]> {
  if (name !== 'PostgreSQL') return []
  say(`${name}: an idle process …`)
  // A server of its own: it writes down every statement.
  const server = await PostgresServer.start({ settings: { log_statement: 'all' } })
  try {
    const pawl = await open(server.url, { schema: 'idle' })
    pawl.work([nothing])
    await (await pawl.submit(nothing)).result()
    await pause(SETTLE_MS)
    const log = `${server.folder}/server.log`
    const before = readFileSync(log, 'utf8').length
    await pause(REST_MS)
    const said = readFileSync(log, 'utf8').slice(before)
    const connection = await openConnection({ url: server.url })
    const [clients] = await connection.run([{ sql: CLIENTS, values: [] }])
    await connection.close()
    await pawl.close()
    const statements = (said.match(STATEMENT)?.length ?? NaN) / (REST_MS / 1e3)
    return [
      '',
      `${name}: a process with a worker that has nothing to do`,
      atMost('statements a second', statements, MOST_STATEMENTS),
      atMost('connections', clients?.rows[0]?.[0] as number, MOST_CONNECTIONS),
    ]
  } finally {
    await server.stop()
    await server.remove()
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
