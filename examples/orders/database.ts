/**
 * The tables of the shop, in a schema of their own beside that of the jobs, and transactions on them.
 */
import type { PoolClient } from 'pg'
import { Pool } from 'pg'
import { TransactionFailed } from '../../src/index.ts'

export const DATABASE_URL = process.env['DATABASE_URL'] ?? ''
if (DATABASE_URL === '') throw new Error('Set DATABASE_URL to the URL of a PostgreSQL database.')

export const pool = new Pool({ connectionString: DATABASE_URL })
// Without a listener, a connection that is lost while it is idle would end the process.
pool.on('error', (error) => console.error(`A connection was lost: ${error.message}`))

/** Neither payments nor the history nor reports refuse a second row: whatever is done twice is seen. */
const TABLES = `
  create schema if not exists shop;
  create table if not exists shop.stock (sku text primary key, on_hand integer not null);
  create table if not exists shop.orders (
    id text primary key,
    tenant text not null,
    cents integer not null,
    state text not null default 'placed',
    label text,
    placed_at timestamptz not null default now()
  );
  create table if not exists shop.order_items (
    order_id text not null references shop.orders,
    sku text not null references shop.stock,
    cents integer not null
  );
  create table if not exists shop.history (order_id text not null, state text not null);
  create table if not exists shop.payments (reference text not null, order_id text not null, cents integer not null);
  create table if not exists shop.mails (key text primary key, order_id text not null, recipient text not null);
  create table if not exists shop.reports (due timestamptz not null, orders integer not null, cents bigint not null);
  insert into shop.stock values ('tea', 10000), ('cup', 10000), ('pot', 10000) on conflict do nothing;
`
/** Both processes make the tables when they start: one after the other. */
const LOCK = 20_260_101

export function createTables(): Promise<void> {
  return inTransaction(async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    await client.query(TABLES)
  })
}

const TRIES = 3

/** Runs `work` in a transaction, and all of it again if the submit in it says that this may help. */
export async function inTransaction<Result>(
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    const client = await pool.connect()
    let lost: Error | undefined
    try {
      await client.query('begin')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      // If the connection is lost, the server rolls back by itself, and the pool drops the client.
      await client.query('rollback').catch((failed: Error) => (lost = failed))
      const mayHelp = error instanceof TransactionFailed && error.kind === 'retryable'
      if (!mayHelp || tries === TRIES) throw error
    } finally {
      client.release(lost)
    }
  }
}
