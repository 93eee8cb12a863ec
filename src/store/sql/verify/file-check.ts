/**
 * Whether a database that is a file agrees with itself: its pages with each other, and its indexes with
 * their tables. Whoever looks by an index that lacks a row does not find it: a job that waits is never
 * taken, although its row says all that it should.
 */
import type { Connection } from '../connection.ts'
import type { Dialect } from '../dialect.ts'
import type { DatabaseProblem } from './database-problem.ts'

/** None: all is well, or the database has tools of its own for this. */
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
  // Many rows, but one index.
  for (const [row, [first = '', ...others]] of ofIndexes) {
    const what = others.length === 0 ? first : `${first}, and ${others.length} more like it`
    problems.push({ what, table: 'indexes', row, position: null })
  }
  return problems
}

/** Making the index anew puts it right. */
export function isOfIndex({ table }: DatabaseProblem): boolean {
  return table === 'indexes'
}
