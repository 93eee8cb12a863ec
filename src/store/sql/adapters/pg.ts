/**
 * A transaction of `pg`: a client on which `BEGIN` was run.
 */
import { BadRequest } from '../../errors.ts'
import type { SqlParameter, UserTransaction } from '../../user-transaction.ts'

/** What is used of a `Client` or a `PoolClient`. A pool has no transaction: each query may go elsewhere. */
export interface PgClient {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly object[] }>
  escapeIdentifier(text: string): string
}

/** With the client, so that many statements can be sent at once. */
export class PgTransaction implements UserTransaction {
  readonly connection: PgClient

  constructor(client: PgClient) {
    this.connection = client
  }

  async query(text: string, parameters: readonly SqlParameter[]): Promise<readonly object[]> {
    const { rows } = await this.connection.query(text, [...parameters])
    return rows
  }
}

/** A `Client` or `PoolClient` of pg, between its `BEGIN` and its `COMMIT`. */
export function fromPg(client: PgClient): UserTransaction {
  if (typeof client?.query !== 'function' || typeof client.escapeIdentifier !== 'function') {
    throw new BadRequest(
      'fromPg() needs a client of pg that is in a transaction: `const client = await pool.connect()`, then `begin`. A pool runs each query on a client of its own.',
    )
  }
  return new PgTransaction(client)
}
