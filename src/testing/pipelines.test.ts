import { describe, expect, it, onTestFinished } from 'vitest'
import { recorded } from '../../test/support/history.ts'
import { child, effect, pipeline, typed } from '../index.ts'
import type { TestEngine, TestEngineOptions } from './index.ts'
import { testEngine } from './index.ts'

function engine(options?: TestEngineOptions): TestEngine {
  const pawl = testEngine(options)
  onTestFinished(() => pawl.close())
  return pawl
}

const sum = pipeline('sum', { input: typed<number[]>(), lease: '30s' })
  .stage('double', { each: 'input', run: ({ segment }) => segment * 2 })
  .stage('add', {
    after: 'double',
    queue: 'sums',
    run: async ({ outputs }) => (await outputs.double.toArray()).reduce((a, b) => a + b, 0),
  })

describe('the engine for tests', () => {
  it('runs a pipeline to its end, on whatever queues its stages wait', async () => {
    const { output, info, history } = await engine().runOne(sum, [1, 2, 3])
    expect(output).toBe(12)
    expect(info.stages.map(({ state }) => state)).toEqual(['DONE', 'DONE'])
    const opened = history.filter(({ type }) => type === 'StageOpened')
    expect(opened.map(({ entry }) => entry)).toMatchObject([{ segments: 3 }, { segments: 1 }])
  })

  it('begins nothing of it before it is told to', async () => {
    const pawl = engine()
    const handle = await pawl.submit(sum, [1])
    expect(await handle.state()).toBe('QUEUED')
    await pawl.runUntilIdle()
    expect(await handle.result()).toBe(2)
  })

  it('lets a segment lose its worker: it alone is run again, when its lease has run out', async () => {
    const ran: number[] = []
    const item = pipeline('item', { input: typed<number[]>(), lease: '30s' }).stage('only', {
      each: 'input',
      run: ({ index }) => {
        ran.push(index)
        return index
      },
    })
    const pawl = engine({ worker: { concurrency: 1 } })
    pawl.crash.beforeCommit(item)
    const handle = await pawl.submit(item, [1, 2, 3])
    await pawl.runUntilIdle()
    expect(new Set(ran)).toEqual(new Set([0, 1, 2]))
    expect((await handle.info()).stages[0]).toMatchObject({ completed: 2, running: 1 })
    await pawl.advancePastLease(handle)
    expect(ran).toHaveLength(4)
    expect(await (await handle.result()).toArray()).toEqual([0, 1, 2])
    const { entry } = recorded(await pawl.history(handle.id, { limit: 100 })).find(
      (one) => one.entry.type === 'LeaseExpired',
    )!
    expect(entry).toMatchObject({ stage: 0, segment: ran[0] })
  })

  it('finishes the effects of a segment whose worker died after its commit', async () => {
    const mail = effect('mail', { input: typed<number>(), idempotent: true, run: () => undefined })
    const sending = pipeline('sending', { input: typed<number[]>(), lease: '30s' })
      .stage('send', {
        each: 'input',
        effects: [mail],
        run: ({ segment, commit }) => commit(segment, [mail(segment)]),
      })
      .stage('end', { after: 'send', run: () => 'end' })
    const pawl = engine()
    pawl.crash.afterCommit(sending)
    pawl.crash.duringEffect(mail)
    const { output } = await pawl.runOne(sending, [7, 8])
    expect(output).toBe('end')
    expect(pawl.crash.unreached).toEqual([])
    const keys = new Set(pawl.effects.calls(mail).map(({ key }) => key))
    expect([...keys].toSorted()).toEqual(['sending-1/0/0/0', 'sending-1/0/1/0'])
  })

  it('waits for retries of single segments, and for children that are pipelines', async () => {
    const top = pipeline('top', { retry: { max: 1, delay: '1h' } })
      .stage('flaky', {
        run: ({ job: { attempt } }) => {
          if (attempt === 1) throw new Error('later')
          return [1, 2]
        },
      })
      .stage('go on', {
        after: 'flaky',
        run: ({ outputs, commit }) => commit('gone', [], [child(sum, outputs.flaky)]),
      })
    const pawl = engine({ jobs: [sum] })
    const start = pawl.now
    await pawl.runOne(top)
    expect(pawl.now - start).toBeGreaterThanOrEqual(3_600_000)
    await pawl.runUntilIdle()
    const [below] = (await pawl.list({ type: 'sum' })).jobs
    expect(await pawl.handle(below?.id ?? '').result()).toBe(6)
  })
})
