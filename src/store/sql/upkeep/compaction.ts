/**
 * Compacts the tables of a database: what erased jobs held is in no file of theirs any more. Others wait
 * for it, for as long as it takes to write the tables anew.
 *
 * A database keeps old versions of rows for transactions that began before these were replaced. So it waits for
 * their ends first, and gives up if they take long.
 */
import { pause } from '../../clock.ts'
import { CompactionIncomplete } from '../../errors.ts'
import type { Connection } from '../connection.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import type { Dialect } from '../dialect.ts'
import { SqlFailed } from '../failures.ts'
import type { OldReadersStatements } from '../statements.ts'

/** How long it waits for transactions that began before, in milliseconds. */
const LONGEST_WAIT_MS = 30_000
const PAUSE_MS = 100

export async function compactTables(
  pool: ConnectionPool,
  { erasure, where }: Pick<Dialect, 'erasure' | 'where'>,
  longestWaitMs = LONGEST_WAIT_MS,
): Promise<void> {
  if (erasure.oldReaders !== null) {
    const readers = await oldReaders(pool, erasure.oldReaders, longestWaitMs)
    if (readers !== null) throw new CompactionIncomplete(where, mayRead(readers))
  }
  for (const { run, mark } of erasure.compact) {
    await pool.run(async (connection) => {
      const before = mark === null ? null : await valueOf(connection, mark)
      if ((await valueOf(connection, run)) === 1) throw new SqlFailed('conflict', IN_USE, null)
      if (mark !== null && (await valueOf(connection, mark)) === before) {
        throw new CompactionIncomplete(where, `this user may not run \`${run}\`.`)
      }
    })
  }
}

/** Those that began before now and have not ended in that time, in words; null if there are none. */
async function oldReaders(
  pool: ConnectionPool,
  { moment, before }: OldReadersStatements,
  longestWaitMs: number,
): Promise<string | null> {
  const now = await pool.run((connection) => valueOf(connection, moment))
  let clear = 0
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    const found = await pool.run((connection) => valueOf(connection, before, [now as string]))
    // Twice: a look is no snapshot. What began during the first one, beside a transaction that ended before it was
    // looked at, is there at the second.
    clear = found === null ? clear + 1 : 0
    if (clear === 2) return null
    if (found !== null && waitedMs >= longestWaitMs) return found as string
    await pause(PAUSE_MS)
  }
}

async function valueOf(
  connection: Connection,
  sql: string,
  values: readonly string[] = [],
): Promise<unknown> {
  const [result] = await connection.run([{ sql, values }])
  return result?.rows[0]?.[0]
}

function mayRead(readers: string): string {
  return `transactions that began earlier may still read what was there: ${readers}. End them.`
}

const IN_USE = 'Another process reads the file.'
