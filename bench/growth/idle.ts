/**
 * With so many jobs that wait for another time: a second in which an engine with a worker has nothing to do.
 */
import { job, typed } from '../../src/index.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow } from './row.ts'
import { atRest, pause } from './unit-cost.ts'

const BATCH = 1_000
/** Until polls have slowed down. */
const SETTLE_MS = 8_000
/** Upkeep goes through jobs in turns of a few seconds. */
const REST_MS = 20_000

const later = job('later', { input: typed<number>(), run: () => null })

export const idle: GrowthRow = {
  sizes: [10_000, 100_000, 1_000_000],
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    pawl.work([later])
    let there = 0
    for (const size of sizes) {
      for (; there < size; there += BATCH) {
        const jobs = Array.from({ length: BATCH }, (_, i) => {
          return { input: there + i, options: { delay: '10d' as const } }
        })
        await pawl.submitMany(later, jobs)
      }
      await pause(SETTLE_MS)
      await atRest(place)
      const us = await cpuOf(place, () => pause(REST_MS))
      yield { unit: 'an idle second', size, us: us / (REST_MS / 1e3) }
    }
    await pawl.close()
  },
}
