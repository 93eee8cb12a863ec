/**
 * The tables in a database: made, brought up to date, or refused.
 *
 * They are versioned. Steps that are missing are taken in one transaction, by one process; others
 * wait for it. Tables of a newer version are refused.
 */
import { PawlError } from '../../kernel/index.ts'
import { nowUs, pause } from '../clock.ts'
import { newStoreId } from '../random.ts'
import type { Connection } from './connection.ts'
import type { Dialect } from './dialect.ts'
import { MOST_AWAY_MS } from './dialect.ts'
import { SqlFailed } from './failures.ts'

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
/** Nothing is brought up to date: whoever opens the store does that. */
export async function assertTables(connection: Connection, dialect: Dialect): Promise<void> {
  const known = dialect.migrations.length
  const found = await versionOf(connection, dialect)
  if (found > known) throw new NewerTables(found, known)
  if (found === known) return
  const what = found === 0 ? 'There are no tables' : `The tables are of version ${found}`
  throw new SqlFailed('missing', `${what}: open the store once, which makes them.`, null)
}

/** The store's id. */
export async function migrate(connection: Connection, dialect: Dialect): Promise<string> {
  const { statements: sql, migrations: steps } = dialect
  const known = await versionOf(connection, dialect)
  if (known !== steps.length)
    await retryOnConflict(dialect, () => runMigrations(connection, dialect))
  const [answered] = await connection.run([{ sql: sql.readMeta, values: ['id'] }])
  return answered?.rows[0]?.[0] as string
}

async function runMigrations(connection: Connection, dialect: Dialect): Promise<void> {
  const { statements: sql, migrations: steps, prepare } = dialect
  await connection.run([sql.beginAlone, ...prepare].map((text) => ({ sql: text, values: [] })))
  try {
    // Again, AFTER everybody else was kept out.
    const version = await versionOf(connection, dialect)
    if (version > steps.length) throw new NewerTables(version, steps.length)
    const missing = steps.slice(version).flat()
    await connection.run([
      ...missing.map((text) => ({ sql: text, values: [] })),
      { sql: sql.setMeta, values: ['id', newStoreId()] },
      { sql: dialect.setVersion, values: [String(steps.length)] },
      { sql: sql.commit, values: [] },
    ])
  } catch (error) {
    await connection.run([{ sql: sql.rollback, values: [] }]).catch(() => undefined)
    throw error
  }
}

/** Done again while others have what it needs: they may make the tables, or repair them. */
export async function retryOnConflict<T>(
  { mostAwayMs = MOST_AWAY_MS }: Pick<Dialect, 'mostAwayMs'>,
  work: () => Promise<T>,
): Promise<T> {
  const beganUs = nowUs()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isConflict = error instanceof SqlFailed && error.trouble === 'conflict'
      if (!isConflict || nowUs() - beganUs > mostAwayMs * 1_000) throw error
    }
    await pause(PAUSE_MS)
  }
}

const HIDDEN = 'The tables are there, but this user may not use them: look at what was granted.'

/** How many steps were taken. */
async function versionOf(
  connection: Connection,
  { statements, hasTables }: Dialect,
): Promise<number> {
  const [there] = await connection.run([{ sql: hasTables, values: [] }])
  if (Number(there?.rows[0]?.[0]) === 0) return 0
  const [answered] = await connection
    .run([{ sql: statements.readMeta, values: ['version'] }])
    .catch((error: unknown) => {
      const isHidden = error instanceof SqlFailed && error.trouble === 'missing'
      throw isHidden ? new SqlFailed('denied', HIDDEN, error) : error
    })
  const version = Number(answered?.rows[0]?.[0] ?? 0)
  if (Number.isInteger(version)) return version
  throw new SqlFailed('broken', 'The table `meta` does not say the version of the tables.', null)
}

const EVERY_US = 1_000_000

export class TableVersion {
  readonly #meta: string
  readonly #known: number
  #askedUs = nowUs()

  /** `meta`: the statement. `known`: the newest version that is. */
  constructor(meta: string, known: number) {
    this.#meta = meta
    this.#known = known
  }

  /** `isNew`: nobody has asked on this connection yet. */
  isDue(isNew: boolean): boolean {
    return isNew || nowUs() - this.#askedUs >= EVERY_US
  }

  /** Throws `NewerTables`. */
  async assertKnown(connection: Connection): Promise<void> {
    const askedUs = nowUs()
    const [answered] = await connection.run([{ sql: this.#meta, values: ['version'] }])
    const found = Number(answered?.rows[0]?.[0] ?? 0)
    if (found > this.#known) throw new NewerTables(found, this.#known)
    this.#askedUs = askedUs
  }
}
