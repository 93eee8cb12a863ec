/**
 * A connection is lost at every point of a story, before and behind what it was to run: the caller is
 * answered as if nothing had happened, and the state in the end is the same.
 */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../../src/kernel/index.ts'
import { POSTGRES } from '../../../src/store/sql/postgres/statements.ts'
import { SQLITE } from '../../../src/store/sql/sqlite/statements.ts'
import type { SqlStore } from '../../../src/store/sql/sql-store.ts'
import type { Connection } from '../../../src/store/sql/connection.ts'
import { sqlFailed } from '../../../src/store/sql/failures.ts'
import { failure, pipeline, plain, policy, promise, retry, stage } from '../../support/specs.ts'
import type { Address } from './addresses.ts'
import { dialectOf, openAt } from './addresses.ts'
import { checkLog } from './log-check.ts'
import { DATABASE_NAMES, freshAddress } from './stores.ts'
import { IS_LONG } from '../../support/campaign.ts'

/** Before it is sent; while the server has it; when it is done, and the answer is on its way. */
const MOMENTS = ['before', 'during', 'behind'] as const
type Moment = (typeof MOMENTS)[number]

/** Each run is cut at one of the moments; in a long campaign at all of them. */
const STRIDE = IS_LONG ? 1 : 2 * MOMENTS.length - 1

/** Gives what ends a connection: its user only sees that it is gone. */
type Aim = (connection: Connection) => Promise<() => Promise<unknown>>

const META: ReadonlySet<string | undefined> = new Set([POSTGRES.readMeta, SQLITE.readMeta])

class Cutter {
  /** So many runs more, then one is cut. */
  left = Infinity
  runs = 0
  readonly #moment: Moment
  readonly #aim: Aim

  constructor(aim: Aim, moment: Moment) {
    this.#aim = aim
    this.#moment = moment
  }

  wrap(inner: Connection): Connection {
    return {
      close: () => inner.close(),
      run: async (asks) => {
        // Asked by the clock, and not by the story.
        if (META.has(asks[0]?.sql)) return inner.run(asks)
        this.runs += 1
        if (this.left-- !== 0) return inner.run(asks)
        const cut = await this.#aim(inner)
        if (this.#moment === 'before') {
          await cut()
          return inner.run(asks)
        }
        if (this.#moment === 'during') {
          const [answers] = await Promise.all([inner.run(asks), cut()])
          return answers
        }
        await inner.run(asks)
        await cut()
        throw sqlFailed('lost', 'It', new Error('the answer never came'))
      },
    }
  }
}

/** `owner`: another connection to the same database. */
function aimOf(address: Address, owner: Connection): Aim {
  if (address.kind === 'SQLite') return async (inner) => () => inner.close()
  return async (inner) => {
    const [answered] = await inner.run([{ sql: 'select pg_backend_pid()', values: [] }])
    const values = [answered?.rows[0]?.[0] as number]
    // Until it is gone.
    return () => owner.run([{ sql: 'select pg_terminate_backend($1::int4, 5000)', values }])
  }
}

/** What people do with jobs, with every kind of transaction; the answers to all of it. */
class Story {
  readonly answers: unknown[] = []
  readonly #store: SqlStore
  readonly #name: string
  #request = 0

  constructor(store: SqlStore, name: string) {
    this.#store = store
    this.#name = name
  }

  async tell(): Promise<unknown[]> {
    const limits = [{ key: `${this.#name} limit`, concurrency: 2, rate: null }]
    const task = { queue: this.#name, limits, retry: retry({ delayMs: 0 }) }
    const keyed = plain({ type: 'red', key: this.#name }, task)
    await this.#do(
      { type: 'SubmitJob', job: this.#id('a'), spec: plain({ type: 'red' }, task) },
      { type: 'SubmitJob', job: this.#id('b'), spec: keyed },
      { type: 'SubmitJob', job: this.#id('c'), spec: plain({ type: 'red' }, task) },
    )
    await this.#do({ type: 'SubmitJob', job: this.#id('again'), spec: keyed })
    const on = { queue: this.#name, by: 'me', reason: '' }
    await this.#do({ type: 'PauseQueue', ...on })
    await this.#do({ type: 'ResumeQueue', ...on })
    await this.#claim()
    await this.#do({
      type: 'RecordStep',
      ...this.#at('a', 1),
      name: 's',
      value: '1',
      definitionVersion: 1,
    })
    const effects = [promise({ idempotent: true })]
    await this.#do({ type: 'CommitExecution', ...this.#at('a', 1), output: '1', effects })
    await this.#do({ type: 'StartEffect', ...this.#at('a', 1), effect: 0 })
    await this.#do({ type: 'FailTask', ...this.#at('b', 1), error: failure() })
    await this.#do({ type: 'FinishEffect', ...this.#at('a', 1), effect: 0 })
    await this.#claim()
    await this.#do({ type: 'ReleaseLease', ...this.#at('b', 2) })
    await this.#do({ type: 'CancelJob', job: this.#id('c'), by: 'me', reason: '' })
    await this.#pipeline(task)
    await this.#do({ type: 'ForgetJob', job: this.#id('a'), endedBefore: 1_001 })
    return this.answers
  }

  async #pipeline(task: Parameters<typeof policy>[0]): Promise<void> {
    const stages = [stage('each', { each: 'input', policy: policy(task) })]
    const spec = pipeline(stages, { type: 'red', input: '[1,2]' })
    await this.#do({ type: 'SubmitJob', job: this.#id('p'), spec })
    await this.#do({ type: 'OpenStage', job: this.#id('p'), stage: 0 })
    await this.#claim('each')
    for (const segment of [0, 1]) {
      const at = { ...this.#at('p', 1), segment }
      await this.#do({ type: 'CommitExecution', ...at, output: '1', effects: [] })
    }
  }

  #id(job: string): string {
    return `${this.#name} ${job}`
  }

  #at(job: string, lease: number) {
    return { job: this.#id(job), stage: 0, segment: 0, lease, worker: this.#name }
  }

  async #do(...commands: readonly Command[]): Promise<void> {
    this.answers.push(this.#bare(await this.#store.execute(commands)))
  }

  async #claim(name: string | null = null): Promise<void> {
    this.#request += 1
    const channels = [{ queue: this.#name, type: 'red', stage: name }]
    const request = { worker: this.#name, request: this.#request, channels }
    const leases = await this.#store.claim({ ...request, max: 5, started: true })
    this.answers.push(this.#bare(leases.toSorted((a, b) => (a.job < b.job ? -1 : 1))))
  }

  /** Without the names that only this story has. */
  #bare(answer: unknown): unknown {
    return JSON.parse(JSON.stringify(answer).replaceAll(this.#name, ''))
  }

  async state(): Promise<unknown> {
    const views = ['a', 'b', 'c', 'p', 'again'].map((job) => {
      return this.#store.query({ kind: 'job', job: this.#id(job) })
    })
    return this.#bare(await Promise.all(views))
  }
}

describe.each(DATABASE_NAMES)('a connection to %s that is lost', (name) => {
  it.each(MOMENTS)('%s each run of a story changes no answer and no state', async (moment) => {
    const address = await freshAddress(name)
    await (await openAt(address)).close()
    const owner = await dialectOf(address).connect()
    const cutter = new Cutter(aimOf(address, owner), moment)
    const clock = { now: () => 1_000 }
    const store = await openAt(address, { clock }, (inner) => cutter.wrap(inner))
    const whole = new Story(store, 'whole')
    cutter.runs = 0
    const answers = await whole.tell()
    const runs = cutter.runs
    const state = await whole.state()
    let cuts = 0
    for (let cut = MOMENTS.indexOf(moment) % STRIDE; cut < runs; cut += STRIDE) {
      const story = new Story(store, `cut ${cut}`)
      cutter.runs = 0
      cutter.left = cut
      expect(await story.tell(), `cut at ${cut} of ${runs}`).toEqual(answers)
      if (cutter.left < 0) cuts += 1
      // A story may be told in fewer runs than the first: there, something was done again.
      else expect(cutter.runs, `cut at ${cut}`).toBeLessThanOrEqual(cut)
      cutter.left = Infinity
      expect(withoutPlaces(await story.state())).toEqual(withoutPlaces(state))
    }
    expect(runs).toBeGreaterThan(30)
    expect(cuts).toBeGreaterThan(30 / STRIDE)
    await store.close()
    await owner.close()
    expect((await checkLog(dialectOf(address))).problems).toEqual([])
  })
})

function withoutPlaces(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state).replaceAll(/"(?:first|last)Position":\d+/g, '"at":0'))
}
