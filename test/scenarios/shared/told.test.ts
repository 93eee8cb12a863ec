/**
 * Whatever there is to take, somebody is told of it: here workers never look by themselves, and jobs of
 * all kinds come a few at a time, so that each lot has to be told of on its own.
 */
import { describe, expect, it } from 'vitest'
import type { Handle } from '../../../src/index.ts'
import { job, typed } from '../../../src/index.ts'
import { Dice } from '../../model/properties/dice.ts'
import { spread } from './jobs.ts'
import { engineAt, SHARED } from './places.ts'
import { IS_LONG } from '../../support/campaign.ts'

const ROUNDS = IS_LONG ? 300 : 25
const SEED = Number(process.env['PAWL_SEED'] ?? 1)
/** Long after all of them should be over, and before anything is found by chance. */
const LATE_MS = 8_000
const NEVER = { poll: '1h' } as const

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const echo = job('echo', { input: typed<number>(), run: ({ input }) => after(input) })
const flaky = job('flaky', {
  input: typed<number>(),
  retry: { max: 3, backoff: ['5ms'] },
  run: ({ job: { attempt } }) => {
    if (attempt < 3) throw new Error('not yet')
  },
})
const keyed = job('keyed', {
  input: typed<number>(),
  limits: [{ key: 'k', concurrency: 2 }],
  run: ({ input }) => after(input),
})
const also = job('also', {
  input: typed<number>(),
  limits: [{ key: 'k', concurrency: 2 }],
  run: ({ input }) => after(input),
})
const narrow = job('narrow', {
  input: typed<number>(),
  queue: 'narrow',
  run: ({ input }) => after(input),
})
const plainJobs = [echo, flaky, keyed, also, narrow]

describe.each(Object.keys(SHARED))('on %s', (name) => {
  it.each([1, 2])(
    'all are told, with %i engines',
    async (count) => {
      const place = await (SHARED[name] as (typeof SHARED)[string])()
      const engines = await Promise.all(Array.from({ length: count }, () => engineAt(place)))
      const first = engines[0]!
      await first.configure('narrow', { concurrency: 2 })
      for (const pawl of engines) {
        pawl.work([echo, flaky, keyed, spread], { ...NEVER, concurrency: 3 })
        pawl.work([also, narrow], { ...NEVER, concurrency: 4 })
      }
      const dice = new Dice(SEED)
      const forgotten: string[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const isPaused = dice.chance(20)
        if (isPaused) await dice.pick(engines).pause('narrow')
        const submitting: Promise<Handle<never>>[] = []
        for (let i = 1 + dice.below(8); i > 0; i--) {
          const pawl = dice.pick(engines)
          if (dice.chance(10)) submitting.push(pawl.submit(spread, 2) as never)
          else {
            const delay = dice.chance(30) ? { delay: 1 + dice.below(40) } : {}
            submitting.push(pawl.submit(dice.pick(plainJobs), dice.below(15), delay) as never)
          }
          if (dice.chance(30)) await after(dice.below(10))
        }
        const handles = await Promise.all(submitting)
        if (isPaused) await dice.pick(engines).resume('narrow')
        const late = after(LATE_MS).then(() => 'late')
        for (const handle of handles) {
          const end = await Promise.race([late, handle.result()])
          if (end === 'late') forgotten.push(`${round}: ${(await handle.info())?.type}`)
        }
        if (forgotten.length > 0) break
        if (dice.chance(20)) await after(dice.below(60))
      }
      expect(forgotten).toEqual([])
    },
    120_000,
  )
})
