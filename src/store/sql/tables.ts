/**
 * The tables in a database and their version: made, brought up to date, or refused.
 *
 * One process runs the migrations that are missing, in one transaction; others wait for it. Tables of a
 * newer version are refused, when the store is opened and while it is open.
 */
import { PawlError } from '../../kernel/index.ts'
import { nowUs, pause } from '../clock.ts'
import { newStoreId } from '../random.ts'
import type { Connection } from './connection.ts'
import type { AcknowledgedMark, Dialect } from './dialect.ts'
import { MOST_AWAY_MS } from './dialect.ts'
import type { DatabaseProblem } from './failures.ts'
import { DatabaseDamaged, innermost, SqlFailed } from './failures.ts'

const PAUSE_MS = 20

/** The tables were made by a newer version of Pawl. */
export class NewerTables extends PawlError {
  constructor(found: number, known: number) {
    super(
      'NewerTables',
      'rejected',
      `The tables are of version ${found}, and this version of Pawl knows versions up to ${known}: open them with a newer one.`,
      { found, known },
    )
  }
}

/** For tools that do not migrate, and for a store that is opened without that. */
export async function assertTables(connection: Connection, dialect: Dialect): Promise<void> {
  const known = dialect.migrations.length
  const found = await versionOf(connection, dialect)
  if (found > known) throw new NewerTables(found, known)
  if (found === known) return
  throw new SqlFailed('missing', `${behind(dialect, found)} ${HOW_TO_MIGRATE}`, null)
}

const HOW_TO_MIGRATE =
  'Run migrate(location, { schema }) as a user who may make tables, or let such a user open the store once.'

function behind({ where, migrations }: Dialect, found: number): string {
  if (found === 0) return `${where} has no tables.`
  return `${where} has tables of version ${found}, and this version of Pawl needs version ${migrations.length}.`
}

/** The store's id, where the tables are there and as new as they must be. */
export async function idOfTables(connection: Connection, dialect: Dialect): Promise<string> {
  await assertTables(connection, dialect)
  return idOf(connection, dialect)
}

async function idOf(connection: Connection, { statements }: Dialect): Promise<string> {
  const [result] = await connection.run([{ sql: statements.readMeta, values: ['id'] }])
  return result?.rows[0]?.[0] as string
}

/** The store's id. `mark`: how far a store that was here is known to have been acknowledged. */
export async function migrate(
  connection: Connection,
  dialect: Dialect,
  mark: AcknowledgedMark | null = null,
): Promise<string> {
  const { migrations, where } = dialect
  const known = await versionOf(connection, dialect)
  if (known === 0 && mark !== null) {
    const what = `there are no tables, and entries up to position ${mark.position} were acknowledged`
    const problem = { what, table: 'file', row: null, position: null }
    throw new DatabaseDamaged(where, [problem])
  }
  if (known !== migrations.length) {
    await retryOnConflict(dialect, () => runMigrations(connection, dialect)).catch((error) => {
      if (!(error instanceof SqlFailed) || error.reason !== 'denied') throw error
      const said = innermost(error).message
      const message = `${behind(dialect, known)} This user may not make them: ${said}. ${HOW_TO_MIGRATE}`
      throw new SqlFailed('denied', message, error.cause)
    })
  }
  return idOf(connection, dialect)
}

async function runMigrations(connection: Connection, dialect: Dialect): Promise<void> {
  const { statements: sql, migrations, prepare } = dialect
  await connection.run([sql.beginAlone, ...prepare].map((text) => ({ sql: text, values: [] })))
  try {
    // Again, AFTER other processes are kept out.
    const version = await versionOf(connection, dialect)
    if (version > migrations.length) throw new NewerTables(version, migrations.length)
    const missing = migrations.slice(version).flat()
    await connection.run([
      ...missing.map((text) => ({ sql: text, values: [] })),
      { sql: sql.setMeta, values: ['id', newStoreId()] },
      { sql: dialect.setVersion, values: [String(migrations.length)] },
      { sql: sql.commit, values: [] },
    ])
  } catch (error) {
    await connection.run([{ sql: sql.rollback, values: [] }]).catch(() => undefined)
    throw error
  }
}

/** While another process holds the locks that it needs: it may migrate, or repair. */
export async function retryOnConflict<T>(
  { mostAwayMs = MOST_AWAY_MS }: Pick<Dialect, 'mostAwayMs'>,
  work: () => Promise<T>,
): Promise<T> {
  const beganUs = nowUs()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isConflict = error instanceof SqlFailed && error.reason === 'conflict'
      if (!isConflict || nowUs() - beganUs > mostAwayMs * 1_000) throw error
    }
    await pause(PAUSE_MS)
  }
}

const HIDDEN = 'The tables are there, but this user may not use them: look at what was granted.'

const NO_META: DatabaseProblem = {
  what: 'it is not there, and other tables are',
  table: 'meta',
  row: null,
  position: null,
}

const NO_VERSION: DatabaseProblem = {
  what: 'it does not say the version of the tables',
  table: 'meta',
  row: 'version',
  position: null,
}

const AWAY_PAUSE_MS = 100

/** The first connection. Waits for a server that cannot be reached yet, for so long. */
export async function connectFirst(dialect: Dialect, waitForMs: number): Promise<Connection> {
  const untilUs = nowUs() + waitForMs * 1_000
  for (;;) {
    try {
      return await retryOnConflict(dialect, () => dialect.connect())
    } catch (error) {
      const isAway = error instanceof SqlFailed && error.reason === 'unreachable'
      if (!isAway || nowUs() >= untilUs) throw error
    }
    await pause(AWAY_PAUSE_MS)
  }
}

/** How many migrations were run. */
export async function versionOf(
  connection: Connection,
  { statements, hasTables, where, fileCheck }: Dialect,
): Promise<number> {
  const [there] = await connection.run([{ sql: hasTables, values: [] }])
  if (Number(there?.rows[0]?.[0]) === 0) return 0
  const [found] = await connection
    .run([{ sql: statements.readMeta, values: ['version'] }])
    .catch((error: unknown) => {
      if (!(error instanceof SqlFailed) || error.reason !== 'missing') throw error
      // A file hides nothing from its users.
      if (fileCheck !== undefined) throw new DatabaseDamaged(where, [NO_META], error)
      throw new SqlFailed('denied', HIDDEN, error)
    })
  // It was written in the transaction that made the tables.
  const version = Number(found?.rows[0]?.[0] ?? NaN)
  if (Number.isInteger(version)) return version
  if (fileCheck !== undefined) throw new DatabaseDamaged(where, [NO_VERSION])
  throw new SqlFailed('broken', 'The table `meta` does not say the version of the tables.', null)
}

const READ_EVERY_US = 2_000_000

/**
 * Refuses tables that a newer version of Pawl brought up to date while the store is open. The version is
 * read on each new connection, and then about every two seconds, BEFORE the next work. What is under way
 * ends as it began: `docs/sql-stores.md` says what a migration must allow for that.
 */
export class TableVersion {
  readonly #readMeta: string
  readonly #known: number
  #readUs = nowUs()

  /** `readMeta`: the statement. `known`: the newest version that this process knows. */
  constructor(readMeta: string, known: number) {
    this.#readMeta = readMeta
    this.#known = known
  }

  /** `isNew`: the version was never read on this connection. */
  isDue(isNew: boolean): boolean {
    return isNew || nowUs() - this.#readUs >= READ_EVERY_US
  }

  /** Throws `NewerTables`. */
  async assertKnown(connection: Connection): Promise<void> {
    const readUs = nowUs()
    const [found] = await connection.run([{ sql: this.#readMeta, values: ['version'] }])
    const version = Number(found?.rows[0]?.[0] ?? 0)
    if (version > this.#known) throw new NewerTables(version, this.#known)
    this.#readUs = readUs
  }
}
