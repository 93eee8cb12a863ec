/**
 * Segments of a pipeline: what one costs from the opening of its stage to its end, and what it costs to
 * read what one put out.
 */
import type { Pawl } from '../../src/index.ts'
import { pipeline, typed } from '../../src/index.ts'
import { median } from '../ratio.ts'
import { cpuOf } from './place.ts'
import type { GrowthRow } from './row.ts'
import { atRest, callUs } from './unit-cost.ts'

const CONCURRENCY = 100
/** Segments of a round, at least. */
const ROUND_SEGMENTS = 20_000
const ROUNDS = 3

const over = pipeline('over', { input: typed<number[]>() }).stage('each', {
  each: 'input',
  run: ({ segment }) => segment,
})

export const segments: GrowthRow = {
  sizes: [2_000, 20_000],
  async *run(place, sizes) {
    const pawl = await place.fresh()()
    pawl.work([over], { concurrency: CONCURRENCY })
    // The first round warms up.
    await runRound(pawl, sizes[0] ?? 0)
    for (const size of sizes) {
      const each: number[] = []
      for (let i = 0; i < ROUNDS; i++) {
        await atRest(place)
        const us = await cpuOf(place, () => runRound(pawl, size))
        each.push(us / size / runsOf(size))
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
    for (const size of sizes) {
      const id = await runAll(pawl, size)
      await atRest(place)
      const us = await callUs(place, () => readAll(pawl, id))
      yield { unit: 'an output', size, us: us / size }
    }
    await pawl.close()
  },
}

function runsOf(size: number): number {
  return Math.ceil(ROUND_SEGMENTS / size)
}

async function runRound(pawl: Pawl, size: number): Promise<void> {
  for (let i = 0; i < runsOf(size); i++) await runAll(pawl, size)
}

async function runAll(pawl: Pawl, size: number): Promise<string> {
  const handle = await pawl.submit(
    over,
    Array.from({ length: size }, (_, i) => i),
  )
  await handle.result()
  return handle.id
}

async function readAll(pawl: Pawl, id: string): Promise<void> {
  const outputsOf = (await pawl.handle(id, over).result()) as AsyncIterable<unknown>
  let count = 0
  for await (const _ of outputsOf) count += 1
  if (count === 0) throw new Error('There are no outputs.')
}
