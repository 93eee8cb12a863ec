/**
 * The databases that the tests of connections go through, with the same few statements in the
 * words of each.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Statement, Connection, Row } from '../../src/store/sql/connection.ts'
import { openConnection as openPostgres } from '../../src/store/sql/postgres/connection.ts'
import { openConnection as openSqlite } from '../../src/store/sql/sqlite/connection.ts'
import type { SqlFailureReason } from '../../src/store/sql/failures.ts'
import { SqlFailed } from '../../src/store/sql/failures.ts'
import { freshSchema } from '../support/postgres.ts'

/** `things` has an id, a number, a flag and bytes. */
export interface Words {
  readonly create: string
  /** One row: of `values`, or each of `rows`. */
  readonly insert: string
  readonly insertAll: string
  readonly rename: string
  readonly select: string
  readonly begin: string
  readonly missing: string
  readonly nonsense: string
  /** Makes each write fail that follows on this connection. */
  readonly forbidWrites: string
}

/** One database with nothing in it. */
export interface Place {
  open(): Promise<Connection>
  remove(): Promise<void>
}

export interface Database {
  readonly name: string
  readonly words: Words
  /** As it comes back: SQLite has no booleans. */
  flag(value: boolean): boolean | number
  make(): Promise<Place>
}

export function ask(sql: string, ...values: Row): Statement {
  return { sql, values }
}

/** How a run failed. Anything but a `SqlFailed` is thrown on. */
export async function reasonOf(work: Promise<unknown>): Promise<SqlFailureReason | 'none'> {
  try {
    await work
    return 'none'
  } catch (error) {
    if (error instanceof SqlFailed) return error.reason
    throw error
  }
}

const POSTGRES: Database = {
  name: 'PostgreSQL',
  words: {
    create: 'create table things (id text primary key, n int8, flag bool, bytes bytea)',
    insert: 'insert into things values ($1, $2, $3, $4)',
    insertAll:
      'insert into things select * from unnest($1::text[], $2::int8[], $3::bool[], $4::bytea[])' +
      ' returning n',
    rename: 'update things set id = $2 where id = $1',
    select: 'select id, n, flag, bytes from things order by id',
    begin: 'begin',
    missing: 'select 1 from nowhere',
    nonsense: 'select from from',
    forbidWrites: 'set default_transaction_read_only = on',
  },
  flag: (value) => value,
  async make() {
    const place = await freshSchema()
    const owner = await openPostgres({ url: place.url })
    await owner.run([ask(`create schema ${place.schema}`)])
    return {
      open: () => openPostgres(place),
      async remove() {
        await owner.run([ask(`drop schema ${place.schema} cascade`)])
        await owner.close()
      },
    }
  },
}

const SQLITE: Database = {
  name: 'SQLite',
  words: {
    create: 'create table things (id text primary key, n integer, flag integer, bytes blob) strict',
    insert: 'insert into things values (?1, ?2, ?3, ?4)',
    insertAll: 'insert into things values (?1, ?2, ?3, ?4) returning n',
    rename: 'update things set id = ?2 where id = ?1',
    select: 'select id, n, flag, bytes from things order by id',
    begin: 'begin exclusive',
    missing: 'select 1 from nowhere',
    nonsense: 'select from from',
    forbidWrites: 'pragma query_only = on',
  },
  flag: Number,
  async make() {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-sqlite-'))
    return {
      open: () => openSqlite({ path: join(folder, 'jobs.db') }),
      remove: () => rm(folder, { recursive: true }),
    }
  },
}

export const DATABASES: readonly Database[] = [POSTGRES, SQLITE]
