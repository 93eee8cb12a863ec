/**
 * The databases that the tests of verify, repair and copy go through: a fresh store in each, and a
 * function that plants damage in it with plain SQL, past all guards.
 */
import type { Clock } from '../../../src/store/index.ts'
import { postgresDialect } from '../../../src/store/sql/postgres/dialect.ts'
import type { Connection, Row } from '../../../src/store/sql/connection.ts'
import type { Dialect } from '../../../src/store/sql/dialect.ts'
import { openSql } from '../../../src/store/sql/open-sql.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { sqliteDialect } from '../../../src/store/sql/sqlite/dialect.ts'
import { freshSchema } from '../../support/postgres.ts'
import { freshFile } from '../../support/sqlite.ts'

/** Runs one statement, with `?` for its values. */
export type Run = (sql: string, ...values: Row) => Promise<readonly Row[]>

export interface TestDatabase {
  readonly dialect: Dialect
  /** What `verifyDatabase` and its like are given. */
  readonly location: string
  readonly schema: string | undefined
  open(clock: Clock): Promise<SqlStore>
  /** Plants damage for the time of `work`; then all is as it was. */
  inside(work: (run: Run, connection: Connection) => Promise<void>): Promise<void>
  /** Plants damage for good. */
  plant(work: (run: Run) => Promise<unknown>): Promise<void>
  close(): Promise<void>
}

abstract class AnyPlace implements TestDatabase {
  #connection: Connection | null = null
  abstract readonly dialect: Dialect
  abstract readonly location: string
  abstract readonly schema: string | undefined

  open(clock: Clock): Promise<SqlStore> {
    return openSql(this.dialect, { clock })
  }

  inside(work: (run: Run, connection: Connection) => Promise<void>): Promise<void> {
    return this.#in(work, 'rollback')
  }

  plant(work: (run: Run) => Promise<unknown>): Promise<void> {
    return this.#in(work, 'commit')
  }

  async #in(
    work: (run: Run, connection: Connection) => Promise<unknown>,
    end: string,
  ): Promise<void> {
    // One for all: what is asked again and again is prepared once.
    const connection = (this.#connection ??= await this.dialect.connect())
    await connection.run([{ sql: 'begin', values: [] }])
    try {
      await this.unguarded(connection, () =>
        work(async (sql, ...values) => {
          const [answered] = await connection.run([{ sql: this.words(sql), values }])
          return answered?.rows ?? []
        }, connection),
      )
      await connection.run([{ sql: end, values: [] }])
    } catch (error) {
      await connection.run([{ sql: 'rollback', values: [] }])
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#connection?.close()
  }

  protected abstract words(sql: string): string
  protected abstract unguarded(connection: Connection, work: () => Promise<unknown>): Promise<void>
}

class PostgresPlace extends AnyPlace {
  readonly dialect: Dialect
  readonly location: string
  readonly schema: string

  constructor({ url, schema }: { url: string; schema: string }) {
    super()
    this.location = url
    this.schema = schema
    this.dialect = postgresDialect({ url, schema })
  }

  protected words(sql: string): string {
    let count = 0
    return sql.replaceAll('?', () => `$${++count}`)
  }

  protected async unguarded(connection: Connection, work: () => Promise<unknown>): Promise<void> {
    const named = `select conname, pg_get_constraintdef(oid) from pg_constraint
      where conrelid = 'work'::regclass and contype = 'c'`
    const run = (...texts: readonly string[]) =>
      connection.run(texts.map((sql) => ({ sql, values: [] })))
    const [, found] = await run('set local session_replication_role = replica', named)
    const checks = (found?.rows ?? []) as unknown as readonly (readonly [string, string])[]
    await run(...checks.map(([name]) => `alter table work drop constraint ${name}`))
    await work()
    // They hold for what is written from now on.
    await run(
      ...checks.map(([name, text]) => `alter table work add constraint ${name} ${text} not valid`),
    )
  }
}

class SqlitePlace extends AnyPlace {
  readonly dialect: Dialect
  readonly location: string
  readonly schema = undefined

  constructor(path: string) {
    super()
    this.location = `sqlite:${path}`
    this.dialect = sqliteDialect({ path })
  }

  protected words(sql: string): string {
    return sql
  }

  protected async unguarded(connection: Connection, work: () => Promise<unknown>): Promise<void> {
    const sql = `select name, sql from sqlite_master where type = 'trigger'`
    const [found] = await connection.run([{ sql, values: [] }])
    const triggers = found?.rows ?? []
    const run = (...texts: readonly string[]) =>
      connection.run(texts.map((text) => ({ sql: text, values: [] })))
    await run('pragma ignore_check_constraints = on')
    await run(...triggers.map(([name]) => `drop trigger ${String(name)}`))
    try {
      await work()
    } finally {
      await run('pragma ignore_check_constraints = off')
    }
    await run(...triggers.map(([, text]) => text as string))
  }
}

export const DATABASES: Readonly<Record<string, () => Promise<TestDatabase>>> = {
  SQLite: async () => new SqlitePlace(await freshFile()),
  PostgreSQL: async () => new PostgresPlace(await freshSchema()),
}
