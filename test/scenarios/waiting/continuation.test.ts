/**
 * Runs that begin anew with another input: steps and waits do not pile up, messages that were not taken stay.
 */
import { describe, expect, it } from 'vitest'
import { job, message, pipeline, typed } from '../../../src/index.ts'
import { EVERY_ENGINE, OWN_ENGINES } from '../../support/engines.ts'

const note = message('note', { input: typed<string>() })

describe.each(EVERY_ENGINE)('a run that continues %s', (_name, open) => {
  it('begins anew, with the new input, no steps, and the messages that were not taken', async () => {
    const pawl = await open()
    const agent = job('agent', {
      input: typed<{ turn: number; said: string[] }>(),
      messages: [note],
      run: async ({ input, step, waitFor, continueWith }) => {
        const { turn, said } = input
        const thought = await step('think', () => turn)
        const heard = await waitFor(note)
        if (turn === 3) return { thought, said: [...said, heard] }
        return continueWith({ turn: turn + 1, said: [...said, heard] })
      },
    })
    pawl.work([agent])
    const handle = await pawl.submit(agent, { turn: 1, said: [] })
    await pawl.send(handle.id, note, 'a')
    await pawl.send(handle.id, note, 'b')
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    const info = await handle.info()
    expect(info.input).toEqual({ turn: 3, said: ['a', 'b'] })
    expect(info.steps).toEqual(['think'])
    expect(info.retryCount).toBe(0)
    await pawl.send(handle.id, note, 'c')
    expect(await handle.result()).toEqual({ thought: 3, said: ['a', 'b', 'c'] })
  })
})

describe.each(OWN_ENGINES)('a continued input %s', (_name, open) => {
  it('is of the version that made it, whatever comes later', async () => {
    const pawl = await open()
    const seen: unknown[] = []
    const first = job('growing', { input: typed<number>(), run: () => 'never' })
    const second = job('growing', {
      version: 2,
      upgrades: { 1: (n) => ({ n }) },
      input: typed<{ n: number }>(),
      run: async ({ input, sleep, step, continueWith }) => {
        seen.push(input)
        if (input.n === 1) return continueWith({ n: 2 })
        await step('a', () => 1)
        await sleep('long', 1_000)
        return 'second'
      },
    })
    const third = job('growing', {
      version: 3,
      upgrades: { 1: (n) => ({ n }), 2: (old) => ({ ...(old as object), third: true }) },
      input: typed<{ n: number; third: boolean }>(),
      run: async ({ input, step, sleep }) => {
        seen.push(input)
        await step('b', () => 1)
        await sleep('again', 1_000)
        return 'third'
      },
    })
    const handle = await pawl.submit(first, 1)
    const worker = pawl.work([second])
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    expect(await handle.info()).toMatchObject({ input: { n: 2 }, version: 2 })
    await worker.stop()
    pawl.work([third])
    expect(await handle.result()).toBe('third')
    expect(seen).toEqual([
      { n: 1 },
      { n: 2 },
      ...Array.from({ length: 2 }, () => ({ n: 2, third: true })),
    ])
    const again = await pawl.rerun(handle.id)
    await again.result()
    expect(seen.at(-1)).toEqual({ n: 2, third: true })
  })

  it('must be returned, must fit, and is not for stages', async () => {
    const pawl = await open()
    const forgotten = job('forgotten', {
      retry: { max: 0 },
      run: ({ continueWith }) => {
        void (continueWith as () => unknown)()
        return 1
      },
    })
    const staged = pipeline('staged').stage('only', {
      retry: { max: 0 },
      run: ({ continueWith }) => (continueWith as (input: number) => never)(1),
    })
    pawl.work([forgotten, staged])
    await expect((await pawl.submit(forgotten)).result()).rejects.toThrow('return continueWith(…)')
    await expect((await pawl.submit(staged)).result()).rejects.toThrow('cannot continue')
  })
})
