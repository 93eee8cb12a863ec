/**
 * Verify: whether a database holds what it should, to the last event and the last column. It only
 * reads, at one moment, while work goes on, and reports everything that is wrong, each with its place.
 *
 * Damage never makes it throw. It refuses tables of another version, and entries of a newer one.
 */
import type { CheckedDatabase } from './database-check.ts'
import { DatabaseCheck } from './database-check.ts'
import type { Connection } from '../connection.ts'
import type { Dialect } from '../dialect.ts'
import type { DatabaseProblem } from '../failures.ts'
import { DatabaseDamaged } from '../failures.ts'
import { lostProblems } from './database-problem.ts'
import { Records } from '../rows/records.ts'
import { assertTables } from '../tables.ts'

export interface VerifyDatabaseOptions {
  /** Called now and then with how many of the events were read. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface DatabaseReport extends CheckedDatabase {
  /** None: all is well. At most 1,000 are listed. */
  readonly problems: readonly DatabaseProblem[]
}

const MOST_PROBLEMS = 1_000

export async function verifySql(
  dialect: Dialect,
  options: VerifyDatabaseOptions = {},
): Promise<DatabaseReport> {
  const { statements: sql } = dialect
  const problems: DatabaseProblem[] = []
  // What cannot be opened cannot be looked at, and that is what is wrong with it.
  const connection = await unlessDamaged(problems, null, () => dialect.connect())
  if (connection === null) return { ...NOTHING, problems }
  try {
    const report = await unlessDamaged(problems, null, async () => {
      await assertTables(connection, dialect)
      await connection.run([{ sql: sql.beginReading, values: [] }])
      return verifyIn(connection, dialect, options)
    })
    return report ?? { ...NOTHING, problems }
  } finally {
    await connection.close()
  }
}

const NOTHING: CheckedDatabase = { events: 0, jobs: 0, rows: 0, newest: 0 }

/** What the work comes to; if the database cannot read what it needs, `otherwise`, and a problem more. */
async function unlessDamaged<T>(
  problems: DatabaseProblem[],
  otherwise: T,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DatabaseDamaged)) throw error
    problems.push(...error.problems)
    return otherwise
  }
}

/** In a transaction that was begun. */
export async function verifyIn(
  connection: Connection,
  dialect: Dialect,
  { onProgress }: VerifyDatabaseOptions = {},
): Promise<DatabaseReport> {
  const { statements: sql, history, hasCursor } = dialect
  const problems: DatabaseProblem[] = []
  const mark = dialect.acknowledged?.read() ?? null
  const found = await unlessDamaged(problems, [], () => fileProblems(connection, dialect))
  problems.push(...found)
  const checked = await unlessDamaged(problems, NOTHING, async () => {
    const total = await countEvents(connection, sql.countEvents)
    return new DatabaseCheck({
      connection,
      sql,
      records: new Records(),
      history,
      hasCursor,
      onProblem(problem) {
        if (problems.length < MOST_PROBLEMS) problems.push(problem)
      },
      onFix: () => undefined,
      onDamaged: () => null,
      onPage: (done) => {
        onProgress?.(Math.min(done, total), total)
        return Promise.resolve()
      },
    }).run()
  })
  const lost = await unlessDamaged(problems, [], async () => {
    const [id] = await connection.run([{ sql: sql.readMeta, values: ['id'] }])
    return lostProblems(mark, id?.rows[0]?.[0] as string, checked.newest)
  })
  return { ...checked, problems: [...problems, ...lost] }
}

export async function countEvents(connection: Connection, sql: string): Promise<number> {
  const [answered] = await connection.run([{ sql, values: [] }])
  return Number(answered?.rows[0]?.[0])
}

/**
 * Whether a database that is a file agrees with itself: its pages with each other, and its indexes with
 * their tables. A statement that goes by an index which lacks a row does not find it: a job that waits
 * would never be claimed, although its row is right. None: all is well, or the database has tools of its
 * own for this.
 */
export async function fileProblems(
  connection: Connection,
  { fileCheck }: Dialect,
): Promise<DatabaseProblem[]> {
  if (fileCheck === undefined) return []
  const [answered] = await connection.run([{ sql: fileCheck.run, values: [] }])
  const ofIndexes = new Map<string, string[]>()
  const problems: DatabaseProblem[] = []
  for (const [what, index] of (answered?.rows ?? []) as [string, string | null][]) {
    if (index === null) problems.push({ what, table: 'file', row: null, position: null })
    else ofIndexes.set(index, [...(ofIndexes.get(index) ?? []), what])
  }
  // One problem an index, however many rows it is about.
  for (const [row, [first = '', ...others]] of ofIndexes) {
    const what = others.length === 0 ? first : `${first}, and ${others.length} more like it`
    problems.push({ what, table: 'indexes', row, position: null })
  }
  return problems
}

/** Rebuilding the index puts it right. */
export function isOfIndex({ table }: DatabaseProblem): boolean {
  return table === 'indexes'
}
