/**
 * With so many jobs, most of which wait and a fifth of which are over: what an answer of the read model costs. Among
 * them are a few of a rare type, with a rare tag, or in quarantine.
 */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'
import type { GrowthRow } from './row.ts'
import { atRest, callUs } from './unit-cost.ts'

const BATCH = 1_000

const waits = job('waits', { input: typed<number>(), run: () => null })
const done = job('done', { input: typed<number>(), queue: 'quick', run: () => null })
const rare = job('rare', { input: typed<number>(), run: () => null })
const fails = job('fails', {
  input: typed<number>(),
  retry: { max: 0 },
  run: ({ input }) => {
    throw new Error(`No box ${input}`)
  },
})

/** Once a checkpoint holds the jobs, a directory reads them from files. */
const FROM_FILES = 'jobs are read from files by then'

export const reads: GrowthRow = {
  sizes: [10_000, 100_000, 1_000_000],
  known: {
    'a list, oldest first on directory': FROM_FILES,
    'a list of a rare type on directory': FROM_FILES,
    'a list by a rare tag on directory': FROM_FILES,
    'a list by error on directory': FROM_FILES,
    'a list of a rare state on directory': FROM_FILES,
    'a list by time on directory': FROM_FILES,
  },
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    await pawl.submitMany(rare, items(0, 50, ['rare']))
    await workOff(pawl, fails, 0, 30)
    let there = 0
    for (const size of sizes) {
      await workOff(pawl, done, there / 5, size / 5)
      for (let first = there; first < (size * 4) / 5; first += BATCH) {
        await pawl.submitMany(waits, items(first, Math.min(BATCH, (size * 4) / 5 - first)))
      }
      there = size
      const { groups } = await pawl.counts({ by: 'error' })
      const error = groups[0]?.name as string
      const newest = { order: 'newest' } as const
      const asked: Readonly<Record<string, () => Promise<unknown>>> = {
        'a counts()': () => pawl.counts(),
        'a counts() by type': () => pawl.counts({ by: 'type' }),
        'a counts() by tag': () => pawl.counts({ by: 'tag' }),
        'a counts() by error': () => pawl.counts({ by: 'error' }),
        'a queues()': () => pawl.queues(),
        'a list, oldest first': () => pawl.list({ limit: 50 }),
        'a list, newest first': () => pawl.list({ ...newest, limit: 50 }),
        'a list of a common type, newest first': () =>
          pawl.list({ type: 'done', ...newest, limit: 50 }),
        'a list of a rare type': () => pawl.list({ type: 'rare', limit: 50 }),
        'a list of an absent type': () => pawl.list({ type: 'absent', limit: 50 }),
        'a list by a rare tag': () => pawl.list({ tag: 'rare', limit: 50 }),
        'a list by error': () => pawl.list({ error, limit: 50 }),
        'a list of a rare state': () => pawl.list({ state: 'QUARANTINED', limit: 50 }),
        'a list of an absent state': () => pawl.list({ state: 'RETRYING', limit: 50 }),
        'a list of a state, newest first': () =>
          pawl.list({ state: 'SUCCEEDED', ...newest, limit: 50 }),
        'a list by a type and a state that no job has': () =>
          pawl.list({ type: 'rare', state: 'SUCCEEDED', limit: 50 }),
        'a list by time': () =>
          pawl.list({ submittedFrom: Date.now() - 1_000, ...newest, limit: 50 }),
      }
      await atRest(place)
      for (const [unit, ask] of Object.entries(asked)) {
        yield { unit, size, us: await callUs(place, ask) }
      }
    }
    await pawl.close()
  },
}

function items(first: number, count: number, tags: readonly string[] = []) {
  return Array.from({ length: count }, (_, i) => ({ input: first + i, options: { tags } }))
}

async function workOff(
  pawl: Pawl,
  definition: typeof done | typeof fails,
  from: number,
  to: number,
): Promise<void> {
  const worker = pawl.work([definition], { concurrency: 50 })
  for (let first = from; first < to; first += BATCH) {
    await pawl.submitMany(definition as typeof done, items(first, Math.min(BATCH, to - first)))
  }
  for (;;) {
    const { states } = await pawl.counts({ type: definition.name })
    if (states.QUEUED + states.RUNNING + states.CREATED === 0) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await worker.stop()
}
