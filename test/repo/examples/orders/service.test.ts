/**
 * The order service as it is run: a web server and a worker, each a process of its own, on PostgreSQL. The
 * worker is killed twice in the middle, and each order is done once.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Pawl } from '../../../../src/index.ts'
import { open } from '../../../../src/index.ts'
import { buildExamples, removeBuilt } from '../../../support/built.ts'
import { sharedPostgres } from '../../../support/postgres.ts'

const ORDERS = 30
const TENANTS = 5
const SKUS = ['tea', 'cup', 'pot'] as const
/** Of each, as the example fills it. */
const IN_STOCK = 10_000
const LONGEST_END_MS = 5_000

const name = `orders_${randomUUID().replaceAll('-', '')}`
const started: ChildProcess[] = []
let built: string
let url: string
let server: Client
let database: Client

beforeAll(async () => {
  built = await buildExamples()
  const shared = await sharedPostgres()
  server = new Client({ connectionString: shared })
  await server.connect()
  await server.query(`create database ${name}`)
  url = Object.assign(new URL(shared), { pathname: `/${name}` }).href
  database = new Client({ connectionString: url })
  await database.connect()
})

afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  await database.end()
  await server.query(`drop database ${name} with (force)`)
  await server.end()
  await removeBuilt(built)
})

interface Started {
  readonly child: ChildProcess
  readonly line: string
}

/** Starts a process of the example, and resolves with the first line that it prints. */
async function start(file: 'web' | 'worker'): Promise<Started> {
  const child = spawn(process.execPath, [join(built, `examples/orders/${file}.js`)], {
    env: { ...process.env, DATABASE_URL: url, REPORT_CRON: '* * * * * *' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.push(child)
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, line }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  const exited = once(child, 'exit')
  child.kill(signal)
  const [code, endedBy] = await exited
  return endedBy ?? code
}

interface Posted {
  readonly id: string
  readonly tenant: string
  readonly mail: string
  readonly items: readonly { readonly sku: string; readonly cents: number }[]
}

/** Order 7 has one item, order 8 two, order 9 three, and so on. */
function orderOf(number: number): Posted {
  const items = SKUS.slice(0, 1 + (number % SKUS.length)).map((sku) => ({
    sku,
    cents: 100 + number,
  }))
  const [id, tenant] = [`order-${number}`, `tenant-${number % TENANTS}`]
  return { id, tenant, mail: `${number}@example.org`, items }
}

async function post(address: string, posted: unknown): Promise<number> {
  const body = JSON.stringify(posted)
  const response = await fetch(`${address}/orders`, { method: 'POST', body })
  await response.text()
  return response.status
}

async function rowsOf<Row>(sql: string): Promise<Row[]> {
  return (await database.query(sql)).rows as Row[]
}

async function countOf(sql: string): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(`select count(*)::integer as count from ${sql}`)
  return row?.count ?? 0
}

/** Kills the worker once there are this many of something, and starts the next one. */
async function killAfter(
  least: number,
  count: () => Promise<number>,
  worker: ChildProcess,
): Promise<ChildProcess> {
  await expect.poll(count, { interval: 10 }).toBeGreaterThanOrEqual(least)
  expect(await end(worker, 'SIGKILL')).toBe('SIGKILL')
  return (await start('worker')).child
}

/** Of some of them the worker that made them was not told yet. */
function payments(): Promise<number> {
  return countOf('shop.payments')
}

async function packedItems(): Promise<number> {
  const sql = 'select sum(on_hand)::integer as rest from shop.stock'
  const [row] = await rowsOf<{ rest: number }>(sql)
  return SKUS.length * IN_STOCK - (row?.rest ?? 0)
}

async function expectEachDoneOnce(posted: readonly Posted[]): Promise<void> {
  const ids = posted.map(({ id }) => id).toSorted()
  for (const state of ['placed', 'accepted', 'shipped']) {
    const sql = `select order_id from shop.history where state = '${state}' order by order_id collate "C"`
    expect((await rowsOf<{ order_id: string }>(sql)).map((row) => row.order_id)).toEqual(ids)
  }
  for (const table of ['payments', 'mails']) {
    const sql = `select order_id from shop.${table} order by order_id collate "C"`
    expect((await rowsOf<{ order_id: string }>(sql)).map((row) => row.order_id)).toEqual(ids)
  }
  const wrong =
    'shop.payments join shop.orders on order_id = id where payments.cents <> orders.cents'
  expect(await countOf(wrong)).toBe(0)
}

async function expectStockToFit(posted: readonly Posted[]): Promise<void> {
  for (const sku of SKUS) {
    const sold = posted.flatMap(({ items }) => items).filter((item) => item.sku === sku).length
    const [row] = await rowsOf<{ on_hand: number }>(
      `select on_hand from shop.stock where sku = '${sku}'`,
    )
    expect(row?.on_hand).toBe(IN_STOCK - sold)
  }
}

/** The test has one due every second. */
async function expectOneReportForEachDueTime(): Promise<void> {
  const reports = await rowsOf<{ due: Date }>('select due from shop.reports')
  expect(reports.length).toBeGreaterThan(1)
  expect(new Set(reports.map(({ due }) => due.getTime())).size).toBe(reports.length)
}

async function jobsOf(pawl: Pawl, type: string): Promise<Record<string, number>> {
  const { jobs } = await pawl.list({ type, limit: 1_000 })
  const counts: Record<string, number> = {}
  for (const { state } of jobs) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

/** How many payments the next worker asked the card processor about. */
async function reconciled(pawl: Pawl, posted: readonly Posted[]): Promise<number> {
  const histories = await Promise.all(posted.map(({ id }) => pawl.history(id)))
  return histories.flat().filter(({ type }) => type === 'EffectResolved').length
}

describe('the order service', () => {
  it('does each order once, although its worker is killed twice', async () => {
    const [web, first] = await Promise.all([start('web'), start('worker')])
    const address = web.line.replace('listening on ', '')
    const posted = Array.from({ length: ORDERS }, (_, number) => orderOf(number))
    const unsold = { ...orderOf(ORDERS), items: [{ sku: 'sofa', cents: 1 }] }
    const statuses = Promise.all(posted.map((order) => post(address, order)))

    const second = await killAfter(5, payments, first.child)
    expect(new Set(await statuses)).toEqual(new Set([201]))
    expect(await post(address, posted[0])).toBe(200)
    expect(await post(address, unsold)).toBe(422)
    const third = await killAfter(3, packedItems, second)
    await expect.poll(() => countOf(`shop.orders where state = 'shipped'`)).toBe(ORDERS)

    const pawl = await open(url)
    try {
      await expect.poll(() => jobsOf(pawl, 'shipment')).toEqual({ SUCCEEDED: ORDERS })
      expect(await jobsOf(pawl, 'order')).toEqual({ SUCCEEDED: ORDERS })
      await expectEachDoneOnce(posted)
      await expectStockToFit(posted)
      expect((await pawl.quarantine.list()).jobs).toEqual([])
      expect(await pawl.get(unsold.id)).toBeNull()
      expect(await reconciled(pawl, posted)).toBeGreaterThan(0)
    } finally {
      await pawl.close()
    }
    await expectOneReportForEachDueTime()

    const asked = performance.now()
    const ends = await Promise.all([end(web.child, 'SIGTERM'), end(third, 'SIGTERM')])
    expect(ends).toEqual([0, 'SIGTERM'])
    expect(performance.now() - asked).toBeLessThan(LONGEST_END_MS)
  })
})
