/** Handlers that block the event loop past their timeout: no timer can end them. */
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../../test/support/engines.ts'
import { effect, job } from '../../index.ts'
import { TimeLimit } from './time-limit.ts'

const retry = { max: 0 }

/** Nothing else in this thread goes on meanwhile. */
function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const BLOCKED =
  /timeout of 50 ms: the event loop was blocked for \d+ ms or more.*isolation: 'thread' or 'process'/

describe.each(ENGINES)('a handler that blocks the event loop past its timeout, %s,', (_, open) => {
  it.each([
    ['when it is called', () => block(120)],
    [
      'after it waited',
      () => new Promise<void>((resolve) => setTimeout(() => resolve(block(160)), 5)),
    ],
  ])('%s, commits nothing: its attempt fails as by a timeout', async (_when, run) => {
    const pawl = await open()
    const blocks = job('blocks', { timeout: 50, retry, run })
    const handle = await pawl.submit(blocks)
    pawl.work([blocks])
    await expect(handle.result()).rejects.toMatchObject({
      code: 'JobQuarantined',
      failure: { type: 'RETRYABLE', code: 'TimedOut', message: expect.stringMatching(BLOCKED) },
    })
  })

  it('records no step after it, and is told why', async () => {
    const pawl = await open()
    const thrown: unknown[] = []
    const blocks = job('blocks', {
      timeout: 50,
      retry,
      run: async ({ step }) => {
        await step('first', () => 1)
        await step('second', () => block(120)).catch((error: unknown) => thrown.push(error))
      },
    })
    const handle = await pawl.submit(blocks)
    pawl.work([blocks])
    await expect(handle.result()).rejects.toMatchObject({
      failure: { code: 'TimedOut', message: expect.stringMatching(BLOCKED) },
    })
    expect(thrown).toMatchObject([{ code: 'Aborted', reason: 'timed-out' }])
    const types = (await pawl.history(handle.id)).map(({ type }) => type)
    expect(types.filter((type) => type === 'StepRecorded')).toHaveLength(1)
  })

  it('says so itself, if it has a terminal error to throw', async () => {
    const pawl = await open()
    const blocks = job('blocks', {
      timeout: 50,
      classify: () => 'terminal',
      run: () => {
        block(120)
        throw new Error('no such order')
      },
    })
    const handle = await pawl.submit(blocks)
    pawl.work([blocks])
    await expect(handle.result()).rejects.toMatchObject({
      code: 'JobFailed',
      failure: { type: 'TERMINAL', message: 'no such order' },
    })
  })
})

describe('an effect that blocks the event loop past the timeout', () => {
  it.each(ENGINES)('happened, and is reported so, %s', async (_, open) => {
    const pawl = await open()
    const mail = effect('mail', { idempotent: false, run: () => block(120) })
    const order = job('order', {
      timeout: 50,
      effects: [mail],
      run: ({ commit }) => commit('sent', [mail()]),
    })
    pawl.work([order])
    expect(await (await pawl.submit(order)).result()).toBe('sent')
  })
})

describe('a time limit', () => {
  it('does not speak of a blocked event loop when its timer was hardly late', () => {
    let now = 0
    const limit = new TimeLimit({ steadyNow: () => now }, 100)
    limit.noteReturned()
    now = 100
    expect([limit.isOver, limit.leftMs]).toEqual([false, 0])
    now = 130
    expect(limit.isOver).toBe(true)
    expect(limit.explain(false)).toBe('This attempt took longer than the timeout of 100 ms.')
    now = 400
    expect(limit.explain(true)).toMatch(/blocked for 300 ms or more.*Other code/)
  })

  it('of nothing is never over', () => {
    const limit = new TimeLimit({ steadyNow: () => Infinity }, null)
    expect([limit.isOver, limit.leftMs]).toEqual([false, null])
  })
})
