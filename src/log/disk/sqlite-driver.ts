/**
 * Picks the SQLite driver: the one place that knows there are two.
 *
 * Node's own where it has one that gives rows as arrays (from 22.16 on), else the package
 * `@photostructure/sqlite`, which has the same interface. Both call and answer at once, without promises. Without either it
 * throws `SqliteMissing`.
 */
import { createRequire } from 'node:module'
import { PawlError } from '../../kernel/pawl-error.ts'

/**
 * A prepared statement. Values are bound to its `?` in order; Node 22 does not know `?1`. Numbers are
 * bound as floating point, which a column of integers turns back.
 */
export interface SqliteStatement {
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
  /** Rows as arrays, whatever their columns are called. */
  setReturnArrays(isArrays: boolean): void
  /** None for a statement that gives no rows. */
  columns(): readonly unknown[]
}

export type SqliteValue = string | number | null | Uint8Array

/** The part of a database that is used here. */
export interface SqliteDatabase {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  /** Rolls back what is open. */
  close(): void
}

interface SqliteDriver {
  readonly DatabaseSync: new (path: string) => SqliteDatabase
  readonly StatementSync: { readonly prototype: Partial<SqliteStatement> }
}

interface FoundDriver {
  readonly driver: SqliteDriver
  readonly isNodes: boolean
}

/** Neither driver can be loaded: the machine lacks something, not the caller. */
export class SqliteMissing extends PawlError {
  constructor(cause: unknown) {
    super(
      'SqliteMissing',
      'rejected',
      `This Node (${process.version}) has no SQLite of its own that will do, and the package ` +
        '@photostructure/sqlite cannot be loaded: use Node 22.16 or newer, or install the package.',
      { node: process.version },
      cause,
    )
  }
}

interface WarningSource {
  emitWarning: (warning: string | Error, ...rest: unknown[]) => void
}

/** A bundle of CommonJS has no `import.meta.url`: then from where the program runs. */
const require = createRequire((import.meta as Partial<ImportMeta>).url ?? `${process.cwd()}/`)

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

function loadDriver(): FoundDriver {
  try {
    const driver = withoutSqliteNotice(() => require('node:sqlite') as SqliteDriver)
    if (driver.StatementSync.prototype.setReturnArrays !== undefined) {
      return { driver, isNodes: true }
    }
  } catch (error) {
    // Old, built without it, or switched off by an option: all say this.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_BUILTIN_MODULE') throw error
  }
  try {
    return { driver: require('@photostructure/sqlite') as SqliteDriver, isNodes: false }
  } catch (error) {
    throw new SqliteMissing(error)
  }
}

let found: FoundDriver | null = null

/** Opens a database, creating the file if there is none. The path must be absolute. */
export function openSqlite(path: string): SqliteDatabase {
  found ??= loadDriver()
  return new found.driver.DatabaseSync(path)
}

/**
 * Whether closing a database closes its file. The package keeps it as long as a statement is in
 * memory, or until its thread ends.
 */
export function releasesFileOnClose(): boolean {
  found ??= loadDriver()
  return found.isNodes
}

/**
 * SQLite's extended result code of an error; null for other errors, and for those of a statement that
 * gives rows in the package.
 */
export function sqliteExtendedCode(error: unknown): number | null {
  const number = (error as { errcode?: unknown } | null)?.errcode
  return typeof number === 'number' ? number : null
}

/** SQLite's primary result code of an error; null as above. */
export function sqlitePrimaryCode(error: unknown): number | null {
  const code = sqliteExtendedCode(error)
  return code === null ? null : code & 0xff
}
