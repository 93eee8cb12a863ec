/**
 * The web server. It takes an order, writes its rows and submits its job in one transaction, and
 * answers. It runs no job.
 *
 * POST /orders       201: placed; 200: the same order was placed before; 422: an item that is not sold
 * GET /orders/<id>   what became of it
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fromPg, open } from '../../src/index.ts'
import type { Item, Order } from './contract.ts'
import { order, totalOf } from './contract.ts'
import { createTables, DATABASE_URL, inTransaction, pool } from './database.ts'

interface Answer {
  readonly status: number
  readonly body: object
}

await createTables()
const pawl = await open(DATABASE_URL)

/** The order, its items and its job, or none of them. False: it was placed before. */
function place(placed: Order): Promise<boolean> {
  return inTransaction(async (client) => {
    const { rowCount } = await client.query(
      'insert into shop.orders (id, tenant, cents) values ($1, $2, $3) on conflict do nothing',
      [placed.id, placed.tenant, totalOf(placed)],
    )
    if (rowCount === 0) return false
    await client.query(`insert into shop.history values ($1, 'placed')`, [placed.id])
    await pawl.submit(order, placed, { id: placed.id, tx: fromPg(client) })
    // An item that is not in stock fails here, AFTER the submit: the job goes with the transaction.
    await client.query(
      'insert into shop.order_items select $1, * from unnest($2::text[], $3::integer[])',
      [placed.id, placed.items.map(({ sku }) => sku), placed.items.map(({ cents }) => cents)],
    )
    return true
  })
}

async function post(request: IncomingMessage): Promise<Answer> {
  const placed = orderFrom(await bodyOf(request))
  if (placed === null) return { status: 400, body: { error: 'This is no order.' } }
  try {
    return { status: (await place(placed)) ? 201 : 200, body: { id: placed.id } }
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
    return { status: 422, body: { error: 'An item of this order is not sold here.' } }
  }
}

async function get(id: string): Promise<Answer> {
  const { rows } = await pool.query('select * from shop.orders where id = $1', [id])
  const [row] = rows as object[]
  return row === undefined ? { status: 404, body: {} } : { status: 200, body: row }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += String(part)
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** In a real service, a schema of zod or valibot would say this, in the contract as well. */
function orderFrom(body: unknown): Order | null {
  const { id, tenant, mail, items } = (body ?? {}) as Partial<Record<keyof Order, unknown>>
  const areTexts = [id, tenant, mail].every((text) => typeof text === 'string' && text !== '')
  if (!areTexts || !Array.isArray(items) || !items.every(isItem)) return null
  return { id, tenant, mail, items } as Order
}

function isItem(item: unknown): item is Item {
  const { sku, cents } = (item ?? {}) as Partial<Record<keyof Item, unknown>>
  return typeof sku === 'string' && Number.isInteger(cents)
}

function isForeignKeyViolation(error: unknown): boolean {
  return (error as { code?: unknown }).code === '23503'
}

async function answerTo(request: IncomingMessage): Promise<Answer> {
  const [, root, id] = (request.url ?? '').split('/')
  if (root !== 'orders') return { status: 404, body: {} }
  if (request.method === 'POST' && id === undefined) return post(request)
  if (request.method === 'GET' && id !== undefined) return get(decodeURIComponent(id))
  return { status: 405, body: {} }
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body } = await answerTo(request).catch((error: unknown) => {
    console.error(error)
    return { status: 500, body: { error: 'Try again.' } }
  })
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const server = createServer((request, response) => void respond(request, response))

server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

// This process has no worker, so it ends itself: AFTER the requests that it has begun.
process.once('SIGTERM', () => {
  server.close(() => {
    Promise.all([pawl.close(), pool.end()]).catch((error: unknown) => {
      console.error(error)
      process.exitCode = 1
    })
  })
})
