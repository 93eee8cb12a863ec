/**
 * With so many jobs that wait for people: what a page of the inbox costs, of all and of one who is asked little.
 */
import type { Pawl } from '../../src/index.ts'
import { job, message, typed } from '../../src/index.ts'
import type { GrowthRow } from './row.ts'
import { atRest, callUs } from './unit-cost.ts'

const BATCH = 1_000
const FEW = 10

const approval = message('approval', { input: typed<boolean>() })

const asks = job('asks', {
  input: typed<string>(),
  messages: [approval],
  run: ({ input, waitFor }) => waitFor(approval, { ask: 'Well?', for: input }),
})

export const inbox: GrowthRow = {
  sizes: [1_000, 10_000, 100_000],
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    pawl.work([asks], { concurrency: 200 })
    await ask(pawl, 'ada', FEW)
    let there = 0
    for (const size of sizes) {
      for (; there < size; there += BATCH) await ask(pawl, 'legal', Math.min(BATCH, size - there))
      const asked: Readonly<Record<string, () => Promise<unknown>>> = {
        'an inbox()': () => pawl.inbox({ limit: FEW }),
        'an inbox() of one': () => pawl.inbox({ for: 'ada' }),
      }
      await atRest(place)
      for (const [unit, read] of Object.entries(asked)) {
        yield { unit, size, us: await callUs(place, read) }
      }
    }
    await pawl.close()
  },
}

/** Resolves once all of them wait. */
async function ask(pawl: Pawl, who: string, count: number): Promise<void> {
  const before = (await pawl.counts({ type: 'asks' })).states.SUSPENDED
  await pawl.submitMany(
    asks,
    Array.from({ length: count }, () => ({ input: who })),
  )
  while ((await pawl.counts({ type: 'asks' })).states.SUSPENDED < before + count) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
