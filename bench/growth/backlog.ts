/**
 * With so many jobs waiting: what another submit costs, what a claim with its commit costs, and opening.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import type { OpenStore, Place } from './place.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow, Point } from './row.ts'

const BATCH = 1_000
/** Units that are measured at each size, however large. */
const MEASURED = 4_000
const OPENINGS = 5
const CONCURRENCY = 100

const ENDED: { count: number; wanted: number; resolve: () => void } = {
  count: 0,
  wanted: Infinity,
  resolve: () => undefined,
}

const waiting = job('waiting', {
  input: typed<number>(),
  run: () => {
    ENDED.count += 1
    if (ENDED.count === ENDED.wanted) ENDED.resolve()
    return null
  },
})

export const backlog: GrowthRow = {
  sizes: [10_000, 100_000, 1_000_000],
  known: {
    'an opening on directory': 'jobs that are not over are read into memory',
  },
  async *run(place, sizes) {
    const open = place.fresh()
    let pawl = await open()
    // So that the first size is not the one that warms up.
    await submit(pawl, MEASURED)
    await drain(pawl, MEASURED)
    let there = 0
    for (const size of sizes) {
      await submit(pawl, size - there)
      there = size
      yield await point(place, 'a submit', size, MEASURED, () => submit(pawl, MEASURED))
      yield await point(place, 'a claim and commit', size, MEASURED, () => drain(pawl, MEASURED))
      await pawl.close()
      yield await openings(place, open, size)
      pawl = await open()
    }
    await pawl.close()
  },
}

async function point(
  place: Place,
  unit: string,
  size: number,
  units: number,
  work: () => Promise<unknown>,
): Promise<Point> {
  return { unit, size, us: (await cpuOf(place, work)) / units }
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
  const over = new Promise<void>((resolve) => {
    Object.assign(ENDED, { count: 0, wanted: count, resolve })
  })
  const worker = pawl.work([waiting], { concurrency: CONCURRENCY })
  await over
  await worker.stop()
}

async function openings(place: Place, open: OpenStore, size: number): Promise<Point> {
  return point(place, 'an opening', size, OPENINGS, async () => {
    for (let i = 0; i < OPENINGS; i++) await (await open()).close()
  })
}
