/** Stages are opened, and tasks stopped, at once: nobody waits for the engine's next look. */
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import { effect, pipeline, typed } from '../../../src/index.ts'
import { deferred } from '../../support/engines.ts'
import { hookedEngine } from '../../support/hooked-store.ts'
import { realTiming } from '../../../src/store/clock.ts'

const TIMEOUT = { timeout: '10s' } as const

/** An engine that never looks by itself. */
function engine(): Pawl {
  const upkeepTiming = { ...realTiming(), after: () => ({ cancel: () => undefined }) }
  const { pawl } = hookedEngine({ upkeepTiming })
  onTestFinished(() => pawl.close())
  return pawl
}

/** What was asked for before has been looked at, so that it is not that which helps. */
async function lookedAt(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) {
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
}

const chain = pipeline('chain', { input: typed<number[]>() })
  .stage('a', { each: 'input', run: ({ segment }) => segment })
  .stage('b', { after: 'a', run: () => 'b' })
  .stage('c', { after: 'b', run: () => 'c' })

describe('without a look of its own, the engine', () => {
  it('opens a stage after the submit, and after the commit that made it possible', async () => {
    const pawl = engine()
    pawl.work([chain])
    expect(await (await pawl.submit(chain, [1, 2, 3])).result(TIMEOUT)).toBe('c')
  })

  it('opens a stage after a release', async () => {
    const pawl = engine()
    pawl.work([chain])
    const handle = await pawl.submit(chain, [1], { hold: true })
    await lookedAt()
    await pawl.release(handle.id)
    expect(await handle.result(TIMEOUT)).toBe('c')
  })

  it('stops what waits after a cancel, and opens the on-failure stage', async () => {
    const pawl = engine()
    const inside = deferred()
    const slow = pipeline('slow', { input: typed<number[]>() })
      .stage('a', {
        each: 'input',
        run: async ({ signal }) => {
          inside.resolve()
          await once(signal, 'abort')
        },
      })
      .stage('undo', { onFailure: true, run: () => undefined })
    pawl.work([slow], { concurrency: 1 })
    const handle = await pawl.submit(slow, [1, 2, 3])
    await inside.promise
    await handle.cancel()
    await expect(handle.result(TIMEOUT)).rejects.toThrow('was cancelled')
  })

  it('opens a stage after a force', async () => {
    const pawl = engine()
    const worker = pawl.work([chain], { queues: ['nowhere'] })
    const handle = await pawl.submit(chain, [1])
    for await (const { entry } of handle.events()) if (entry.type === 'StageOpened') break
    await pawl.force(handle.id, { stage: 'a', to: 'SUCCEEDED', output: 1 })
    await worker.stop()
    pawl.work([chain])
    expect(await handle.result(TIMEOUT)).toBe('c')
  })

  it('opens a stage after an effect was resolved', async () => {
    const pawl = engine()
    const mail = effect('mail', {
      retry: { max: 0 },
      run: () => {
        throw new Error('no post')
      },
    })
    const sending = pipeline('sending')
      .stage('a', { effects: [mail], run: ({ commit }) => commit(1, [mail()]) })
      .stage('b', { after: 'a', run: () => 'b' })
    pawl.work([sending])
    const handle = await pawl.submit(sending)
    await expect(handle.result(TIMEOUT)).rejects.toThrow('quarantine')
    await lookedAt()
    await pawl.resolveEffect(handle.id, 0, { stage: 'a', outcome: 'happened' })
    expect(await handle.result(TIMEOUT)).toBe('b')
  })

  it('opens a stage after an effect that ended late', async () => {
    const pawl = engine()
    const gate = deferred()
    const begun = deferred()
    const slow = effect('slow', {
      idempotent: true,
      run: async () => {
        begun.resolve()
        await gate.promise
      },
    })
    const sending = pipeline('sending', { lease: '1m' })
      .stage('a', { effects: [slow], run: ({ commit }) => commit(1, [slow()]) })
      .stage('b', { after: 'a', run: () => 'b' })
    const first = pawl.work([sending], { shutdown: 0 })
    const handle = await pawl.submit(sending)
    await begun.promise
    await first.stop()
    await lookedAt()
    pawl.work([sending])
    await lookedAt()
    gate.resolve()
    expect(await handle.result(TIMEOUT)).toBe('b')
  })
})
