/**
 * With so many jobs waiting, each with a key: what it costs to ask about a queue, a job and the engine.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import type { GrowthRow } from './row.ts'
import { atRest, callUs } from './unit-cost.ts'

const BATCH = 1_000

/** A job that no worker of this row runs. */
const waits = job('waits', { input: typed<number>(), run: () => null })

export const inspection: GrowthRow = {
  sizes: [10_000, 100_000, 1_000_000],
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    const { id } = await pawl.submit(waits, 0)
    let there = 0
    for (const size of sizes) {
      await fill(pawl, there, size)
      there = size
      const key = `order-${Math.floor(size / 2)}`
      const asked: Readonly<Record<string, () => Promise<unknown>>> = {
        'a queue()': () => pawl.queue('default'),
        'an explain()': () => pawl.explain(id),
        'a metrics()': () => pawl.metrics(),
        'a list by key': () => pawl.list({ key }),
        'a get by id': () => pawl.get(id),
      }
      await atRest(place)
      for (const [unit, ask] of Object.entries(asked)) {
        yield { unit, size, us: await callUs(place, ask) }
      }
    }
    await pawl.close()
  },
}

async function fill(pawl: Pawl, from: number, to: number): Promise<void> {
  for (let first = from; first < to; first += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, to - first) }, (_, i) => {
      return { input: first + i, options: { key: `order-${first + i}` } }
    })
    await pawl.submitMany(waits, jobs)
  }
}
