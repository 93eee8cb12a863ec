/**
 * Jobs that are over and kept no longer: what it costs to forget one, among few and among many.
 *
 * What an engine spends anyhow while it waits for their time is taken off: it would be most of the cost of a few.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import { median } from '../ratio.ts'
import type { Place } from './place.ts'
import { cpuOf, openWith } from './place.ts'
import type { GrowthRow } from './row.ts'
import { atRest, pause } from './unit-cost.ts'
import { untilRun } from './until-run.ts'

const BATCH = 500
const ROUNDS = 3
/** Long enough for all of them to run, and for the engine to come to rest, BEFORE the first is forgotten. */
const KEPT_MS = 20_000
const REST_MS = 2_000

const ran = untilRun()
const forgotten = job('forgotten', { input: typed<number>(), run: ran.note })

export const retention: GrowthRow = {
  sizes: [2_000, 20_000],
  async *run(place, sizes) {
    const pawl = await openWith(place, { retention: { age: '1d' } })
    // The first one warms up.
    await forgetUs(place, pawl, sizes[0] ?? 0)
    for (const size of sizes) {
      const each: number[] = []
      for (let round = 0; round < ROUNDS; round++) each.push(await forgetUs(place, pawl, size))
      yield { unit: 'a job forgotten', size, us: median(each) / size }
    }
    await pawl.close()
  },
}

async function forgetUs(place: Place, pawl: Pawl, count: number): Promise<number> {
  const firstAt = performance.now() + KEPT_MS
  const ids = await runAll(pawl, count)
  const lastAt = performance.now() + KEPT_MS
  await atRest(place)
  const restUs = await cpuOf(place, () => pause(REST_MS))
  await pause(firstAt - performance.now())
  const began = performance.now()
  const us = await cpuOf(place, async () => {
    await pause(lastAt - performance.now())
    for (let left = 1; left > 0;) {
      await pawl.upkeep()
      const found = await Promise.all(ids.slice(-10).map((id) => pawl.get(id)))
      left = found.filter(Boolean).length
      if (left > 0) await pause(50)
    }
  })
  return us - (restUs / REST_MS) * (performance.now() - began)
}

/** Their ids. */
async function runAll(pawl: Pawl, count: number): Promise<string[]> {
  const worker = pawl.work([forgotten], { concurrency: 100 })
  const over = ran.count(count)
  const ids: string[] = []
  for (let first = 0; first < count; first += BATCH) {
    const jobs = Array.from({ length: BATCH }, (_, n) => {
      return { input: first + n, options: { retention: `${KEPT_MS}ms` as const } }
    })
    for (const { id } of await pawl.submitMany(forgotten, jobs)) ids.push(id)
  }
  await over
  await worker.stop()
  return ids
}
