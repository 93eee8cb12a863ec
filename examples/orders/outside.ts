/**
 * The world outside: a card processor, a mail server and a pair of scales. The first two are tables here, so
 * that everybody can count what was done. Each takes a while to answer after it has done its part: a worker
 * that is killed meanwhile does not know that it was done.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { pool } from './database.ts'

const ANSWERS_AFTER_MS = 100

/** It does not recognise a reference: two requests are two payments. */
export async function chargeCard(reference: string, orderId: string, cents: number): Promise<void> {
  await pool.query('insert into shop.payments values ($1, $2, $3)', [reference, orderId, cents])
  await sleep(ANSWERS_AFTER_MS)
}

/** But it can be asked about one. */
export async function isCharged(reference: string): Promise<boolean> {
  const found = await pool.query('select from shop.payments where reference = $1', [reference])
  return found.rowCount !== 0
}

/** It recognises the key of a mail that it has sent, and does not send it again. */
export async function sendMail(key: string, orderId: string, recipient: string): Promise<void> {
  await pool.query('insert into shop.mails values ($1, $2, $3) on conflict do nothing', [
    key,
    orderId,
    recipient,
  ])
  await sleep(ANSWERS_AFTER_MS)
}

/** Changes nothing: it may be done again. */
export async function weigh(sku: string): Promise<number> {
  await sleep(ANSWERS_AFTER_MS)
  return 100 * sku.length
}
