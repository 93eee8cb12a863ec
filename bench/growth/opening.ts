/**
 * With so many jobs waiting: what opening the store costs, in a process of its own, once the process that submitted
 * them had come to rest.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { job, typed } from '../../src/index.ts'
import { median } from '../ratio.ts'
import type { OpeningOrder } from './opening-order.ts'
import type { Place, StoreLocation } from './place.ts'
import { openAt } from './place.ts'
import type { GrowthRow, Point } from './row.ts'
import { atRest } from './unit-cost.ts'

const BATCH = 1_000
const OPENINGS = 3
const PROGRAM = fileURLToPath(new URL('opening-process.js', import.meta.url))

const waiting = job('waiting', { input: typed<number>(), run: () => null })

export const opening: GrowthRow = {
  sizes: [10_000, 100_000, 1_000_000],
  async *run(place, sizes) {
    const few = await storeWith(place, sizes[0] ?? 0)
    for (const size of sizes) yield measure(place, few, await storeWith(place, size), size)
  },
}

async function storeWith(place: Place, jobs: number): Promise<StoreLocation> {
  const store = place.location()
  const pawl = await openAt(store, {})
  for (let first = 0; first < jobs; first += BATCH) {
    const inputs = Array.from({ length: BATCH }, (_, i) => ({ input: first + i }))
    await pawl.submitMany(waiting, inputs)
  }
  await atRest(place)
  await pawl.close()
  return store
}

/** In processes that open a small store BEFORE, so that the code is compiled. */
async function measure(
  place: Place,
  few: StoreLocation,
  store: StoreLocation,
  size: number,
): Promise<Point> {
  // A directory reads what waits into memory, a database does not.
  const reads = place.store === 'directory'
  const order: OpeningOrder = { warm: [few, few, few], store, times: reads ? 1 : 10 }
  const flags = ['--expose-gc', '--max-old-space-size=8192']
  const each: number[] = []
  for (let i = 0; i < OPENINGS; i++) {
    const before = place.serverUs()
    const args = [...flags, PROGRAM, JSON.stringify(order)]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const server = (place.serverUs() - before) / (order.warm.length + order.times)
    each.push(Number(stdout) + server)
  }
  const us = median(each)
  return reads
    ? { unit: 'an opening, for each job', size, us: us / size }
    : { unit: 'an opening', size, us }
}
