/**
 * How a store on SQLite takes part in a transaction of the user's: on their own connection to the same
 * file.
 */
import { resolve } from 'node:path'
import type { UserTransactionDialect } from '../dialect.ts'
import { SqlFailed } from '../failures.ts'
import { TransactionFailed } from '../../user-transaction.ts'
import { UserConnection } from './user-connection.ts'
import { InThreadConnection } from './in-thread-connection.ts'
import { isOfOtherCopy } from './other-copy.ts'
import { GUEST, SQLITE } from './statements.ts'

/** SQLite's word for a `begin` in a transaction. */
const WITHIN = /within a transaction/

/** Nobody but the user's process waits while it writes. */
const MOST_CONFLICTS = 1_000

/** `path`: absolute. */
export function sqliteUserDialect(path: string): UserTransactionDialect {
  return {
    statements: SQLITE,
    connection: (transaction) => new UserConnection(transaction),
    async setSavepoint(connection) {
      const isUnderWay = await connection.run([{ sql: GUEST.begin, values: [] }]).then(
        () => false,
        (error: unknown) => {
          if (error instanceof SqlFailed && WITHIN.test(error.message)) return true
          throw error
        },
      )
      if (!isUnderWay) {
        await connection.run([{ sql: SQLITE.rollback, values: [] }])
        const message =
          'No transaction is under way on what was given as `tx`: begin one, submit in it, and commit it.'
        throw new TransactionFailed(message, false, undefined)
      }
      // Whoever writes has the file: the time and the positions come behind that.
      await connection.run([
        { sql: GUEST.takeFile, values: [] },
        { sql: SQLITE.savepoint, values: [] },
      ])
    },
    assertSafe() {
      if (!isOfOtherCopy(resolve(path))) return
      const message =
        "The transaction is of another copy of SQLite than the one of this store, and two copies in one process do not see each other's locks: roll it back, and open your connection with openSqlite() of pawl."
      throw new TransactionFailed(message, false, undefined)
    },
    // Everybody looks whether something was written.
    notify: () => [],
    connect: async () => new InThreadConnection(path),
    // One writes at a time.
    connections: 1,
    mostConflicts: MOST_CONFLICTS,
    limitDuration: () => [],
    isConflict: () => false,
  }
}
