/**
 * Of the store itself: whether it can be reached and opened by this version, and what is set that should not be.
 */
import { existsSync } from 'node:fs'
import type { Client } from 'pg'
import { PawlError } from '../../kernel/index.ts'
import { nowUs, systemClock } from '../../store/clock.ts'
import { openHttp } from '../../store/http/open-http.ts'
import { postgresDialect } from '../../store/sql/postgres/dialect.ts'
import { versionOf } from '../../store/sql/tables.ts'
import { repairDirectory, verifyDatabase } from '../../store/index.ts'
import type { Settings } from '../settings.ts'
import { isServer } from '../settings.ts'
import { diskChecks } from './disk-checks.ts'
import type { Finding } from './finding.ts'
import { fit, mind, unfit } from './finding.ts'

const SQLITE = 'sqlite:'
const OLDEST_POSTGRES = 130_000
const FAR_APART_MS = 5_000
const SLOW_MS = 50

/** `store`: what the settings name. */
export async function storeChecks(settings: Settings): Promise<Finding[]> {
  const { store } = settings
  if (isServer(store)) return serverChecks(store, settings.token)
  if (/^postgres(?:ql)?:/.test(store)) return postgresChecks(store, settings.schema)
  if (store === 'memory:') return [mind('store', 'in memory', 'It is gone with its process.')]
  if (!store.startsWith(SQLITE)) return [...(await diskChecks(store)), await directoryCheck(store)]
  const path = store.slice(SQLITE.length)
  return [...(await diskChecks(path)), await sqliteCheck(store, path)]
}

async function attempt(check: string, task: () => Promise<Finding>): Promise<Finding> {
  try {
    return await task()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const code = error instanceof PawlError ? error.code : ''
    if (code === 'DirectoryInUse') return fit(check, 'another process has it open')
    return unfit(check, why, 'See docs/errors.md.')
  }
}

function directoryCheck(folder: string): Promise<Finding> {
  return attempt('store', async () => {
    if (!existsSync(folder)) return fit('store', `there is nothing at ${folder} yet`)
    const { problems } = await repairDirectory(folder, { apply: false })
    return problems.length === 0
      ? fit('store', 'every byte of its files checks')
      : unfit('store', `${problems.length} problems: ${problems[0]?.what}`, 'Run `pawl verify`.')
  })
}

function sqliteCheck(store: string, path: string): Promise<Finding> {
  return attempt('store', async () => {
    if (!existsSync(path)) return fit('store', `there is nothing at ${path} yet`)
    const { problems } = await verifyDatabase(store)
    return problems.length === 0
      ? fit('store', 'its rows are what its events say')
      : unfit('store', `${problems.length} problems: ${problems[0]?.what}`, 'Run `pawl verify`.')
  })
}

export function clockDistance(check: string, apartMs: number): Finding {
  const found = `${Math.abs(apartMs).toFixed(0)} ms from this machine's clock`
  return Math.abs(apartMs) < FAR_APART_MS
    ? fit(check, found)
    : mind(
        check,
        found,
        'Its clock counts. Dates that this machine gives mean another moment there.',
      )
}

function answerTime(ms: number): Finding {
  const found = `answers in ${ms.toFixed(1)} ms`
  return ms < SLOW_MS
    ? fit('latency', found)
    : mind('latency', found, 'Workers far away need a higher concurrency.')
}

async function serverChecks(url: string, token: string | undefined): Promise<Finding[]> {
  const began = nowUs()
  try {
    const store = await openHttp({ url, token, presence: false })
    try {
      const answered = nowUs()
      await store.query({ kind: 'outcome', job: '-' })
      const ms = (nowUs() - answered) / 1_000
      return [
        fit('server', `reached in ${((answered - began) / 1_000).toFixed(0)} ms`),
        answerTime(ms),
        clockDistance("the server's clock", store.now() - systemClock.now()),
      ]
    } finally {
      await store.close()
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return [unfit('server', why, 'Is the address right, and PAWL_TOKEN or --token-file?')]
  }
}

interface PostgresSettings {
  readonly version: number
  readonly now: Date
  readonly fsync: string
  readonly commits: string
  readonly connections: string
}

const ASK = `select current_setting('server_version_num')::int as version, clock_timestamp() as now,
  current_setting('fsync') as fsync, current_setting('synchronous_commit') as commits,
  current_setting('max_connections') as connections`

async function postgresChecks(url: string, schema: string | undefined): Promise<Finding[]> {
  const { default: pg } = await import('pg')
  const client: Client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  try {
    await client.connect()
    const began = nowUs()
    const [row] = (await client.query<PostgresSettings>(ASK)).rows
    const ms = (nowUs() - began) / 1_000
    const found = postgresFindings(row as PostgresSettings, systemClock.now())
    return [...found, answerTime(ms), await tablesCheck(url, schema)]
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return [unfit('database', why, 'Is the address right, and does the server run?')]
  } finally {
    await client.end().catch(() => undefined)
  }
}

export function postgresFindings(row: PostgresSettings, now: number): Finding[] {
  const { version, fsync, commits, connections } = row
  const name = `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}`
  return [
    version >= OLDEST_POSTGRES
      ? fit('database', name)
      : unfit('database', name, 'Pawl needs PostgreSQL 13 or later.'),
    fsync === 'on'
      ? fit('fsync', 'on')
      : unfit(
          'fsync',
          fsync,
          'Switch it on: a crash of the server loses, or breaks, the database.',
        ),
    commits === 'off'
      ? mind(
          'synchronous_commit',
          'off',
          'Switch it on: a crash of the server may lose what was acknowledged last.',
        )
      : fit('synchronous_commit', commits),
    fit('connections', `${connections} at most`),
    clockDistance("the database's clock", row.now.getTime() - now),
  ]
}

/** Their version, without making them. */
async function tablesCheck(url: string, schema: string | undefined): Promise<Finding> {
  const dialect = postgresDialect({ url, ...(schema === undefined ? {} : { schema }) })
  const connection = await dialect.connect()
  try {
    const [found, known] = [await versionOf(connection, dialect), dialect.migrations.length]
    if (found === 0) return fit('tables', 'there are none yet: `pawl migrate` makes them')
    if (found === known) return fit('tables', `version ${found}`)
    const both = `version ${found}; this version of Pawl knows ${known}`
    return found > known
      ? unfit('tables', both, 'Use a newer version of Pawl.')
      : mind('tables', both, 'Run `pawl migrate`, or open the store once.')
  } finally {
    await connection.close()
  }
}
