/**
 * With so many jobs waiting: what another submit costs, and what a claim with its commit costs.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import type { GrowthRow } from './row.ts'
import { atRest, roundUs } from './unit-cost.ts'
import { untilRun } from './until-run.ts'

const BATCH = 1_000
/** Units of a round, however many jobs wait. */
const MEASURED = 4_000
/** Jobs after which the code is compiled. */
const WARM = 10 * MEASURED
const CONCURRENCY = 100

const ran = untilRun()
const waiting = job('waiting', { input: typed<number>(), run: ran.note })

export const backlog: GrowthRow = {
  sizes: [10_000, 100_000, 1_000_000],
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    await submit(pawl, WARM)
    await drain(pawl, WARM)
    let there = 0
    for (const size of sizes) {
      await submit(pawl, size - there)
      there = size
      await atRest(place)
      const submitted = await roundUs(place, () => submit(pawl, MEASURED))
      yield { unit: 'a submit', size, us: submitted / MEASURED }
      await atRest(place)
      const drained = await roundUs(place, () => drain(pawl, MEASURED))
      yield { unit: 'a claim and commit', size, us: drained / MEASURED }
    }
    await pawl.close()
  },
}

async function submit(pawl: Pawl, count: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first)
    await pawl.submitMany(
      waiting,
      Array.from({ length: size }, (_, i) => ({ input: first + i })),
    )
  }
}

async function drain(pawl: Pawl, count: number): Promise<void> {
  const over = ran.count(count)
  const worker = pawl.work([waiting], { concurrency: CONCURRENCY })
  await over
  await worker.stop()
}
