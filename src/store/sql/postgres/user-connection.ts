/**
 * A connection made of a transaction of the user's, in PostgreSQL. It neither begins nor ends it.
 *
 * - Of pg itself: what is asked goes out in one piece, between the user's own queries.
 * - Of any other library: one statement after the other. What libraries make of numbers and bytes
 *   differs, and can be changed by their users, so each row comes as one text.
 */
import { PgTransaction } from '../adapters/pg.ts'
import type { StatementResult, Statement, Connection, Row, Value } from '../connection.ts'
import type { SqlFailed } from '../failures.ts'
import { innermost, sqlFailed } from '../failures.ts'
import type { SqlParameter, UserTransaction } from '../../user-transaction.ts'
import type { Wire } from './statement-batch.ts'
import { StatementBatch, bind, UNNAMED } from './statement-batch.ts'
import { troubleInTransaction } from './failures.ts'

const WHERE = 'The transaction'

export function userConnection(transaction: UserTransaction): Connection {
  const client =
    transaction instanceof PgTransaction ? (transaction.connection as unknown as Piped) : null
  return client !== null && canBePiped(client)
    ? new PipedGuest(client)
    : new PatientGuest(transaction)
}

/** What pg's clients have, and its types do not tell. */
interface Piped {
  readonly connection?: Partial<Wire>
  readonly pipeline?: boolean
  query(query: unknown): unknown
}

/** A client that pipelines by itself takes no queries of others. */
function canBePiped({ connection, pipeline }: Piped): boolean {
  return typeof connection?.parse === 'function' && pipeline !== true
}

class PipedGuest implements Connection {
  readonly #client: Piped

  constructor(client: Piped) {
    this.#client = client
  }

  run(asks: readonly Statement[]): Promise<readonly StatementResult[]> {
    return new Promise((resolve, reject) => {
      const bound = bind(asks, UNNAMED)
      const outcome = {
        answered: resolve,
        failed: (error: Error, sql: string | null) => reject(failed(error, sql)),
      }
      const batch = new StatementBatch(asks.length, bound, outcome)
      if (bound.length === 0) batch.handleReadyForQuery()
      else this.#client.query(batch)
    })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

/** Statements that change something have no rows that anybody reads. */
const CHANGES = /\b(?:insert into|delete from|update .*?\bset)\b/
const READS = /^\s*(?:select|with)\b/
/** Columns of bytes, by their names. */
const BYTES: ReadonlySet<string> = new Set(['record', 'spec'])

class PatientGuest implements Connection {
  readonly #transaction: UserTransaction

  constructor(transaction: UserTransaction) {
    this.#transaction = transaction
  }

  async run(asks: readonly Statement[]): Promise<readonly StatementResult[]> {
    const answers: StatementResult[] = []
    for (const ask of asks) answers.push(await this.#runOne(ask))
    return answers
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  async #runOne(ask: Statement): Promise<StatementResult> {
    if ('rows' in ask && ask.rows.length === 0) return { rows: [], changed: 0 }
    const parameters = 'rows' in ask ? columnsOf(ask.rows) : ask.values
    const isRead = READS.test(ask.sql) && !CHANGES.test(ask.sql)
    const text = isRead ? `select row_to_json(r)::text as r from (${ask.sql}) as r` : ask.sql
    try {
      const rows = await this.#transaction.query(text, parameters)
      return { rows: isRead ? rows.map(rowOf) : [], changed: 0 }
    } catch (error) {
      throw failed(error, ask.sql)
    }
  }
}

function failed(error: unknown, sql: string | null): SqlFailed {
  const cause = innermost(error)
  return sqlFailed(troubleInTransaction(cause), WHERE, cause, sql)
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
