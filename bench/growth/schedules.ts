/**
 * Schedules: what it costs to set one, and to set it again with the same terms, as each start of a
 * program does.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import { median } from '../ratio.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow } from './row.ts'
import { atRest } from './unit-cost.ts'

const ROUNDS = 3

const tick = job('tick', { input: typed<number>(), run: () => null })

export const schedules: GrowthRow = {
  sizes: [2_000, 20_000],
  async *run(place, sizes) {
    const [few = 0] = sizes
    // Another store warms up.
    const warm = await place.fresh()()
    await set(warm, 0, few)
    await set(warm, 0, few)
    await warm.close()
    let there = 0
    const pawl = await place.fresh()()
    for (const size of sizes) {
      const [from, to] = [there, size]
      await atRest(place)
      const us = await cpuOf(place, () => set(pawl, from, to))
      yield { unit: 'a schedule set', size, us: us / (to - from) }
      const each: number[] = []
      await atRest(place)
      for (let round = 0; round < ROUNDS; round++) {
        each.push((await cpuOf(place, () => set(pawl, 0, few))) / few)
      }
      yield { unit: 'a schedule set again', size, us: median(each) }
      there = size
    }
    await pawl.close()
  },
}

async function set(pawl: Pawl, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i++) {
    await pawl.schedule(`schedule ${i}`, { job: tick, input: i, cron: `${i % 60} 3 * * *` })
  }
}
