/** Jobs that wait, in tests: the clock is moved, messages are sent by hand, and workers die around the wait. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { job, message, typed } from '../index.ts'
import type { TestEngine } from './index.ts'
import { testEngine } from './index.ts'

const approval = message('approval', { input: typed<boolean>() })
const double = job('double', { input: typed<number>(), run: ({ input }) => input * 2 })

const refund = job('refund', {
  messages: [approval],
  run: async ({ sleep, waitFor, call, job: { attempt } }) => {
    await sleep('cool-off', '3d')
    const answer = await waitFor(approval, { timeout: '2d' })
    const doubled = await call('double', double, 4)
    return { answer, doubled, attempt }
  },
})

function engine(): TestEngine {
  const pawl = testEngine({ jobs: [double] })
  onTestFinished(() => pawl.close())
  return pawl
}

describe('a job that waits, in a test', () => {
  it('goes on when the test moves the clock, and when it sends a message', async () => {
    const pawl = engine()
    const handle = await pawl.submit(refund)
    await pawl.runUntilIdle()
    expect(await handle.state()).toBe('SUSPENDED')
    await pawl.advance('3d')
    expect((await handle.info()).waits).toMatchObject([{ name: 'approval' }])
    await pawl.send(handle.id, approval, true)
    await pawl.runUntilIdle()
    expect(await handle.result()).toEqual({ answer: true, doubled: 8, attempt: 4 })
  })

  it('is run to its end with its time-outs, and tells if only a message can help', async () => {
    const pawl = engine()
    const { output } = await pawl.runOne(refund)
    expect(output).toMatchObject({ answer: null, doubled: 8 })
    expect(pawl.now).toBe(Date.UTC(2025, 0, 6))
    const stuck = job('stuck', {
      messages: [approval],
      run: async ({ waitFor }) => waitFor(approval),
    })
    const before = pawl.now
    await expect(pawl.runOne(stuck)).rejects.toThrow('waits for a message')
    expect(pawl.now).toBe(before)
  })

  it('that sleeps for a moment, or emits, needs no real time', async () => {
    const pawl = engine()
    const quick = job('quick', {
      run: async ({ sleep, emit }) => {
        await emit('out', 1)
        await sleep('moment', 10)
        return 'done'
      },
    })
    expect((await pawl.runOne(quick)).output).toBe('done')
  })

  it('whose worker dies before or after the suspension loses nothing, and calls once', async () => {
    const pawl = engine()
    pawl.crash.beforeSuspension(refund)
    pawl.crash.afterSuspension(refund, { times: 3 })
    const handle = await pawl.submit(refund)
    await pawl.send(handle.id, approval, true)
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(pawl.crash.unreached).toEqual([{ moment: 'after-suspension', name: 'refund', left: 1 }])
    expect(await handle.result()).toMatchObject({ answer: true, doubled: 8 })
    expect((await pawl.list({ type: 'double' })).jobs).toHaveLength(1)
  })
})
