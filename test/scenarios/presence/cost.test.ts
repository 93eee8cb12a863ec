/**
 * What presence costs. It costs nothing for a job, only for a process and a second: so processes that hold a
 * job and do nothing else show all of it. At full load the cores give a second of work for each second, and
 * presence may take a fiftieth of that from sixteen processes.
 *
 * With `PAWL_CAMPAIGN=long`, two processes run side by side, with presence and without, and each says after each
 * second how long it used a core: neither shares it with other tests. How much more is written for a job is
 * measured under load by `npm run bench -- sql --only presence`.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PresenceLoop } from '../../../src/engine/presence/presence-loop.ts'
import { SoftState } from '../../../src/engine/inspect/soft-state.ts'
import { CommandBatcher } from '../../../src/store/command-batcher.ts'
import type { Presence, Store } from '../../../src/store/index.ts'
import { openSqliteStore } from '../../../src/store/index.ts'
import type { Worker } from '../../../src/worker/index.ts'
import type { Command } from '../../../src/kernel/index.ts'
import { plain } from '../../support/specs.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { freshFile } from '../../support/sqlite.ts'
import type { SharedPlace } from '../shared/places.ts'
import { SHARED } from '../shared/places.ts'
import { IS_LONG } from '../../support/campaign.ts'

/** On a calm machine a few are enough; on a busy one it goes on until it has seen some calm seconds. */
const FEWEST_ROUNDS = 5
const MOST_ROUNDS = 60
const ROUND_MS = 1_000
/** What begins with a process, and code that is not compiled yet, is over by then. */
const SETTLED_MS = 1_500
const MOST_SHARE = 0.02

let built: string
beforeAll(async () => {
  built = await buildFiles({ program: 'test/scenarios/presence/cost-program.ts', ...THREADS })
})
afterAll(() => removeBuilt(built))

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** A process with sixteen engines. */
class MeasuredProcess {
  readonly #child: ChildProcess
  readonly #lines: ReturnType<typeof createInterface>
  #usedUs = 0

  constructor({ location, options }: SharedPlace, presence: boolean) {
    const place = JSON.stringify({ location, options: { ...options, presence } })
    this.#child = spawn(process.execPath, [join(built, 'program.js'), place], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })
    onTestFinished(() => void this.#child.kill('SIGKILL'))
  }

  async ready(): Promise<void> {
    expect(await once(this.#lines, 'line')).toEqual(['ready'])
  }

  /** Milliseconds on a core since it was asked last. */
  async cpuMs(): Promise<number> {
    const said = once(this.#lines, 'line') as Promise<[string]>
    this.#child.stdin?.write('\n')
    const before = this.#usedUs
    this.#usedUs = Number((await said)[0].replace('used ', ''))
    return (this.#usedUs - before) / 1_000
  }
}

/** What else the machine does only adds: of many rounds, those with little of it count. */
function lowerQuartile(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)] as number
}

/** Times are noise beside other tests; what presence does is counted below, in every run. */

describe.runIf(IS_LONG).each(Object.keys(SHARED))('sixteen processes: %s', (name) => {
  it('presence takes at most 2 % of what the cores can do', async () => {
    const fresh = SHARED[name] as () => Promise<SharedPlace>
    const both = [
      new MeasuredProcess(await fresh(), false),
      new MeasuredProcess(await fresh(), true),
    ]
    await Promise.all(both.map((one) => one.ready()))
    await pause(SETTLED_MS)
    await Promise.all(both.map((one) => one.cpuMs()))
    const bound = MOST_SHARE * availableParallelism() * 1_000
    const used: { readonly off: number[]; readonly on: number[] } = { off: [], on: [] }
    let more = Infinity
    for (let round = 1; round <= MOST_ROUNDS; round++) {
      await pause(ROUND_MS)
      const [off, on] = await Promise.all(both.map((one) => one.cpuMs()))
      used.off.push(off as number)
      used.on.push(on as number)
      more = lowerQuartile(used.on) - lowerQuartile(used.off)
      if (round >= FEWEST_ROUNDS && more < bound) break
    }
    console.log(`presence: ${more.toFixed(1)} ms on a core a second, of sixteen (${name})`)
    expect(more).toBeLessThan(bound)
  }, 150_000)
})

interface SteppedTimer {
  readonly atMs: number
  readonly call: () => void
}

/** The loop of a process whose time passes in steps, and what it said at which of its milliseconds. */
class SteppedProcess {
  readonly said: {
    readonly atMs: number
    readonly used: number
    readonly reports: number
    /** Of what it wrote; null: it says nothing of it. */
    readonly submitted: number | null
  }[] = []
  readonly worker = { name: 'busy', isDraining: false, state: () => this.#state() }
  isMissed = false
  isBusy = false
  readonly softState: SoftState
  readonly #loop: PresenceLoop
  #nowMs = 0
  #used = 0
  #timer: SteppedTimer | null = null

  /** `hasWorker`: it may have none, and only submit. */
  constructor(store: Store, hasWorker = true) {
    const now = (): number => this.#nowMs
    this.softState = new SoftState({
      now,
      authorityTime: (ms) => ms,
      onStalled: () => undefined,
      onNewer: () => undefined,
    })
    this.#loop = new PresenceLoop({
      presence: this.#presence(store.presence as Presence),
      store,
      batcher: new CommandBatcher(store),
      timing: {
        now,
        steadyNow: now,
        after: (ms, call) => {
          this.#timer = { atMs: this.#nowMs + ms, call }
          return { cancel: () => (this.#timer = null) }
        },
        soon: setImmediate,
      },
      now,
      workers: new Set(hasWorker ? [this.worker as unknown as Worker] : []),
      softState: this.softState,
      onStalled: () => undefined,
      wantsStalled: () => false,
    })
  }

  /** Until then, one turn after the other; `eachTurn` BEFORE each. */
  async untilMs(ms: number, eachTurn: () => void = () => undefined): Promise<void> {
    for (;;) {
      // The turn that runs now asks for the next one when it is over.
      await expect.poll(() => this.#timer, { interval: 1 }).not.toBeNull()
      const { atMs, call } = this.#timer as unknown as SteppedTimer
      if (atMs > ms) return
      this.#timer = null
      this.#nowMs = atMs
      eachTurn()
      call()
    }
  }

  /** AFTER the last entry was written. */
  leave(): Promise<void> {
    return this.#loop.leave()
  }

  get saidAtMs(): number[] {
    return this.said.map(({ atMs }) => atMs)
  }

  close(): Promise<void> {
    return this.#loop.close()
  }

  #state(): unknown {
    this.#used += 1
    return { serves: [], held: 1, used: this.#used }
  }

  #presence(real: Presence): Presence {
    const isMissed = (): boolean => this.isMissed
    return {
      name: real.name,
      session: '',
      get isMissed() {
        return isMissed()
      },
      begin: () => real.begin(),
      heard: (isChecked) => real.heard(isChecked),
      reportOf: (id) => real.reportOf(id),
      forgetReport: (id, until) => real.forgetReport(id, until),
      get asked() {
        return real.asked
      },
      ask: (...request) => real.ask(...request),
      compact: () => real.compact(),
      dead: () => real.dead(),
      sayLast: (text) => real.sayLast(text),
      close: () => real.close(),
      say: async (text, reports) => {
        if (this.isBusy) throw new Error('Another process has the file.')
        const { workers, totals } = JSON.parse(text) as {
          workers: { used: number }[]
          totals?: { submitted: number }
        }
        this.said.push({
          atMs: this.#nowMs,
          used: workers[0]?.used ?? 0,
          reports: reports.length,
          submitted: totals?.submitted ?? null,
        })
        await real.say(text, reports)
      },
    }
  }
}

async function stepped(hasWorker = true): Promise<SteppedProcess & { readonly store: Store }> {
  const store = await openSqliteStore({ path: await freshFile() })
  const made = Object.assign(new SteppedProcess(store, hasWorker), { store })
  onTestFinished(async () => {
    await made.close()
    await store.close()
  })
  return made
}

function submission(id: string): Command {
  return { type: 'SubmitJob', job: id, spec: plain() }
}

async function textsHeardBy({ presence }: Store): Promise<string[]> {
  return ((await presence?.heard(true)) ?? []).map(({ text }) => text)
}

describe('a process', () => {
  it('says what is new all the time at most once a second', async () => {
    const one = await stepped()
    await one.untilMs(4_000, () => one.softState.progress('a', '1'))
    expect(one.saidAtMs).toEqual([0, 1_000, 2_000, 3_000, 4_000])
    expect(one.said.every(({ reports }) => reports === 1)).toBe(true)
  })

  it('says what changes with each job every ten seconds, and along with what is new', async () => {
    const one = await stepped()
    await one.untilMs(21_000)
    expect(one.saidAtMs).toEqual([0, 10_000, 20_000])
    one.softState.progress('a', '1')
    await one.untilMs(22_500)
    one.worker.isDraining = true
    await one.untilMs(26_000)
    expect(one.saidAtMs).toEqual([0, 10_000, 20_000, 21_500, 23_000])
    // What it says is what is so then.
    expect(one.said.map(({ used }) => used)).toEqual([1, 2, 3, 4, 5])
  })

  it('says again a second later what could not be said', async () => {
    const one = await stepped()
    await one.untilMs(9_500)
    one.isBusy = true
    await one.untilMs(11_500)
    one.isBusy = false
    await one.untilMs(22_500)
    expect(one.saidAtMs).toEqual([0, 12_000, 22_000])
  })

  it('speaks each second while others may miss its session', async () => {
    const one = await stepped()
    await one.untilMs(2_500)
    one.isMissed = true
    await one.untilMs(5_000)
    expect(one.saidAtMs).toEqual([0, 3_000, 4_000, 5_000])
  })

  it('without workers says every ten seconds what it wrote, and nothing until then', async () => {
    const one = await stepped(false)
    await one.untilMs(25_000)
    expect(one.said).toEqual([])
    await one.store.execute([submission('a'), submission('b')])
    await one.untilMs(55_000)
    await one.store.execute([submission('c')])
    await one.untilMs(60_000)
    expect(one.said.map(({ atMs, submitted }) => [atMs, submitted])).toEqual([
      [30_000, 2],
      [40_000, 2],
      [50_000, 2],
      [60_000, 3],
    ])
  })

  it('says what it wrote along with what it says anyway, and no sooner', async () => {
    const one = await stepped()
    await one.untilMs(1_000)
    await one.store.execute([submission('a')])
    await one.untilMs(19_500)
    expect(one.said.map(({ atMs, submitted }) => [atMs, submitted])).toEqual([
      [0, null],
      [10_000, 1],
    ])
  })

  it('says what it wrote as it leaves, if it spoke before, and others hear it AFTER it is closed', async () => {
    const [one, silent] = [await stepped(), await stepped(false)]
    await one.untilMs(1_000)
    await one.store.execute([submission('a')])
    await silent.store.execute([submission('a')])
    for (const leaving of [one, silent]) {
      await leaving.close()
      await leaving.leave()
    }
    expect(await textsHeardBy(silent.store)).toEqual([])
    const [last = '{}'] = await textsHeardBy(one.store)
    expect(JSON.parse(last)).toMatchObject({ workers: [], totals: { submitted: 1 } })
  })
})
