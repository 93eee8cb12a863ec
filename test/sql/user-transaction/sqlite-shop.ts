/**
 * A shop in a SQLite file: an engine, and a table of its user's in the same file.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Pawl } from '../../../src/index.ts'
import { open, openSqlite } from '../../../src/index.ts'

export interface SqliteShop {
  readonly path: string
  readonly pawl: Pawl
  /** The user's own connection: `orders (id, note)`. */
  readonly database: DatabaseSyncInstance
  /** All orders, each with its note. */
  readonly orders: () => string[]
}

export async function openSqliteShop(): Promise<SqliteShop> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-shop-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'shop.db')
  const pawl = await open(`sqlite:${path}`)
  const database = openSqlite(path)
  database.exec('create table orders (id text, note text)')
  onTestFinished(async () => {
    await pawl.close()
    database.close()
  })
  const all = database.prepare(
    `select id || ' ' || coalesce(note, '') as id from orders order by id`,
  )
  const orders = (): string[] => all.all().map((row) => (row as { id: string }).id)
  return { path, pawl, database, orders }
}

/** In a transaction that is committed, or rolled back if the work throws. */
export async function inSqlite<T>(
  database: DatabaseSyncInstance,
  work: () => Promise<T>,
): Promise<T> {
  database.exec('begin immediate')
  try {
    const done = await work()
    database.exec('commit')
    return done
  } catch (error) {
    database.exec('rollback')
    throw error
  }
}
