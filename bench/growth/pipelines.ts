/**
 * Segments of a pipeline: what one costs from the opening of its stage to its end, and what it costs to
 * read what one put out.
 */
import type { Pawl } from '../../src/index.ts'
import { pipeline, typed } from '../../src/index.ts'
import { median } from '../ratio.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow } from './row.ts'

const CONCURRENCY = 100
/** A few small ones are a sample as large as one large one. */
const SMALL_ROUNDS = 3

const over = pipeline('over', { input: typed<number[]>() }).stage('each', {
  each: 'input',
  run: ({ segment }) => segment,
})

export const segments: GrowthRow = {
  sizes: [2_000, 20_000],
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    pawl.work([over], { concurrency: CONCURRENCY })
    await runAll(pawl, sizes[0] ?? 0)
    for (const [i, size] of sizes.entries()) {
      const each: number[] = []
      for (let round = 0; round < (i === 0 ? SMALL_ROUNDS : 1); round++) {
        each.push((await cpuOf(place, () => runAll(pawl, size))) / size)
      }
      yield { unit: 'a segment', size, us: median(each) }
    }
    await pawl.close()
  },
}

export const outputs: GrowthRow = {
  sizes: [2_000, 20_000],
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    pawl.work([over], { concurrency: CONCURRENCY })
    const largest = Math.max(...sizes)
    for (const size of sizes) {
      const id = await runAll(pawl, size)
      // As many outputs at each size: a few hundred take too short to be measured.
      const reads = 5 * Math.ceil(largest / size)
      await readAll(pawl, id, reads)
      const each: number[] = []
      for (let round = 0; round < SMALL_ROUNDS; round++) {
        each.push((await cpuOf(place, () => readAll(pawl, id, reads))) / size / reads)
      }
      yield { unit: 'an output', size, us: median(each) }
    }
    await pawl.close()
  },
}

async function runAll(pawl: Pawl, size: number): Promise<string> {
  const handle = await pawl.submit(
    over,
    Array.from({ length: size }, (_, i) => i),
  )
  await handle.result()
  return handle.id
}

async function readAll(pawl: Pawl, id: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const outputsOf = (await pawl.handle(id, over).result()) as AsyncIterable<unknown>
    let count = 0
    for await (const _ of outputsOf) count += 1
    if (count === 0) throw new Error('There are no outputs.')
  }
}
