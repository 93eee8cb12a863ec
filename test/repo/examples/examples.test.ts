/**
 * Every example runs, and says what it is meant to say.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildExamples, removeBuilt } from '../../support/built.ts'
import { freshSchema } from '../../support/postgres.ts'

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Examples that keep something keep it where they are run. */
const folder = mkdtempSync(join(tmpdir(), 'pawl-examples-'))
/** Processes that must read TypeScript take ten times as long to start. */
let built: string
beforeAll(async () => {
  built = await buildExamples()
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await removeBuilt(built)
})

const TSX = resolve('node_modules/tsx/dist/esm/index.mjs')

function run(name: string, ...args: readonly string[]): Promise<Ran> {
  return runNode(join(built, `examples/${name}/main.js`), ...args)
}

function runNode(...args: readonly string[]): Promise<Ran> {
  return new Promise((done) => {
    const env = { ...process.env, DAY_MS: '400' }
    execFile(process.execPath, args, { cwd: folder, env }, (error, ...out) =>
      done({ code: Number(error?.code ?? 0), stdout: out[0], stderr: out[1] }),
    )
  })
}

/** A run of a few seconds: most of it is processes that start. */
const SHORT = ['--seconds', '3', '--orders', '25', '--kills', '2'] as const

describe.concurrent('the examples', () => {
  it('hello: a first job', async () => {
    const ran = await runNode('--import', TSX, resolve('examples/hello/main.ts'))
    expect(ran).toEqual({ code: 0, stdout: 'Hello, Ada!\n', stderr: '' })
  })

  it('hello: the same on every store, by another string', async () => {
    const { url, schema } = await freshSchema()
    const places = { sqlite: `'sqlite:jobs.db'`, postgres: `'${url}', { schema: '${schema}' }` }
    for (const [name, place] of Object.entries(places)) {
      const text = readFileSync(join(built, 'examples/hello/main.js'), 'utf8')
      const moved = text.replace('"./data"', place)
      expect(moved).not.toBe(text)
      const file = join(built, `examples/hello/${name}.js`)
      writeFileSync(file, moved)
      expect(await runNode(file)).toEqual({ code: 0, stdout: 'Hello, Ada!\n', stderr: '' })
    }
  })

  it('transaction: an order and its job in one transaction, at both ends', async () => {
    const stdout = [
      'order a-2: -5 cents are no price.',
      'a-1: not paid',
      'a-1: receipt for 1200 cents, in attempt 2',
      'a-2: no such order, no job',
      '',
    ].join('\n')
    expect(await run('transaction')).toEqual({ code: 0, stdout, stderr: '' })
  })

  it('approvals: people decide while workers are killed, and each refund is paid once', async () => {
    const ran = await run('approvals')
    expect(ran.stderr).toBe('')
    const [own, ...lines] = ran.stdout.trim().split('\n')
    expect(own).toContain('bob submitted the job, and may not answer it')
    expect(lines).toEqual([
      'a-1: {"refunded":1188,"receipt":"receipt a-1: 1188 cents"}',
      'a-2: {"refunded":495,"receipt":"receipt a-2: 495 cents"}',
      'a-3: {"refunded":0,"receipt":null}',
      'search: {"answer":"42","turns":5}',
      'thoughts: why 1, why 2, why 3, why 4, why 5',
      'receipts: 2, kills: 3',
    ])
    const ledger = readFileSync(join(folder, 'ledger.txt'), 'utf8').trim().split('\n')
    expect(ledger).toContain('reminder: order a-2 waits for finance')
    // An effect that was cut off runs again, under the same key.
    expect(new Set(ledger.filter((line) => line.startsWith('transfer')))).toEqual(
      new Set(['transfer 1188 for a-1 (a-1/0/0/0)', 'transfer 495 for a-2 (a-2/0/0/0)']),
    )
  })

  it('pull-the-plug: nothing that was acknowledged is lost', async () => {
    const { code, stdout } = await run('pull-the-plug', '2')
    expect(stdout).toMatch(/lost: 0\nverified: \d+ entries, \d+ checkpoints, 0 problems\n$/)
    expect(code).toBe(0)
  })

  it('payments: every order is charged exactly once, whoever is killed', async () => {
    const { code, stdout, stderr } = await run('payments', ...SHORT)
    expect(stdout).toContain('orders: 25 submitted, 25 finished\n')
    expect(stdout).toContain('charges: 25 at the bank, for 25 orders\n')
    expect(stdout).toContain('lost: 0\ncharged twice or more: 0\n')
    expect(stdout).toMatch(/^kills: 2 .* \(1 of the engine, 1 of its children\)$/m)
    expect(stdout).toMatch(/^verified: \d+ entries, \d+ checkpoints, 0 problems$/m)
    expect(stdout).toMatch(/It holds: every order was charged exactly once\.\n$/)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('payments at a bank that knows no keys: it is asked, and charges once', async () => {
    const { code, stdout } = await run('payments', ...SHORT, '--in-process', '--reconcile')
    expect(stdout).toContain('lost: 0\ncharged twice or more: 0\n')
    expect(stdout).toMatch(/^effects run again .*; [1-9]\d* were settled by asking the bank$/m)
    expect(code).toBe(0)
  })

  it('payments without the boundary: an order is charged twice, and it says so', async () => {
    const { code, stdout } = await run('payments', ...SHORT, '--in-process', '--without-boundary')
    expect(stdout).toContain('lost: 0\n')
    expect(stdout).toMatch(/^charged twice or more: [1-9]\d* \(order-\d+ \d+ times/m)
    expect(stdout).toMatch(/\nWithout the boundary orders are charged twice\./)
    expect(code).toBe(0)
  })

  it('payments: an option that makes no sense is refused', async () => {
    const { code, stderr } = await run('payments', '--orders', 'many')
    expect(stderr).toBe("--orders must be a whole number from 1, not 'many'.\n")
    expect(code).toBe(2)
  })
})

describe('the examples', () => {
  it('are all run here, or in a folder of their own', () => {
    const here = ['approvals', 'hello', 'payments', 'pull-the-plug', 'transaction']
    const own = readdirSync('test/repo/examples').filter((name) => !name.includes('.'))
    expect(readdirSync('examples').toSorted()).toEqual([...here, ...own].toSorted())
  })

  it('hello is the first look in the README', () => {
    const [, ...code] = readFileSync('examples/hello/main.ts', 'utf8')
      .replace('../../src/index.ts', 'pawl')
      .split('\n')
    const [code20, readme] = [code.join('\n'), readFileSync('README.md', 'utf8')]
    expect(code.length).toBeLessThanOrEqual(20)
    expect(readme).toContain(`\`\`\`ts\n${code20}\`\`\``)
  })
})
