/**
 * What presence costs. It costs nothing for a job, only for a process and a second: so processes that hold a
 * job and do nothing else show all of it. At full load the cores give a second of work for each second, and
 * presence may take a fiftieth of that from sixteen processes.
 *
 * With `PAWL_CAMPAIGN=long`, two processes run side by side, with presence and without, and each says after each second how long it used a
 * core: neither shares it with other tests.
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
import { realTiming } from '../../../src/store/clock.ts'
import type { Presence } from '../../../src/store/index.ts'
import { openSqliteStore } from '../../../src/store/index.ts'
import type { Worker } from '../../../src/worker/index.ts'
import { buildFiles, removeBuilt, THREADS } from '../../support/built.ts'
import { freshFile } from '../../support/sqlite.ts'
import type { SharedPlace } from '../shared/places.ts'
import { SHARED } from '../shared/places.ts'

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
const IS_LONG = process.env['PAWL_CAMPAIGN'] === 'long'

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

describe('a process', () => {
  it('says what changes all the time at most once a second', async () => {
    const store = await openSqliteStore({ path: await freshFile() })
    const real = store.presence as Presence
    const says: number[] = []
    const presence: Presence = {
      name: real.name,
      session: '',
      begin: () => real.begin(),
      heard: (isChecked) => real.heard(isChecked),
      reportOf: (id) => real.reportOf(id),
      forgetReport: (id, until) => real.forgetReport(id, until),
      compact: () => real.compact(),
      dead: () => real.dead(),
      close: () => real.close(),
      say: (text, reports) => {
        says.push(performance.now())
        return real.say(text, reports)
      },
    }
    let used = 0
    const busy = { state: () => ({ serves: [], held: 1, used: (used += 1) }) } as unknown as Worker
    const loop = new PresenceLoop({
      presence,
      store,
      batcher: new CommandBatcher(store),
      timing: realTiming(),
      now: () => store.now(),
      workers: new Set([busy]),
      softState: new SoftState({
        now: () => store.now(),
        authorityTime: (ms) => ms,
        onStalled: () => undefined,
        onNewer: () => undefined,
      }),
      onStalled: null,
    })
    await expect.poll(() => says.length, { timeout: 20_000 }).toBe(4)
    const gaps = says.slice(1).map((at, i) => at - (says[i] as number))
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(990)
    await loop.close()
    await store.close()
  }, 30_000)
})
