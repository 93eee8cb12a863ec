/**
 * Compacts the tables of a database: what erased jobs held is in no file of theirs any more. Others wait
 * for it, for as long as it takes to write the tables anew.
 */
import { CompactionIncomplete } from '../../errors.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import type { Dialect } from '../dialect.ts'
import { SqlFailed } from '../failures.ts'

export async function compactTables(
  pool: ConnectionPool,
  { erasure, where }: Pick<Dialect, 'erasure' | 'where'>,
): Promise<void> {
  for (const { run, mark } of erasure.compact) {
    await pool.run(async (connection) => {
      const valueOf = async (sql: string | null): Promise<unknown> => {
        if (sql === null) return null
        const [result] = await connection.run([{ sql, values: [] }])
        return result?.rows[0]?.[0]
      }
      const before = await valueOf(mark)
      if ((await valueOf(run)) === 1) throw new SqlFailed('conflict', IN_USE, null)
      if (mark !== null && (await valueOf(mark)) === before) {
        throw new CompactionIncomplete(where, `this user may not run \`${run}\`.`)
      }
    })
  }
}

const IN_USE = 'Another process reads the file.'
