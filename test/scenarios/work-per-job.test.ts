/**
 * What jobs cost where time is too noisy to say: syncs of the disk, and round trips to the server. A
 * call that is made for each job where one for many would do shows here at once.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Count } from '../../bench/workload/counters.ts'
import { countRoundTrips, countSyncs } from '../../bench/workload/counters.ts'
// BEFORE anything that loads a store: what is counted is counted beneath it.
const roundTrips = countRoundTrips()
const syncs = await countSyncs()
const { job, open, typed } = await import('../../src/index.ts')
const { temporaryFolder } = await import('../support/engines.ts')
const { freshSchema } = await import('../support/postgres.ts')

const JOBS = 4_000
const noop = job('noop', { input: typed<number>(), run: () => null })

interface Bounds {
  /** Of `submitMany`. */
  readonly submitted: number
  /** Of a worker with the defaults, from its start until the last job is over. */
  readonly drained: number
}

async function mustCost(
  pawl: Awaited<ReturnType<typeof open>>,
  count: Count,
  { submitted, drained }: Bounds,
): Promise<void> {
  onTestFinished(() => pawl.close())
  const before = count() as number
  const inputs = Array.from({ length: JOBS }, (_, i) => ({ input: i }))
  const handles = await pawl.submitMany(noop, inputs)
  const between = count() as number
  const results = Promise.all(handles.map((handle) => handle.result()))
  pawl.work([noop])
  await results
  const after = count() as number
  console.log(`work: ${JOBS} jobs: ${between - before} submitted, ${after - between} drained`)
  expect(between - before).toBeGreaterThan(0)
  expect(between - before).toBeLessThanOrEqual(submitted)
  expect(after - between).toBeLessThanOrEqual(drained)
}

describe(`${JOBS} jobs`, () => {
  it('cost a directory a sync for hundreds', async () => {
    const pawl = await open(await temporaryFolder())
    await mustCost(pawl, syncs, { submitted: 10, drained: 60 })
  })

  it('cost PostgreSQL a round trip for dozens', async () => {
    const { url, schema } = await freshSchema()
    const pawl = await open(url, { schema })
    await mustCost(pawl, roundTrips, { submitted: 80, drained: 250 })
  })
})
