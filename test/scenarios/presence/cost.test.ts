/**
 * What presence costs. It costs nothing for a job, only for a process and a second: so a process that holds a
 * job and does nothing else shows all of it. At full load the cores give a second of work for each second, and
 * presence may take a fiftieth of that from sixteen processes.
 */
import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import { job } from '../../../src/index.ts'
import { PresenceLoop } from '../../../src/engine/presence/presence-loop.ts'
import { SoftState } from '../../../src/engine/inspect/soft-state.ts'
import { CommandBatcher } from '../../../src/store/command-batcher.ts'
import { realTiming } from '../../../src/store/clock.ts'
import type { Presence } from '../../../src/store/index.ts'
import { openSqliteStore } from '../../../src/store/index.ts'
import type { Worker } from '../../../src/worker/index.ts'
import { deferred } from '../../support/engines.ts'
import { freshFile } from '../../support/sqlite.ts'
import type { SharedPlace } from '../shared/places.ts'
import { engineAt, SHARED } from '../shared/places.ts'

const PROCESSES = 16
const SECONDS = 4
const MOST_SHARE = 0.02

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Milliseconds on a core in a second of sixteen engines that each hold a job. */
async function cpuMsPerSecond(place: SharedPlace, presence: boolean): Promise<number> {
  const end = deferred()
  let begun = 0
  const held = job('held', {
    run: () => {
      begun += 1
      return end.promise
    },
  })
  const engines = await Promise.all(
    Array.from({ length: PROCESSES }, () => engineAt(place, { presence })),
  )
  for (const engine of engines) engine.work([held], { concurrency: 1 })
  for (const engine of engines) await engine.submit(held)
  await expect.poll(() => begun, { timeout: 20_000 }).toBe(PROCESSES)
  await pause(1_500)
  const before = process.cpuUsage()
  await pause(SECONDS * 1_000)
  const { user, system } = process.cpuUsage(before)
  end.resolve()
  await Promise.all(engines.map((engine) => engine.close()))
  return (user + system) / 1_000 / SECONDS
}

describe.each(Object.keys(SHARED))('sixteen processes: %s', (name) => {
  it('presence takes at most 2 % of what the cores can do', async () => {
    const fresh = SHARED[name] as () => Promise<SharedPlace>
    const off = await cpuMsPerSecond(await fresh(), false)
    const on = await cpuMsPerSecond(await fresh(), true)
    console.log(`presence: ${(on - off).toFixed(1)} ms on a core a second, of ${PROCESSES}`)
    expect(on - off).toBeLessThan(MOST_SHARE * availableParallelism() * 1_000)
  }, 60_000)
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
      forgetReport: (id) => real.forgetReport(id),
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
