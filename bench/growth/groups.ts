/**
 * With so many groups that have a job waiting: what another submit costs, and a claim with its commit.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow } from './row.ts'
import { untilRun } from './until-run.ts'

const BATCH = 500
/** Jobs that are measured at each size. */
const MEASURED = 2_000

const ran = untilRun()
const grouped = job('grouped', { input: typed<number>(), run: ran.note })

export const groups: GrowthRow = {
  sizes: [10, 10_000],
  async *run(place, sizes) {
    for (const [i, size] of [sizes[0] ?? 0, ...sizes].entries()) {
      const pawl = await place.fresh()()
      await submit(pawl, size, size)
      const submitted = await cpuOf(place, () => submit(pawl, MEASURED, size))
      const drained = await cpuOf(place, async () => {
        const over = ran.count(MEASURED)
        const worker = pawl.work([grouped], { concurrency: 100 })
        await over
        await worker.stop()
      })
      await pawl.close()
      // The first one warms up.
      if (i === 0) continue
      yield { unit: 'a submit among groups', size, us: submitted / MEASURED }
      yield { unit: 'a claim and commit among groups', size, us: drained / MEASURED }
    }
  },
}

async function submit(pawl: Pawl, count: number, of: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, count - first) }, (_, i) => {
      return { input: first + i, options: { group: `group ${(first + i) % of}` } }
    })
    await pawl.submitMany(grouped, jobs)
  }
}
