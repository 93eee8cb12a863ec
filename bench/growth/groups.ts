/**
 * With so many groups that have a job waiting: what another submit costs, and a claim with its commit.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import { median } from '../ratio.ts'
import type { Place } from './place.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow } from './row.ts'
import { atRest } from './unit-cost.ts'
import { untilRun } from './until-run.ts'

const BATCH = 500
/** Jobs of a round. */
const MEASURED = 2_000
const ROUNDS = 5

const ran = untilRun()
const grouped = job('grouped', { input: typed<number>(), run: ran.note })

export const groups: GrowthRow = {
  sizes: [10, 10_000],
  async *run(place, sizes) {
    // The first one warms up.
    await measure(place, sizes[0] ?? 0)
    for (const size of sizes) {
      const { submitted, drained } = await measure(place, size)
      yield { unit: 'a submit among groups', size, us: submitted / MEASURED }
      yield { unit: 'a claim and commit among groups', size, us: drained / MEASURED }
    }
  },
}

/** Of a round with so many groups, in microseconds. */
async function measure(
  place: Place,
  size: number,
): Promise<{ submitted: number; drained: number }> {
  const pawl = await place.fresh()()
  await submit(pawl, size, size)
  const submitted: number[] = []
  const drained: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await atRest(place)
    submitted.push(await cpuOf(place, () => submit(pawl, MEASURED, size)))
    drained.push(await cpuOf(place, () => drain(pawl)))
  }
  await pawl.close()
  return { submitted: median(submitted), drained: median(drained) }
}

async function drain(pawl: Pawl): Promise<void> {
  const over = ran.count(MEASURED)
  const worker = pawl.work([grouped], { concurrency: 100 })
  await over
  await worker.stop()
}

async function submit(pawl: Pawl, count: number, of: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, count - first) }, (_, i) => {
      return { input: first + i, options: { group: `group ${(first + i) % of}` } }
    })
    await pawl.submitMany(grouped, jobs)
  }
}
