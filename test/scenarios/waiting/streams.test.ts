/**
 * Streams of a job: durable, in order, in few reports, and read while it runs and after.
 */
import { describe, expect, it } from 'vitest'
import type { StreamItem } from '../../../src/index.ts'
import { job, pipeline, typed } from '../../../src/index.ts'
import { deferred, EVERY_ENGINE, OWN_ENGINES } from '../../support/engines.ts'

async function all(items: AsyncIterable<StreamItem>): Promise<StreamItem[]> {
  const read: StreamItem[] = []
  for await (const item of items) read.push(item)
  return read
}

describe.each(EVERY_ENGINE)('a stream %s', (_name, open) => {
  it('is read while the job runs, and again after, in order, and costs few reports', async () => {
    const pawl = await open()
    const mayGoOn = deferred()
    const talk = job('talk', {
      run: async ({ emit }) => {
        for (let i = 0; i < 500; i++) void emit('words', i)
        await mayGoOn.promise
        for (let i = 500; i < 1_000; i++) void emit('words', i)
        return 'said'
      },
    })
    pawl.work([talk])
    const handle = await pawl.submit(talk)
    const seen: unknown[] = []
    for await (const { value } of handle.stream('words')) {
      seen.push(value)
      if (seen.length === 500) mayGoOn.resolve()
    }
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, i) => i))
    expect(await handle.result()).toBe('said')
    const late = await all(handle.stream('words', { from: 998 }))
    expect(late.map(({ offset, value }) => [offset, value])).toEqual([
      [998, 998],
      [999, 999],
    ])
    const appended = (await pawl.history(handle.id)).filter(({ type }) => type === 'StreamAppended')
    expect(appended.length).toBeLessThan(6)
  })

  it('goes on over attempts, says where one begins, and a step on record emits nothing', async () => {
    const pawl = await open()
    const patient = job('patient', {
      retry: { max: 1, delay: 0 },
      run: async ({ emit, step, sleep, job: { attempt } }) => {
        await step('first', () => emit('out', `step ${attempt}`).then(() => null))
        void emit('out', `turn ${attempt}`)
        if (attempt === 1) throw new Error('again')
        await sleep('pause', 1_000)
        return attempt
      },
    })
    pawl.work([patient])
    const handle = await pawl.submit(patient)
    const read = await all(handle.stream('out'))
    expect(
      read.map(({ offset, value, attempt, isFirstOfAttempt }) => [
        offset,
        value,
        attempt,
        isFirstOfAttempt,
      ]),
    ).toEqual([
      [0, 'step 1', 1, true],
      [1, 'turn 1', 1, false],
      [2, 'turn 2', 2, true],
      [3, 'turn 3', 3, true],
    ])
  })
})

describe.each(OWN_ENGINES)('streams %s', (_name, open) => {
  it('of a segment are its own; what is wrong fails the attempt, awaited or not', async () => {
    const pawl = await open()
    const film = pipeline('film', { input: typed<string[]>() }).stage('cut', {
      each: 'input',
      run: async ({ segment, emit }) => emit('out', segment),
    })
    const many = job('many', {
      retry: { max: 0 },
      run: ({ emit }) => {
        for (let i = 0; i < 20; i++) void emit(`stream ${i}`, i)
      },
    })
    pawl.work([film, many])
    const handle = await pawl.submit(film, ['a', 'b'])
    const [only] = await all(handle.stream('out', { stage: 'cut', segment: 1 }))
    expect(only?.value).toBe('b')
    await expect(all(handle.stream('out'))).rejects.toThrow('by a `stage` of cut')
    await expect((await pawl.submit(many)).result()).rejects.toThrow('which is the most')
    expect(() => handle.stream('out', { after: 1 } as never)).toThrow('There is no option `after`')
    await expect(all(pawl.handle('nowhere').stream('out'))).rejects.toThrow(
      'There is no job nowhere',
    )
  })
})
