/**
 * How a store on PostgreSQL takes part in a transaction of the user's: by names with their schema, and
 * without a statement about how the transaction begins, ends or looks for names.
 *
 * - On a client of pg itself, statements go out in one batch, between the user's own queries.
 * - With any other library, they go out one by one. What libraries make of numbers and bytes differs, and
 *   their users can change it, so each row comes as one text.
 */
import type { SqlParameter, UserTransaction } from '../../user-transaction.ts'
import { TransactionFailed } from '../../user-transaction.ts'
import type { StatementResult, Statement, Connection, Row, Value } from '../connection.ts'
import type { UserTransactionDialect } from '../dialect.ts'
import type { SqlFailed } from '../failures.ts'
import { innermost, sqlFailed } from '../failures.ts'
import { PgTransaction } from '../user-transaction/adapters.ts'
import type { PostgresAddress } from './address.ts'
import { openConnection } from './connection.ts'
import { stateOf, reasonInTransaction } from './failures.ts'
import { channelOf, newsPayload, NOTIFY } from './notifier.ts'
import type { Wire } from './statement-batch.ts'
import { StatementBatch, bind, UNNAMED } from './statement-batch.ts'
import { qualified } from './qualified-names.ts'
import { POSTGRES } from './statements.ts'

/** milliseconds: no statement of this transaction may take longer from here on, nor a pause between two. */
const LIMIT_TIME = `
  select set_config('statement_timeout', $1::text, true),
    set_config('idle_in_transaction_session_timeout', $1::text, true)`

/** A savepoint outside of a transaction; anything in one that has failed. */
const NO_TRANSACTION = '25P01'
const FAILED_BEFORE = '25P02'

/** A serialization failure, a deadlock. */
const CONFLICTS: ReadonlySet<string | null> = new Set(['40001', '40P01'])

/** `address`: without a schema. */
export function postgresUserDialect(
  address: PostgresAddress,
  schema: string,
  connections: number,
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
    // The server holds the locks.
    assertSafe: () => undefined,
    // `NOTIFY` is delivered when the transaction is committed, and never if it is not.
    notify: (id, news) => [{ sql: NOTIFY, values: [channelOf(id), newsPayload(news)] }],
    connect: () => openConnection({ ...address, isPipelined: false }),
    connections,
    limitDuration: (ms) => [{ sql: LIMIT_TIME, values: [String(ms)] }],
    isConflict: (error) => CONFLICTS.has(stateOf(error)),
  }
}

const WHERE = 'The transaction'

/** It neither begins nor ends the transaction. */
function userConnection(transaction: UserTransaction): Connection {
  const client =
    transaction instanceof PgTransaction
      ? (transaction.connection as unknown as UserPgClient)
      : null
  return client !== null && takesBatches(client)
    ? new BatchUserConnection(client)
    : new SingleStatementUserConnection(transaction)
}

/** What pg's clients have, and its types do not tell. */
interface UserPgClient {
  readonly connection?: Partial<Wire>
  readonly pipeline?: boolean
  query(query: unknown): unknown
}

/** A client that pipelines by itself takes only queries of its own. */
function takesBatches({ connection, pipeline }: UserPgClient): boolean {
  return typeof connection?.parse === 'function' && pipeline !== true
}

class BatchUserConnection implements Connection {
  readonly #client: UserPgClient

  constructor(client: UserPgClient) {
    this.#client = client
  }

  run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    return new Promise((resolve, reject) => {
      const bound = bind(statements, UNNAMED)
      const outcome = {
        answered: resolve,
        failed: (error: Error, sql: string | null) => reject(failed(error, sql)),
      }
      const batch = new StatementBatch(statements.length, bound, outcome)
      if (bound.length === 0) batch.handleReadyForQuery()
      else this.#client.query(batch)
    })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** The store reads no rows of a statement that changes something. */
const CHANGES = /\b(?:insert into|delete from|update .*?\bset)\b/
const READS = /^\s*(?:select|with)\b/
/** Columns of bytes, by their names. */
const BYTES: ReadonlySet<string> = new Set(['record', 'spec'])

class SingleStatementUserConnection implements Connection {
  readonly #transaction: UserTransaction

  constructor(transaction: UserTransaction) {
    this.#transaction = transaction
  }

  async run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    const answers: StatementResult[] = []
    for (const statement of statements) answers.push(await this.#runOne(statement))
    return answers
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  async #runOne(statement: Statement): Promise<StatementResult> {
    const { sql } = statement
    if ('rows' in statement && statement.rows.length === 0) return { rows: [], changed: 0 }
    const parameters = 'rows' in statement ? columnsOf(statement.rows) : statement.values
    const isRead = READS.test(sql) && !CHANGES.test(sql)
    const text = isRead ? `select row_to_json(r)::text as r from (${sql}) as r` : sql
    try {
      const rows = await this.#transaction.query(text, parameters)
      return { rows: isRead ? rows.map(rowOf) : [], changed: 0 }
    } catch (error) {
      throw failed(error, sql)
    }
  }
}

function failed(error: unknown, sql: string | null): SqlFailed {
  const cause = innermost(error)
  return sqlFailed(reasonInTransaction(cause), WHERE, cause, sql)
}

function columnsOf(rows: readonly Row[]): SqlParameter[] {
  const width = rows[0]?.length ?? 0
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column] as Value))
}

function rowOf(row: object): Row {
  const [text] = Object.values(row) as [string]
  return Object.entries(JSON.parse(text) as Record<string, Value>).map(([name, value]) => {
    // `\x`, then two digits for each byte.
    return BYTES.has(name) && typeof value === 'string' ? Buffer.from(value.slice(2), 'hex') : value
  })
}
