/**
 * A worker that serves so many queues: what a job costs it, and a second in which it has nothing to do.
 */
import { job, typed } from '../../src/index.ts'
import { median } from '../ratio.ts'
import type { Place } from './place.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow } from './row.ts'
import { atRest, pause } from './unit-cost.ts'
import { untilRun } from './until-run.ts'

/** Jobs of a round. */
const MEASURED = 2_000
const ROUNDS = 5
const REST_MS = 3_000

const ran = untilRun()
const queued = job('queued', { input: typed<number>(), run: ran.note })

export const queues: GrowthRow = {
  sizes: [10, 1_000],
  async *run(place, sizes) {
    // The first one warms up.
    await measure(place, sizes[0] ?? 0)
    for (const size of sizes) {
      const { worked, rested } = await measure(place, size)
      yield { unit: 'a job of a worker for queues', size, us: worked / MEASURED }
      yield { unit: 'a second of rest of a worker for queues', size, us: rested / (REST_MS / 1e3) }
    }
  },
}

/** Of a round, and of a rest, of a worker for so many queues, in microseconds. */
async function measure(place: Place, size: number): Promise<{ worked: number; rested: number }> {
  const pawl = await place.fresh()()
  const names = Array.from({ length: size }, (_, n) => `queue ${n}`)
  const jobs = Array.from({ length: MEASURED }, (_, n) => {
    return { input: n, options: { queue: names[n % size] as string } }
  })
  pawl.work([queued], { concurrency: 100, queues: names })
  const each: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await atRest(place)
    const us = await cpuOf(place, async () => {
      const over = ran.count(MEASURED)
      await pawl.submitMany(queued, jobs)
      await over
    })
    each.push(us)
  }
  await atRest(place)
  const rests: number[] = []
  for (let i = 0; i < ROUNDS; i++) rests.push(await cpuOf(place, () => pause(REST_MS)))
  await pawl.close()
  return { worked: median(each), rested: median(rests) }
}
