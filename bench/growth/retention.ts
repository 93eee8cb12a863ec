/**
 * Jobs that are over and kept no longer: what it costs to forget one, among few and among many.
 */
import { job, typed } from '../../src/index.ts'
import { cpuOf, openWith } from './place.ts'
import type { GrowthRow } from './row.ts'
import { untilRun } from './until-run.ts'

const BATCH = 500

const ran = untilRun()
const forgotten = job('forgotten', { input: typed<number>(), run: ran.note })

export const retention: GrowthRow = {
  sizes: [2_000, 20_000],
  async *run(place, sizes) {
    for (const [i, size] of [sizes[0] ?? 0, ...sizes].entries()) {
      const pawl = await openWith(place, { retention: { age: '1d' } })
      const worker = pawl.work([forgotten], { concurrency: 100 })
      const over = ran.count(size)
      const ids: string[] = []
      for (let first = 0; first < size; first += BATCH) {
        const jobs = Array.from({ length: BATCH }, (_, n) => {
          return { input: first + n, options: { retention: '1s' as const } }
        })
        for (const { id } of await pawl.submitMany(forgotten, jobs)) ids.push(id)
      }
      await over
      await worker.stop()
      const us = await cpuOf(place, async () => {
        // Those that are over last go last.
        for (let left = 1; left > 0;) {
          await new Promise((resolve) => void setTimeout(resolve, 500))
          await pawl.upkeep()
          left = (await Promise.all(ids.slice(-10).map((id) => pawl.get(id)))).filter(
            Boolean,
          ).length
        }
      })
      await pawl.close()
      // The first one warms up.
      if (i > 0) yield { unit: 'a job forgotten', size, us: us / size }
    }
  },
}
