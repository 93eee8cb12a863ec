/**
 * Claims, while everything that they depend on changes: several stores on one database take plain jobs
 * and report on them, and others pause queues, cancel jobs and add some. In the end each entry must
 * have been legitimate where it stands.
 */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import type { Claimed } from '../../../src/store/index.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import { Dice } from '../../model/properties/dice.ts'
import { plain } from '../../support/specs.ts'
import { dialectOf, openAt } from './addresses.ts'
import { checkLog } from './log-check.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'
import { IS_LONG } from '../../support/campaign.ts'

const SEED = Number(process.env['PAWL_SEED'] ?? 1)
const STEPS = IS_LONG ? 3_000 : 150
const by = { by: 'ops', reason: 'because' }
const QUEUES = ['p', 'q']
const CHANNELS = QUEUES.map((queue) => ({ queue, type: 'red', stage: null }))

class Busy {
  readonly #store: SqlStore
  readonly #name: string
  readonly #dice: Dice
  #request = 0
  #count = 0
  readonly #held: Claimed[] = []

  constructor(store: SqlStore, name: string, dice: Dice) {
    this.#store = store
    this.#name = name
    this.#dice = dice
  }

  async step(): Promise<void> {
    const dice = this.#dice
    const all: Promise<unknown>[] = [this.#claim()]
    if (dice.chance(60)) all.push(this.#claim())
    if (dice.chance(70)) all.push(this.#store.execute(this.#submits(1 + dice.below(6))))
    const reports = this.#held.splice(0, dice.below(8)).map((one) => this.#report(one))
    if (reports.length > 0) all.push(this.#store.execute(reports))
    if (dice.chance(25)) all.push(this.#store.execute([this.#disturbance()]))
    await Promise.all(dice.chance(50) ? all : all.toReversed())
  }

  async #claim(): Promise<void> {
    this.#request += 1
    const request = { worker: this.#name, request: this.#request, channels: CHANNELS }
    this.#held.push(...(await this.#store.claim({ ...request, max: 5, started: true })))
  }

  #submits(count: number): Command[] {
    return Array.from({ length: count }, () => {
      const spec = plain({ type: 'red' }, { queue: this.#dice.pick(QUEUES) })
      return { type: 'SubmitJob', job: this.#id(this.#count++), spec }
    })
  }

  #id(number: number): string {
    return `${this.#name}-${number}`
  }

  #report({ job, stage, segment, lease }: Claimed): Command {
    const address = { job, stage, segment, lease, worker: this.#name }
    if (this.#dice.chance(20)) return { type: 'ReleaseLease', ...address }
    return { type: 'CommitExecution', ...address, output: '1', effects: [] }
  }

  #disturbance(): Command {
    const queue = this.#dice.pick(QUEUES)
    const job = this.#id(this.#dice.below(Math.max(1, this.#count)))
    return this.#dice.pick<Command>([
      { type: 'PauseQueue', queue, ...by },
      { type: 'ResumeQueue', queue, ...by },
      { type: 'ResumeQueue', queue, ...by },
      { type: 'CancelJob', job, ...by },
      { type: 'CancelJob', job, ...by },
    ])
  }
}

describe.each(DATABASE_NAMES)('claims on one %s', (name) => {
  it.each([1, 2])(
    'grant only what may be granted where their entries stand, with %i stores',
    async (count) => {
      const address = await freshAddress(name)
      const stores = await Promise.all(Array.from({ length: count }, () => openAt(address)))
      // Several workers of each.
      const all = [...stores, ...stores].map(
        (store, i) => new Busy(store, `w${i}`, new Dice(SEED + i)),
      )
      await Promise.all(
        all.map(async (one) => {
          for (let step = 0; step < STEPS; step++) await one.step()
        }),
      )
      await Promise.all(stores.map((store) => store.close()))
      const { problems, entries } = await checkLog(dialectOf(address))
      expect(problems).toEqual([])
      const types = new Set(entries.map(({ type }) => type))
      expect(types).toContain('QueuePaused')
      expect(entries.filter(({ type }) => type === 'LeaseGranted').length).toBeGreaterThan(
        STEPS / 3,
      )
    },
  )
})
