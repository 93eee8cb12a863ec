/**
 * A transaction of Kysely, on PostgreSQL or SQLite.
 */
import { BadRequest } from '../../errors.ts'
import type { UserTransaction } from '../../user-transaction.ts'

/** What is used of a `Transaction`. A `Kysely` that is none does not fit. */
export interface KyselyTransaction {
  readonly isTransaction: true
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }>
}

/** What Kysely's own `CompiledQuery.raw` makes. */
interface CompiledQuery {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly query: {
    readonly kind: 'RawNode'
    readonly sqlFragments: readonly string[]
    readonly parameters: readonly []
  }
  readonly queryId: { readonly queryId: string }
}

let queries = 0

function compiled(sql: string, parameters: readonly unknown[]): CompiledQuery {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const
  return { sql, parameters, query, queryId: { queryId: `pawl-${++queries}` } }
}

/** The `trx` of `db.transaction().execute(async (trx) => …)`. */
export function fromKysely(transaction: KyselyTransaction): UserTransaction {
  if (!transaction?.isTransaction) {
    throw new BadRequest(
      'fromKysely() needs a transaction: the `trx` of `db.transaction().execute(async (trx) => …)`.',
    )
  }
  return {
    connection: transaction,
    async query(text, parameters) {
      const { rows } = await transaction.executeQuery(compiled(text, parameters) as never)
      return rows as readonly object[]
    },
  }
}
