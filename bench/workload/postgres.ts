/**
 * The PostgreSQL that steps run on: a real server that waits for the disk at each commit, and a new
 * database for each step.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'pg'
import { PostgresServer, sweepServers } from '../../test/support/postgres-server.ts'

/** Since the server was started. */
export interface ServerCounts {
  /** Of write-ahead log. */
  readonly bytes: number
  /** Of write-ahead log. */
  readonly syncs: number
}

const LOG_FILES = 32
const LOOK_EVERY_MS = 10
const LOOKS = 500

export class BenchPostgres {
  readonly pid: number
  readonly #server: PostgresServer
  /** One connection, for one after the other. */
  readonly #admin: Pool
  #databases = 0
  /** A bench that is broken off by hand has no time to stop it. */
  readonly #end = (): void => void process.kill(this.pid, 'SIGQUIT')

  private constructor(server: PostgresServer, admin: Pool) {
    this.#server = server
    this.#admin = admin
    const [pid] = readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
    this.pid = Number(pid)
    process.once('exit', this.#end)
  }

  /** With the settings that it ships with, and those that are given. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<BenchPostgres> {
    await sweepServers()
    const server = await PostgresServer.start({ fsync: true, settings })
    const admin = new Pool({ connectionString: server.url, max: 1, idleTimeoutMillis: 0 })
    const postgres = new BenchPostgres(server, admin)
    await postgres.#makeLogFiles()
    return postgres
  }

  async freshDatabase(): Promise<string> {
    this.#databases += 1
    const name = `bench_${this.#databases}`
    await this.#admin.query(`create database ${name}`)
    const url = new URL(this.#server.url)
    url.pathname = `/${name}`
    return url.href
  }

  async drop(url: string): Promise<void> {
    await this.#admin.query(`drop database if exists ${nameOf(url)} with (force)`)
  }

  /** So that no step pays for what an earlier one has left to be written. */
  async checkpoint(): Promise<void> {
    await this.#admin.query('checkpoint')
  }

  /** A connection adds what it has counted when it ends, so the database's are waited for. */
  async counts(url: string): Promise<ServerCounts> {
    for (let look = 0; look < LOOKS && (await this.#isConnected(nameOf(url))); look++) {
      await delay(LOOK_EVERY_MS)
    }
    const { rows } = await this.#admin.query<{ bytes: string; syncs: string }>(
      `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes,
              (select sum(fsyncs) from pg_stat_io where object = 'wal') as syncs`,
    )
    return { bytes: Number(rows[0]?.bytes), syncs: Number(rows[0]?.syncs) }
  }

  async stop(): Promise<void> {
    process.off('exit', this.#end)
    await this.#admin.end()
    await this.#server.stop()
    await this.#server.remove()
  }

  async #isConnected(database: string): Promise<boolean> {
    const sql = 'select from pg_stat_activity where datname = $1'
    return (await this.#admin.query(sql, [database])).rowCount !== 0
  }

  /**
   * A server that has run for a while uses the files of its log again. A new one makes each when it
   * is needed, and a commit waits meanwhile until 16 MB of zeros are on the disk.
   */
  async #makeLogFiles(): Promise<void> {
    for (let i = 0; i < LOG_FILES; i++) {
      await this.#admin.query(
        `select pg_switch_wal() from pg_logical_emit_message(false, 'bench', 'next')`,
      )
    }
    await this.checkpoint()
  }
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1)
}
