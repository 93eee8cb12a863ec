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
import type { DatabaseProblem } from './database-problem.ts'
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
  const connection = await dialect.connect()
  try {
    await assertTables(connection, dialect)
    await connection.run([{ sql: sql.beginReading, values: [] }])
    return await verifyIn(connection, dialect, options)
  } finally {
    await connection.close()
  }
}

/** In a transaction that was begun. */
export async function verifyIn(
  connection: Connection,
  dialect: Dialect,
  { onProgress }: VerifyDatabaseOptions = {},
): Promise<DatabaseReport> {
  const { statements: sql, hasCursor } = dialect
  const total = await countEvents(connection, sql.countEvents)
  const problems = await fileProblems(connection, dialect)
  const checked = await new DatabaseCheck({
    connection,
    sql,
    records: new Records(),
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
  return { ...checked, problems }
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
