/**
 * The tables in a database: made, brought up to date, or refused.
 *
 * They are versioned. Steps that are missing are taken in one transaction, by one process; others
 * wait for it. Tables of a newer version are refused.
 */
import { PawlError } from '../../kernel/index.ts'
import { newStoreId } from '../random.ts'
import type { Connection } from './connection.ts'
import type { Dialect } from './dialect.ts'
import { SqlFailed } from './failures.ts'

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
  const known = dialect.steps.length
  const found = await versionOf(connection, dialect)
  if (found > known) throw new NewerTables(found, known)
  if (found === known) return
  const what = found === 0 ? 'There are no tables' : `The tables are of version ${found}`
  throw new SqlFailed('missing', `${what}: open the store once, which makes them.`, null)
}

/** The store's id. */
export async function migrate(connection: Connection, dialect: Dialect): Promise<string> {
  const { statements: sql, steps, prepare } = dialect
  const known = await versionOf(connection, dialect)
  if (known !== steps.length) {
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
  const [answered] = await connection.run([{ sql: sql.meta, values: ['id'] }])
  return answered?.rows[0]?.[0] as string
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
    .run([{ sql: statements.meta, values: ['version'] }])
    .catch((error: unknown) => {
      const isHidden = error instanceof SqlFailed && error.trouble === 'missing'
      throw isHidden ? new SqlFailed('denied', HIDDEN, error) : error
    })
  const version = Number(answered?.rows[0]?.[0] ?? 0)
  if (Number.isInteger(version)) return version
  throw new SqlFailed('broken', 'The table `meta` does not say the version of the tables.', null)
}
