/**
 * Steps of one attempt: what another one costs to record.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import { median } from '../ratio.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow } from './row.ts'
import { atRest } from './unit-cost.ts'

const many = job('many', {
  input: typed<number>(),
  run: async ({ input, step }) => {
    for (let i = 0; i < input; i++) await step(`step ${i}`, () => i)
    return null
  },
})

const ROUNDS = 5
const WARM_JOBS = 30

export const steps: GrowthRow = {
  sizes: [100, 1_000],
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    pawl.work([many])
    const [largest = 0] = sizes.toReversed()
    // The first ones warm up.
    await runAll(pawl, WARM_JOBS, sizes[0] ?? 0)
    for (const size of sizes) {
      const jobs = largest / size
      const each: number[] = []
      await atRest(place)
      for (let round = 0; round < ROUNDS; round++) {
        each.push((await cpuOf(place, () => runAll(pawl, jobs, size))) / largest)
      }
      yield { unit: 'a step', size, us: median(each) }
    }
    await pawl.close()
  },
}

async function runAll(pawl: Pawl, jobs: number, size: number): Promise<void> {
  for (let i = 0; i < jobs; i++) await (await pawl.submit(many, size)).result()
}
