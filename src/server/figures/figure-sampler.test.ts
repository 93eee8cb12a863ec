import { expect, it } from 'vitest'
import type { FigureSource } from './figure-sampler.ts'
import { FigureSampler } from './figure-sampler.ts'

/** A source whose looks take until they are let go. */
function held() {
  const looks: (() => void)[] = []
  const asked = { now: 1_795_001_400_000, looks: 0 }
  const source: FigureSource = {
    now: () => asked.now,
    totals: async () => [],
    queues: () => {
      asked.looks += 1
      return new Promise((resolve) => looks.push(() => resolve([])))
    },
  }
  return { asked, sampler: new FigureSampler(source), release: () => looks.shift()?.() }
}

it('one look is under way at a time, and an answer does not wait for one that takes long', async () => {
  const { asked, sampler, release } = held()
  sampler.begin()
  sampler.begin()
  const answers = await Promise.all([sampler.figures('15m'), sampler.figures('1h')])
  expect(asked.looks).toBe(1)
  expect(answers.map(({ times }) => times)).toEqual([[], []])
  release()
  await expect.poll(async () => (await sampler.figures('15m')).now).toBe(asked.now)
  // What was looked at a moment ago is not looked at again.
  expect(asked.looks).toBe(1)
  asked.now += 2_000
  const asking = sampler.figures('15m')
  release()
  expect(asked.looks).toBe(2)
  expect((await asking).now).toBe(asked.now)
  sampler.close()
})

it('a server whose looks fail has noted nothing from before now', async () => {
  const source: FigureSource = {
    now: () => 1_795_001_400_000,
    totals: async () => [],
    queues: () => Promise.reject(new Error('the store is away')),
  }
  const sampler = new FigureSampler(source)
  expect(await sampler.figures('15m')).toMatchObject({ since: 1_795_001_400_000, times: [] })
  sampler.close()
})

it('nothing is looked at AFTER it was closed, or BEFORE anything asks', async () => {
  const { asked, sampler } = held()
  expect(asked.looks).toBe(0)
  sampler.close()
  expect(await sampler.figures('24h')).toMatchObject({ range: '24h', times: [], queues: [] })
  sampler.begin()
  expect(asked.looks).toBe(0)
})
