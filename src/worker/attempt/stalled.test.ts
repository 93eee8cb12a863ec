import { describe, expect, it } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred, ENGINES } from '../../../test/support/engines.ts'
import type { Notice, RunContext } from '../../index.ts'
import { batchJob, effect, job, pipeline, typed } from '../../index.ts'
import { testEngine } from '../../testing/index.ts'

type Stalled = Extract<Notice, { kind: 'stalled' }>

type Context = RunContext<undefined, readonly []>

/** A handler that waits for the test, and what it was given. */
function slow(options: { readonly recover?: boolean; readonly retry?: { max: number } } = {}) {
  const contexts: Context[] = []
  const finishes: ((value: string) => void)[] = []
  const { recover = false, retry } = options
  const definition = job('slow', {
    stalled: { after: '10m', recover },
    ...(retry === undefined ? {} : { retry }),
    run: (context) => {
      contexts.push(context)
      return new Promise<string>((resolve) => {
        finishes.push(resolve)
      })
    },
  })
  return { definition, contexts, finish: (value: string) => finishes.at(-1)?.(value) }
}

const SAYINGS: readonly [string, (context: Context, nth: number) => unknown][] = [
  ['progress', ({ progress }) => progress(0.5)],
  ['a line', ({ log }) => log('still here')],
  ['a step', ({ step }, nth) => step(`step ${nth}`, () => nth)],
]

describe('a handler of which nothing is heard', () => {
  it('is flagged after ten minutes unless its job says otherwise, and goes on', async () => {
    const pawl = testEngine()
    const { promise, resolve } = deferred<string>()
    const waits = job('waits', { run: () => promise })
    const worker = pawl.work([waits])
    const { id } = await pawl.submit(waits)
    await pawl.advance('9m')
    expect((await pawl.get(id))?.stalledSince).toBeNull()
    expect((await pawl.health()).isWell).toBe(true)
    const began = pawl.now - 540_000
    await pawl.advance('2m')
    expect((await pawl.get(id))?.stalledSince?.getTime()).toBe(began)
    const health = await pawl.health()
    expect(health).toMatchObject({
      isWell: false,
      stalled: [
        { job: id, type: 'waits', worker: worker.name, attempt: 1, since: new Date(began) },
      ],
    })
    expect(health.stalled[0]?.isRecovered).toBe(false)
    const { reasons } = await pawl.explain(id)
    expect(reasons.map(({ what }) => what)).toEqual(['running', 'stalled'])
    // A day is not too long for a handler that is not to be recovered.
    await pawl.advance('1d')
    expect(await pawl.handle(id).state()).toBe('RUNNING')
    resolve('done')
    await pawl.advance(0)
    expect(await pawl.get(id)).toMatchObject({ state: 'SUCCEEDED', attempt: 1, stalledSince: null })
    expect((await pawl.health()).stalled).toEqual([])
    await pawl.close()
  })

  it.each(SAYINGS)('is not stalled while there is %s', async (_, say) => {
    const pawl = testEngine()
    const { definition, contexts, finish } = slow()
    pawl.work([definition])
    const { id } = await pawl.submit(definition)
    await pawl.advance('9m')
    await Promise.resolve(say(contexts[0] as Context, 1))
    await pawl.advance('9m')
    expect((await pawl.get(id))?.stalledSince).toBeNull()
    await pawl.advance('2m')
    expect((await pawl.get(id))?.stalledSince).not.toBeNull()
    // Heard of again, it is well again; and silent again, it is flagged again.
    await Promise.resolve(say(contexts[0] as Context, 2))
    expect((await pawl.get(id))?.stalledSince).toBeNull()
    await pawl.advance('11m')
    expect((await pawl.health()).stalled).toHaveLength(1)
    finish('done')
    await pawl.advance(0)
    expect((await pawl.health()).isWell).toBe(true)
    await pawl.close()
  })

  it.each(SAYINGS)(
    'is not stalled while there is %s of another job of its batch',
    async (_, say) => {
      const pawl = testEngine()
      const { promise, resolve } = deferred()
      const calls: (readonly Context[])[] = []
      const batch = batchJob('batch', {
        max: 3,
        stalled: { after: '10m', recover: true },
        run: async (items) => {
          calls.push(items)
          await promise
          return items.map(() => 'done')
        },
      })
      pawl.work([batch])
      const handles = await pawl.submitMany(batch, [{}, {}, {}])
      await pawl.advance('9m')
      await Promise.resolve(say(calls[0]?.[1] as Context, 1))
      await pawl.advance('9m')
      expect(calls.map(({ length }) => length)).toEqual([3])
      resolve()
      await pawl.advance(0)
      for (const { id } of handles) {
        expect(await pawl.get(id)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
      }
      await pawl.close()
    },
  )

  it('is tried again if its job says so: the lease is taken away, on record', async () => {
    const pawl = testEngine()
    const { definition, contexts, finish } = slow({ recover: true })
    pawl.work([definition])
    const { id } = await pawl.submit(definition)
    await pawl.advance('11m')
    expect(contexts).toHaveLength(2)
    expect(contexts[0]?.signal.reason).toMatchObject({ code: 'Aborted', reason: 'stalled' })
    const info = await pawl.get(id)
    expect(info).toMatchObject({ state: 'RUNNING', attempt: 2, retryCount: 1, stalledSince: null })
    const revoked = recorded(await pawl.history(id)).find(
      ({ entry }) => entry.type === 'LeaseRevoked',
    )
    expect(revoked?.entry).toMatchObject({
      reason: 'Stalled: nothing was heard of it for 600000 ms.',
    })
    finish('second')
    await pawl.advance(0)
    expect(await pawl.handle(id).result()).toBe('second')
    await pawl.close()
  })

  it('is given up in the end, like any other that does not come to an end', async () => {
    const pawl = testEngine()
    const { definition } = slow({ recover: true, retry: { max: 1 } })
    pawl.work([definition])
    const { id } = await pawl.submit(definition)
    await pawl.advance('30m')
    expect(await pawl.handle(id).state()).toBe('QUARANTINED')
    expect(await pawl.quarantine.groups()).toMatchObject([{ code: 'LeaseRevoked', count: 1 }])
    await pawl.close()
  })

  it('counts an effect as heard of when it starts and when it is through', async () => {
    const pawl = testEngine()
    const work = deferred()
    const sending = [deferred(), deferred()]
    let sent = 0
    const mail = effect('mail', {
      idempotent: true,
      run: () => {
        sent += 1
        return sending[sent - 1]?.promise
      },
    })
    const order = job('order', {
      effects: [mail],
      run: async ({ commit }) => {
        await work.promise
        return commit(null, [mail(), mail()])
      },
    })
    pawl.work([order])
    const { id } = await pawl.submit(order)
    for (const step of [work, ...sending]) {
      await pawl.advance('9m')
      expect((await pawl.get(id))?.stalledSince).toBeNull()
      if (step !== sending[1]) step.resolve()
    }
    await pawl.advance('2m')
    expect((await pawl.get(id))?.stalledSince).not.toBeNull()
    sending[1]?.resolve()
    await pawl.advance(0)
    expect(await pawl.get(id)).toMatchObject({ state: 'SUCCEEDED', stalledSince: null })
    await pawl.close()
  })

  it('is found in a stage of a pipeline, too, which may say for itself when', async () => {
    const pawl = testEngine()
    const { promise } = deferred()
    const film = pipeline('film', { stalled: { after: '5m' } })
      .stage('cut', { stalled: { after: '20m' }, run: () => promise })
      .stage('sound', { run: () => promise })
    pawl.work([film])
    const { id } = await pawl.submit(film)
    await pawl.advance('6m')
    expect((await pawl.health()).stalled).toMatchObject([{ job: id, stage: 1, type: 'film' }])
    expect((await pawl.get(id))?.stalledSince).not.toBeNull()
    const { reasons } = await pawl.explain(id)
    expect(reasons.filter(({ what }) => what === 'stalled')).toMatchObject([{ stage: 'sound' }])
    await pawl.advance('15m')
    expect((await pawl.health()).stalled).toHaveLength(2)
    expect(() => pipeline('film', { stalled: { after: 0 } })).toThrow(/more than 0/)
    await pawl.close()
  })

  it('leaves an effect that cannot be ended to its lease, and no other worker begins it', async () => {
    const pawl = testEngine()
    const { promise } = deferred()
    let calls = 0
    const mail = effect('mail', {
      idempotent: true,
      run: () => {
        calls += 1
        return promise
      },
    })
    const order = job('order', {
      effects: [mail],
      lease: '30s',
      stalled: { after: '1m', recover: true },
      run: ({ commit }) => commit(null, [mail()]),
    })
    pawl.work([order])
    const { id } = await pawl.submit(order)
    await pawl.advance('61s')
    expect(calls).toBe(1)
    await pawl.advance('31s')
    expect(calls).toBe(2)
    const types = recorded(await pawl.history(id)).map(({ entry }) => entry.type)
    expect(types).toContain('LeaseExpired')
    expect(types).not.toContain('LeaseRevoked')
    await pawl.close()
  })
})

describe.each(ENGINES)('a stalled job, in an engine %s,', (_, open) => {
  it('is told of once by a notice', async () => {
    const notices: Stalled[] = []
    const told = deferred()
    const pawl = await open({
      onNotice: (notice) => {
        if (notice.kind !== 'stalled') return
        notices.push(notice)
        told.resolve()
      },
    })
    const { promise, resolve } = deferred<string>()
    const waits = job('waits', {
      input: typed<string>(),
      lease: 60,
      stalled: { after: 20 },
      run: () => promise,
    })
    pawl.work([waits])
    const handle = await pawl.submit(waits, 'x')
    await told.promise
    expect(notices).toMatchObject([{ job: handle.id, type: 'waits', isRecovered: false }])
    resolve('done')
    expect(await handle.result()).toBe('done')
    expect(notices).toHaveLength(1)
    await pawl.close()
  })
})

function nothing(): null {
  return null
}

describe('`stalled` of a job', () => {
  it('is refused where it makes no sense', () => {
    expect(() => job('a', { stalled: { after: 0 }, run: nothing })).toThrow(/more than 0/)
    expect(() => job('a', { stalled: { after: 'soon' as '1s' }, run: nothing })).toThrow(
      /stalled\.after/,
    )
  })
})
