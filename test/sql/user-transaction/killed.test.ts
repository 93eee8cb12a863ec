/**
 * Processes that are killed while they write: what a commit writes is there once for each job.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { openShop } from './postgres-shop.ts'
import { openSqliteShop } from './sqlite-shop.ts'
import { pay } from './paying-program.ts'

const ORDERS = 24

let built: string
beforeAll(async () => {
  const program = 'test/sql/user-transaction/paying-program.ts'
  built = await buildFiles({ program, ...THREADS })
})
afterAll(() => removeBuilt(built))

interface Shop {
  readonly pawl: Pawl
  readonly orders: () => Promise<string[]> | string[]
  /** What the program is told. */
  readonly told: readonly string[]
}

const SHOPS: Readonly<Record<string, () => Promise<Shop>>> = {
  PostgreSQL: async () => {
    const { url, schema, app, pawl, orders, close } = await openShop()
    onTestFinished(close)
    return { pawl, orders, told: [url, schema, `${app}.orders`] }
  },
  SQLite: async () => {
    const { path, pawl, orders } = await openSqliteShop()
    return { pawl, orders, told: [`sqlite:${path}`, '', 'orders'] }
  },
}

function start(told: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [join(built, 'program.js'), ...told], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Begins to work, and is killed in the middle of its nth write. */
async function killedAt(child: ChildProcess, nth: number): Promise<void> {
  child.stdin?.write('go\n')
  let writes = 0
  for await (const line of createInterface({ input: child.stdout as never })) {
    if (line.startsWith('writes ') && ++writes === nth) break
  }
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

describe('a process that is killed while it writes', () => {
  it.each(Object.entries(SHOPS))(
    'on %s: each order is there once',
    async (_name, openOne) => {
      const { pawl, orders, told } = await openOne()
      const inputs = Array.from({ length: ORDERS }, (_, i) => ({ input: `${i + 10}` }))
      const handles = await pawl.submitMany(pay, inputs)
      // They take a while to start, so all do it at once.
      const [first, second, third] = [start(told), start(told), start(told)]
      await killedAt(first, 3)
      await killedAt(second, 5)
      third.stdout?.resume()
      third.stdin?.write('go\n')
      const results = await Promise.all(handles.map((one) => one.result({ timeout: '30s' })))
      expect(results).toEqual(inputs.map(({ input }) => input))
      expect(await orders()).toEqual(inputs.map(({ input }) => `${input} `))
      const infos = await Promise.all(handles.map((one) => one.info()))
      // Those that were killed did not come to their end: their jobs were done again.
      expect(infos.some(({ attempt }) => attempt > 1)).toBe(true)
      const gone = once(third, 'exit')
      third.stdin?.end()
      await gone
    },
    60_000,
  )
})
