/**
 * A shop on PostgreSQL: an engine, and tables of its user's in the same database, in another schema.
 */
import type { PoolClient } from 'pg'
import { Pool } from 'pg'
import type { Pawl } from '../../../src/index.ts'
import { open } from '../../../src/index.ts'
import { freshSchema } from '../../support/postgres.ts'

export interface PostgresShop {
  readonly url: string
  /** Of the store. */
  readonly schema: string
  /** Of the user's table `orders (id, note)`. Where the pool looks for names. */
  readonly app: string
  readonly pawl: Pawl
  readonly pool: Pool
  /** All orders that begin like this, each with its note. */
  readonly orders: (like?: string) => Promise<string[]>
  readonly close: () => Promise<void>
}

export async function openShop(): Promise<PostgresShop> {
  const { url, schema } = await freshSchema()
  const app = `${schema}_app`
  const options = `-c search_path=${app}`
  const pool = new Pool({ connectionString: url, options, max: 10 })
  // Backends are terminated in tests, also idle ones.
  pool.on('error', () => undefined)
  await pool.query(`create schema ${app}`)
  await pool.query('create table orders (id text, note text)')
  const pawl = await open(url, { schema })
  const orders = async (like = ''): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>(
      `select concat(id, ' ', note) as id from orders where starts_with(id, $1) order by id`,
      [like],
    )
    return rows.map(({ id }) => id)
  }
  const close = async (): Promise<void> => {
    await pawl.close()
    await pool.end()
  }
  return { url, schema, app, pawl, pool, orders, close }
}

const ignore = (): void => undefined

/** In a transaction that is committed, or rolled back if the work throws. */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  client.on('error', ignore)
  let isBroken = false
  try {
    await client.query('begin')
    const done = await work(client)
    await client.query('commit')
    return done
  } catch (error) {
    await client.query('rollback').catch(() => {
      isBroken = true
    })
    throw error
  } finally {
    client.off('error', ignore)
    client.release(isBroken)
  }
}
