/**
 * Picks the SQLite driver: the one place that knows there are two.
 *
 * Node's own where it has one (from 22.13 on), else the package `@photostructure/sqlite`, which
 * has the same interface. Both call and answer at once, without promises. Without either it
 * throws `SqliteMissing`.
 */
import { createRequire } from 'node:module'
import { PawlError } from '../kernel/index.ts'

/** The part of a database that is used here. */
export interface SqliteDatabase {
  exec(sql: string): void
  /** Rolls back what is open. */
  close(): void
}

interface SqliteDriver {
  readonly DatabaseSync: new (path: string) => SqliteDatabase
}

/** Neither driver can be loaded: the machine lacks something, not the caller. */
export class SqliteMissing extends PawlError {
  constructor(cause: unknown) {
    super(
      'SqliteMissing',
      'rejected',
      `This Node (${process.version}) has no SQLite of its own, and the package ` +
        '@photostructure/sqlite cannot be loaded: use Node 22.13 or newer, or install the package.',
      { node: process.version },
      cause,
    )
  }
}

interface WarningSource {
  emitWarning: (warning: string | Error, ...rest: unknown[]) => void
}

const require = createRequire(import.meta.url)

/**
 * Runs `load` without the notice that Node 22 prints when its SQLite is first loaded: users can
 * do nothing about it. Other warnings pass, and nothing else can run meanwhile.
 */
export function withoutSqliteNotice<T>(load: () => T): T {
  const source = process as WarningSource
  const emit = source.emitWarning
  source.emitWarning = (warning, ...rest) => {
    const isNotice = rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')
    if (!isNotice) Reflect.apply(emit, process, [warning, ...rest])
  }
  try {
    return load()
  } finally {
    source.emitWarning = emit
  }
}

function loadDriver(): SqliteDriver {
  try {
    return withoutSqliteNotice(() => require('node:sqlite') as SqliteDriver)
  } catch (error) {
    // Old, built without it, or switched off by an option: all say this.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_BUILTIN_MODULE') throw error
  }
  try {
    return require('@photostructure/sqlite') as SqliteDriver
  } catch (error) {
    throw new SqliteMissing(error)
  }
}

let driver: SqliteDriver | null = null

/** Opens a database, creating the file if there is none. The path must be absolute. */
export function openSqlite(path: string): SqliteDatabase {
  driver ??= loadDriver()
  return new driver.DatabaseSync(path)
}

/** SQLite's own number for what went wrong, without its finer shades; null for other errors. */
export function sqliteErrorOf(error: unknown): number | null {
  const number = (error as { errcode?: unknown } | null)?.errcode
  return typeof number === 'number' ? number & 0xff : null
}
