/**
 * Limits under load and over restarts: never one more than they allow, and never one less.
 */
import { describe, expect, it } from 'vitest'
import type { Command, LimitSpec, Rate } from '../../src/kernel/index.ts'
import type { Claimed, Clock, Store } from '../../src/store/index.ts'
import {
  DirectoryStore,
  openDirectory,
  openPostgres,
  openSqliteStore,
} from '../../src/store/index.ts'
import { Dice } from '../model/properties/dice.ts'
import { SimDisk } from '../faults/sim/sim-disk.ts'
import { freshSchema } from '../support/postgres.ts'
import { onRecord, plain } from '../support/specs.ts'
import { freshFile } from '../support/sqlite.ts'
import { IS_LONG } from '../support/campaign.ts'

const CHANNELS = ['red', 'blue'].map((type) => ({ queue: 'q', type, stage: null }))
const LIMITS: readonly LimitSpec[] = [
  { key: 'one', concurrency: 1, rate: null },
  { key: 'four', concurrency: 4, rate: null },
  { key: 'slow', concurrency: null, rate: { count: 3, perMs: 50 } },
  { key: 'odd', concurrency: 2, rate: { count: 7, perMs: 100 } },
]
/** A bucket fills by this many drops each millisecond. */
const DROPS = 1_024
const STEPS = IS_LONG ? 900 : 450

/** What a limit, or the queue's own, has been charged: by the book of those who were granted. */
class Book {
  readonly #concurrency: number | null
  readonly #rate: Rate | null
  readonly #token: number
  held = 0
  #level: number
  #time = 0

  constructor({ concurrency, rate }: Omit<LimitSpec, 'key'>) {
    this.#concurrency = concurrency
    this.#rate = rate
    this.#token = rate === null ? 0 : Math.ceil((rate.perMs * DROPS) / rate.count)
    this.#level = this.#token * (rate?.count ?? 0)
  }

  hasRoom(now: number): boolean {
    if (this.#concurrency !== null && this.held >= this.#concurrency) return false
    if (this.#rate === null) return true
    const full = this.#token * this.#rate.count
    this.#level = Math.min(full, this.#level + (now - this.#time) * DROPS)
    this.#time = now
    return this.#level >= this.#token
  }

  grant(): void {
    this.held += 1
    this.#level -= this.#token
  }
}

/** Where a store is that is opened again and again. */
interface LimitsPlace {
  open(clock: Clock): Promise<Store>
  /** It knows nothing of what happens from now on. */
  kill(store: Store): Promise<void>
}

const PLACES: Readonly<Record<string, (seed: number) => Promise<LimitsPlace>>> = {
  'a directory': async (seed) => {
    let disk = new SimDisk({ seed })
    return {
      open: (clock) =>
        openDirectory('/store', {
          clock,
          disk,
          segmentBytes: 32 * 1_024,
          checkpointBytes: 16 * 1_024,
          own: async () => ({ release: async () => undefined }),
        }),
      kill: async () => void (disk = disk.crash('everything')),
    }
  },
  SQLite: async () => {
    const path = await freshFile()
    return { open: (clock) => openSqliteStore({ path, clock }), kill: (store) => store.close() }
  },
  PostgreSQL: async () => {
    const place = await freshSchema()
    return { open: (clock) => openPostgres({ ...place, clock }), kill: (store) => store.close() }
  },
}

class Load {
  readonly queue = new Book({ concurrency: 6, rate: { count: 40, perMs: 100 } })
  readonly books = new Map(LIMITS.map((limit) => [limit.key, new Book(limit)]))
  readonly waiting = new Map<string, readonly LimitSpec[]>()
  readonly held: { readonly claimed: Claimed; readonly limits: readonly LimitSpec[] }[] = []
  store!: Store
  now = 1_000
  granted = 0
  readonly #place: LimitsPlace
  #request = 0

  constructor(place: LimitsPlace) {
    this.#place = place
  }

  async open(): Promise<void> {
    this.store = await this.#place.open({ now: () => this.now })
  }

  /** It is closed, or killed, and opened again. */
  async restart(isKilled: boolean): Promise<void> {
    if (!isKilled) await this.store.close()
    else await this.#place.kill(this.store)
    await this.open()
  }

  async must(command: Command): Promise<void> {
    const [answer] = await this.store.execute([command])
    expect(answer?.rejection ?? null, command.type).toBeNull()
  }

  async submit(dice: Dice, job: string): Promise<void> {
    const limits = LIMITS.filter(() => dice.chance(35))
    const options = { type: dice.pick(['red', 'blue']), priority: dice.below(3) }
    const spec = plain({ ...options, group: dice.pick([null, 'a', 'b']) }, { queue: 'q', limits })
    await this.must({ type: 'SubmitJob', job, spec })
    this.waiting.set(job, limits)
  }

  /** Everything that may start, and nothing else. */
  async claim(): Promise<void> {
    this.#request += 1
    const request = { worker: 'w', request: this.#request, channels: CHANNELS }
    for (const claimed of await this.store.claim({ ...request, max: 1_000, started: true })) {
      const limits = this.waiting.get(claimed.job) ?? []
      expect(this.#mayStart(limits), `${claimed.job} at ${this.now}`).toBe(true)
      this.queue.grant()
      for (const { key } of limits) this.books.get(key)?.grant()
      this.waiting.delete(claimed.job)
      this.held.push({ claimed, limits })
      this.granted += 1
    }
    const left = [...this.waiting].filter(([, limits]) => this.#mayStart(limits))
    expect(left, `left at ${this.now}`).toEqual([])
  }

  #mayStart(limits: readonly LimitSpec[]): boolean {
    return [this.queue, ...limits.map(({ key }) => this.books.get(key) as Book)].every((book) =>
      book.hasRoom(this.now),
    )
  }

  /** Some lease ends, in one way or another. */
  async end(dice: Dice): Promise<void> {
    const place = dice.below(this.held.length)
    const [one] = this.held.splice(place, 1)
    if (one === undefined) return
    const { job, stage, segment, lease } = one.claimed
    const address = { job, stage, segment, lease, worker: 'w' }
    this.queue.held -= 1
    for (const { key } of one.limits) (this.books.get(key) as Book).held -= 1
    if (dice.chance(70)) {
      await this.must({ type: 'CommitExecution', ...address, output: '1', effects: [] })
    } else {
      await this.must({ type: 'ReleaseLease', ...address })
      this.waiting.set(job, one.limits)
    }
  }
}

describe.each(Object.keys(PLACES))('limits on %s', (name) => {
  const seeds = Array.from(
    { length: IS_LONG ? 20 : name === 'a directory' ? 2 : 1 },
    (_, i) => i + 1,
  )

  it.each(seeds)('are exact under load, and over restarts (seed %i)', async (seed) => {
    const dice = new Dice(seed)
    const load = new Load(await (PLACES[name] as (typeof PLACES)[string])(seed))
    await load.open()
    const bounds = { concurrency: 6, rate: { count: 40, perMs: 100 }, ageingMs: null }
    await load.must({ type: 'ConfigureQueue', queue: 'q', ...bounds, ...onRecord })
    let restarts = 0
    for (let step = 1; step <= STEPS; step++) {
      if (dice.chance(40)) load.now += dice.below(8)
      if (dice.chance(40)) await load.submit(dice, `job ${step}`)
      else if (dice.chance(50)) await load.end(dice)
      else await load.claim()
      if (load.store instanceof DirectoryStore && dice.chance(2)) await load.store.checkpoint()
      if (dice.chance(3)) {
        await load.restart(dice.chance(50))
        restarts += 1
        await load.claim()
      }
    }
    expect([load.granted > STEPS / 6, restarts > STEPS / 90]).toEqual([true, true])
    await load.store.close()
  })
})
