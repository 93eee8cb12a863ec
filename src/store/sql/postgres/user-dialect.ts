/**
 * How a store on PostgreSQL takes part in a transaction of the user's: by names with their schema,
 * and without a word about how the transaction begins, ends or looks for names.
 */
import type { UserTransactionDialect } from '../dialect.ts'
import { TransactionFailed } from '../../user-transaction.ts'
import { channelOf, said } from './notify.ts'
import type { PostgresAddress } from './address.ts'
import { openConnection } from './connection.ts'
import { stateOf } from './failures.ts'
import { userConnection } from './user-connection.ts'
import { qualified } from './qualified.ts'
import { LIMIT_TIME, POSTGRES, TELL } from './statements.ts'

/** A savepoint outside of a transaction; anything in one that has failed. */
const NO_TRANSACTION = '25P01'
const FAILED_BEFORE = '25P02'

/** A serialization failure, a deadlock. */
const CONFLICTS: ReadonlySet<string | null> = new Set(['40001', '40P01'])

/** Connections for users, opened when they are needed. */
const LANES = 4

/** `address`: without a schema. */
export function postgresUserDialect(
  address: PostgresAddress,
  schema: string,
): UserTransactionDialect {
  const statements = qualified(POSTGRES, schema)
  const { savepoint } = statements
  return {
    statements,
    connection: userConnection,
    async setSavepoint(connection) {
      try {
        await connection.run([{ sql: savepoint, values: [] }])
      } catch (error) {
        const state = stateOf(error)
        if (state === NO_TRANSACTION) {
          const message =
            'No transaction is under way on what was given as `tx`: begin one, submit in it, and commit it.'
          throw new TransactionFailed(message, false, error)
        }
        if (state !== FAILED_BEFORE) throw error
        const message =
          'A statement in this transaction has failed before, and PostgreSQL takes no more: roll it back. Nothing was submitted.'
        throw new TransactionFailed(message, false, error)
      }
    },
    // Locks are the server's.
    assertSafe: () => undefined,
    // `NOTIFY` is delivered when the transaction is committed, and never if it is not.
    notify: (id, news) => [{ sql: TELL, values: [channelOf(id), said(news)] }],
    connect: () => openConnection({ ...address, isPipelined: false }),
    connections: LANES,
    limitDuration: (ms) => [{ sql: LIMIT_TIME, values: [String(ms)] }],
    isConflict: (error) => CONFLICTS.has(stateOf(error)),
  }
}
