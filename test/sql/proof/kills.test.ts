/**
 * Several processes on one database, killed again and again: nothing that was acknowledged is lost,
 * nothing is done twice, every job ends, no limit is ever exceeded, and the rows are what the
 * events say.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Dice } from '../../model/properties/dice.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import type { Address } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import type { Told } from './load.ts'
import { ALL_QUEUES, Load, queueBounds } from './load.ts'
import type { LoadTask } from './load-child.ts'
import { checkLog } from './log-check.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'
import { IS_LONG } from '../../support/campaign.ts'

const SEED = Number(process.env['PAWL_SEED'] ?? 1)
const PROCESSES = 3
const KILLS = IS_LONG ? 300 : 9
const RESTARTS = IS_LONG ? 20 : 2
/** So much is acknowledged before a process is killed, at most. */
const MOST_LINES = 40

let base: string

beforeAll(async () => {
  base = await buildFiles({ 'load-child': 'test/sql/proof/load-child.ts', ...THREADS })
})

afterAll(() => removeBuilt(base))

/** A process that works until it has acknowledged so much, and is killed then. */
async function life(task: LoadTask, lines: number, heard: (told: Told) => void): Promise<void> {
  const child = spawn(process.execPath, [join(base, 'load-child.js'), JSON.stringify(task)])
  let text = ''
  let errors = ''
  let count = 0
  child.stdout.on('data', (bytes: Buffer) => {
    text += bytes.toString()
    const whole = text.split('\n')
    text = whole.pop() as string
    for (const line of whole) heard(JSON.parse(line) as Told)
    count += whole.length
    if (count >= lines) child.kill('SIGKILL')
  })
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()))
  await once(child, 'close')
  expect(errors).toBe('')
}

/** All that was acknowledged, and whether it is there. */
class Witness {
  readonly #submitted = new Set<string>()
  readonly #committed = new Set<string>()

  hear(told: Told): void {
    if (told.kind === 'submitted') this.#submitted.add(told.job)
    if (told.kind !== 'committed') return
    const { job, stage, segment } = told.at
    this.#committed.add(`${job}/${stage}/${segment}/${told.lease}`)
  }

  get heard(): readonly [submitted: number, committed: number] {
    return [this.#submitted.size, this.#committed.size]
  }

  /** AFTER all work is done. */
  async check(address: Address): Promise<void> {
    const { problems, entries, audit } = await checkLog(dialectOf(address))
    expect(problems).toEqual([])
    const commits = entries.filter((entry) => entry.type === 'ExecutionCommitted')
    const tasks = commits.map(({ job, stage, segment }) => `${job}/${stage}/${segment}`)
    expect(tasks).toHaveLength(new Set(tasks).size)
    const names = new Set(
      commits.map((one) => `${one.job}/${one.stage}/${one.segment}/${one.lease}`),
    )
    expect([...this.#committed].filter((name) => !names.has(name))).toEqual([])
    const { world } = audit.ledger
    expect([...this.#submitted].filter((id) => !world.jobs.has(id))).toEqual([])
    const open = [...world.jobs.values()].filter((job) => !audit.ledger.isOver(job))
    expect(open.map(({ id }) => id)).toEqual([])
  }
}

async function prepare(address: Address): Promise<void> {
  const store = await openAt(address)
  await store.execute(ALL_QUEUES.map(queueBounds))
  await store.close()
}

/** Works until every job has ended. */
async function drain(address: Address, witness: Witness): Promise<void> {
  const store = await openAt(address)
  const load = new Load(store, new Dice(SEED), 'drain', (told) => witness.hear(told))
  await store.execute([{ type: 'ResumeQueue', queue: 'side', by: 'me', reason: '' }])
  for (let idle = 0; idle < 60;) {
    await load.upkeep()
    const isIdle = (await load.work()) === 0
    // A lease that a killed process left runs out within 400 ms.
    if (isIdle) await new Promise((resolve) => setTimeout(resolve, 20))
    idle = isIdle ? idle + 1 : 0
  }
  await store.close()
}

describe.each(DATABASE_NAMES)('processes on one %s', (name) => {
  it('are killed, and nothing is lost, nothing is done twice, and all jobs end', async () => {
    const address = await freshAddress(name)
    await prepare(address)
    const witness = new Witness()
    const dice = new Dice(SEED)
    let kills = 0
    await Promise.all(
      Array.from({ length: PROCESSES }, async () => {
        while (kills < KILLS) {
          kills += 1
          const task = { address, name: `p${kills}`, seed: dice.below(1_000_000) }
          await life(task, 1 + dice.below(MOST_LINES), (told) => witness.hear(told))
        }
      }),
    )
    await drain(address, witness)
    expect(Math.min(...witness.heard)).toBeGreaterThan(KILLS)
    await witness.check(address)
  })
})

describe('processes on a PostgreSQL that crashes', () => {
  it('lose nothing that was acknowledged, and go on when it is back', async () => {
    const server = await PostgresServer.start()
    const address: Address = { kind: 'PostgreSQL', url: server.url, schema: 'proof' }
    await prepare(address)
    const witness = new Witness()
    const dice = new Dice(SEED)
    const until = { isOver: false }
    const lives = Array.from({ length: 2 }, async (_, place) => {
      for (let count = 0; !until.isOver; count++) {
        const task = { address, name: `p${place}-${count}`, seed: dice.below(1_000_000) }
        await life(task, 200, (told) => witness.hear(told))
      }
    })
    for (let crash = 0; crash < RESTARTS; crash++) {
      const [before] = witness.heard
      // Under load, and work goes on after the one before.
      while (witness.heard[0] < before + 30) await new Promise((resolve) => setTimeout(resolve, 10))
      await server.stop('immediate')
      await server.restart()
    }
    until.isOver = true
    await Promise.all(lives)
    await drain(address, witness)
    await witness.check(address)
    await server.stop()
    await server.remove()
  })
})
