/**
 * Transactions of the libraries that users write to their databases with, each made into the
 * `UserTransaction` that a store takes: pg, SQLite, Kysely and Drizzle.
 */
import { resolve } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { openSqlite as openFile } from '../../../log/disk/sqlite-driver.ts'
import { BadRequest } from '../../errors.ts'
import type { SqlParameter, UserTransaction } from '../../user-transaction.ts'

/** What is used of a `Client` or a `PoolClient`. A pool is none: it may run each query on another client. */
export interface PgClient {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly object[] }>
  escapeIdentifier(text: string): string
}

/** It keeps the client, so that the store can send many statements at once. */
export class PgTransaction implements UserTransaction {
  readonly connection: PgClient

  constructor(client: PgClient) {
    this.connection = client
  }

  async query(text: string, parameters: readonly SqlParameter[]): Promise<readonly object[]> {
    const { rows } = await this.connection.query(text, [...parameters])
    return rows
  }
}

/** A `Client` or `PoolClient` of pg, between its `BEGIN` and its `COMMIT`. */
export function fromPg(client: PgClient): UserTransaction {
  if (typeof client?.query !== 'function' || typeof client.escapeIdentifier !== 'function') {
    throw new BadRequest(
      'fromPg() needs a client of pg that is in a transaction: `const client = await pool.connect()`, then `begin`. A pool runs each query on a client of its own.',
    )
  }
  return new PgTransaction(client)
}

/** What is used of a `DatabaseSync`. */
export interface SyncDatabase {
  prepare(sql: string): {
    all(...values: never[]): readonly unknown[]
    run(...values: never[]): unknown
  }
}

const BUSY_MS = 5_000

/**
 * A connection of your own to a file, by the very SQLite that the store uses: two copies of SQLite in one
 * process do not see each other's locks, and which one the store uses depends on the version of Node. It
 * waits for others up to five seconds. The file is created if it is not there. Close it when you are done.
 */
export function openSqlite(path: string): DatabaseSyncInstance {
  // SQLite's names for what is no file: as paths they would be files of that name.
  if (typeof path !== 'string' || path === '' || path.startsWith(':')) {
    throw new BadRequest(`openSqlite() needs the name of a file, such as 'jobs.db', not '${path}'.`)
  }
  // Node's own has the same interface.
  const database = openFile(resolve(path)) as unknown as DatabaseSyncInstance
  database.exec(`pragma busy_timeout = ${BUSY_MS}`)
  return database
}

const HAS_ROWS = /^\s*(?:select|with)\b|\breturning\b/i

/** Some drivers refuse `all` for a statement that returns none. */
function returnsRows(text: string): boolean {
  return HAS_ROWS.test(text)
}

/** A database on which `BEGIN` was run: `begin immediate`, best. */
export function fromSqlite(database: SyncDatabase): UserTransaction {
  if (typeof database?.prepare !== 'function') {
    throw new BadRequest('fromSqlite() needs a database of SQLite that is in a transaction.')
  }
  // Many rows are written by the same statement.
  const prepared = new Map<string, ReturnType<SyncDatabase['prepare']>>()
  return {
    connection: database,
    query(text, parameters) {
      const statement = prepared.get(text) ?? database.prepare(text)
      prepared.set(text, statement)
      const values = parameters as readonly never[]
      if (returnsRows(text)) return statement.all(...values) as readonly object[]
      statement.run(...values)
      return []
    },
  }
}

/** What is used of a `Transaction`. A `Kysely` that is none does not fit. */
export interface KyselyTransaction {
  readonly isTransaction: true
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }>
}

/** What Kysely's own `CompiledQuery.raw` makes. */
interface CompiledQuery {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly query: {
    readonly kind: 'RawNode'
    readonly sqlFragments: readonly string[]
    readonly parameters: readonly []
  }
  readonly queryId: { readonly queryId: string }
}

let queries = 0

function kyselyQuery(sql: string, parameters: readonly unknown[]): CompiledQuery {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const
  return { sql, parameters, query, queryId: { queryId: `pawl-${++queries}` } }
}

/** The `trx` of `db.transaction().execute(async (trx) => …)`. */
export function fromKysely(transaction: KyselyTransaction): UserTransaction {
  if (!transaction?.isTransaction) {
    throw new BadRequest(
      'fromKysely() needs a transaction: the `trx` of `db.transaction().execute(async (trx) => …)`.',
    )
  }
  return {
    connection: transaction,
    async query(text, parameters) {
      const { rows } = await transaction.executeQuery(kyselyQuery(text, parameters) as never)
      return rows as readonly object[]
    },
  }
}

/** What is used of Drizzle's `sql`. */
export interface DrizzleSql {
  raw(text: string): unknown
  param(value: unknown): unknown
  join(parts: never[]): unknown
}

/** What is used of the `tx` of `db.transaction(async (tx) => …)`. A `db` cannot be rolled back. */
export type DrizzleTransaction =
  | { execute(query: never): PromiseLike<unknown>; rollback(): never }
  | { all(query: never): unknown; run(query: never): unknown; rollback(): never }

const PARAMETER = /\$(\d+)|\?/g

/** Drizzle takes texts and parameters in turns, and numbers the parameters itself. */
function drizzleQuery(sql: DrizzleSql, text: string, parameters: readonly SqlParameter[]): never {
  const parts: unknown[] = []
  let end = 0
  let next = 0
  for (const { 0: mark, 1: number, index } of text.matchAll(PARAMETER)) {
    const place = number === undefined ? next++ : Number(number) - 1
    parts.push(sql.raw(text.slice(end, index)), sql.param(parameters[place]))
    end = index + mark.length
  }
  parts.push(sql.raw(text.slice(end)))
  return sql.join(parts as never[]) as never
}

function drizzleRows(answer: unknown): readonly object[] {
  const rows = Array.isArray(answer) ? answer : (answer as { rows?: unknown } | null)?.rows
  return (rows ?? []) as readonly object[]
}

/** The `tx` of `db.transaction(async (tx) => …)`, and `sql` as `drizzle-orm` exports it. */
export function fromDrizzle(transaction: DrizzleTransaction, sql: DrizzleSql): UserTransaction {
  if (typeof transaction?.rollback !== 'function' || typeof sql?.param !== 'function') {
    throw new BadRequest(
      'fromDrizzle() needs the `tx` of `db.transaction(async (tx) => …)`, and `sql` of drizzle-orm.',
    )
  }
  return {
    connection: transaction,
    async query(text, parameters) {
      const query = drizzleQuery(sql, text, parameters)
      if ('execute' in transaction) return drizzleRows(await transaction.execute(query))
      if (returnsRows(text)) return drizzleRows(await transaction.all(query))
      await transaction.run(query)
      return []
    },
  }
}
