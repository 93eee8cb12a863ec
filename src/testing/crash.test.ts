import { EventEmitter, once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recorded } from '../../test/support/history.ts'
import { child, effect, job, typed } from '../index.ts'
import type { EffectOptions } from '../definition/index.ts'
import type { TestEngine, TestEngineOptions } from './index.ts'
import { testEngine } from './index.ts'

function engine(options?: TestEngineOptions): TestEngine {
  const pawl = testEngine(options)
  onTestFinished(() => pawl.close())
  return pawl
}

/** An order that promises one receipt, and what ran of both. */
function shop(terms: Omit<EffectOptions<undefined>, 'run'> = { idempotent: true }) {
  const ran = { handler: 0, keys: [] as string[] }
  const receipt = effect('receipt', {
    ...terms,
    run: (_input, { key }) => ran.keys.push(key),
  })
  const order = job('order', {
    lease: '30s',
    effects: [receipt],
    run: ({ commit }) => {
      ran.handler += 1
      return commit({ paid: true }, [receipt()])
    },
  })
  return { ran, order, receipt }
}

const typesOf = async (pawl: TestEngine, id: string): Promise<string[]> =>
  recorded(await pawl.history(id)).map(({ entry }) => entry.type)

describe('a crash before the commit', () => {
  it('runs the handler twice and commits once', async () => {
    const pawl = engine()
    const { order, ran } = shop()
    pawl.crash.beforeCommit(order)
    const handle = await pawl.submit(order)
    await pawl.runUntilIdle()
    expect(ran).toEqual({ handler: 1, keys: [] })
    expect(await handle.state()).toBe('RUNNING')
    await pawl.advance('30s')
    expect(ran).toEqual({ handler: 2, keys: ['order-1/0/0/0'] })
    expect(await handle.result()).toEqual({ paid: true })
    expect(await typesOf(pawl, handle.id)).toEqual([
      'JobSubmitted',
      'LeaseGranted',
      'LeaseExpired',
      'LeaseGranted',
      'ExecutionCommitted',
      'EffectStarted',
      'EffectFinished',
    ])
    const { executions } = await handle.info()
    expect(executions.map(({ worker }) => worker)).toEqual(['worker-1', 'worker-2'])
    expect(pawl.crash.unreached).toEqual([])
  })

  it('happens as often as it is asked for', async () => {
    const pawl = engine()
    const { order, ran } = shop()
    pawl.crash.beforeCommit('order', { times: 2 })
    await pawl.runOne(order)
    expect(ran.handler).toBe(3)
    expect(() => pawl.crash.beforeCommit(order, { times: 0 })).toThrow('a whole number from 1')
  })

  it('takes whatever else the worker has in hand, and steps that were recorded stay', async () => {
    const { order } = shop()
    const steps: string[] = []
    const gate = new EventEmitter()
    const slow = job('slow', {
      run: async ({ step, job: { attempt } }) => {
        await step('first', () => steps.push(`first ${attempt}`))
        if (attempt === 1) await once(gate, 'open')
        await step('second', () => steps.push(`second ${attempt}`))
      },
    })
    const pawl = engine({ jobs: [order, slow] })
    const handle = await pawl.submit(slow)
    await pawl.advance(0)
    pawl.crash.beforeCommit(order)
    await pawl.submit(order)
    await pawl.runUntilIdle()
    gate.emit('open')
    await pawl.runUntilIdle()
    expect(steps).toEqual(['first 1'])
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(steps).toEqual(['first 1', 'second 2'])
    expect((await handle.info()).attempt).toBe(2)
  })

  it('leaves other workers, and clients, alone', async () => {
    const pawl = engine()
    const { order } = shop()
    const other = job('other', { run: () => 'ok' })
    pawl.work([order], { name: 'mine' })
    pawl.crash.beforeCommit(order)
    const [lost, fine, more] = await Promise.all([
      pawl.submit(order),
      pawl.submit(other),
      pawl.submit(other, undefined, { hold: true }),
    ])
    await Promise.all([pawl.runUntilIdle(), pawl.cancel(more.id)])
    expect(await fine.result()).toBe('ok')
    await pawl.advancePastLease(lost)
    expect((await lost.info()).executions.map(({ worker }) => worker)).toEqual(['mine', 'mine-2'])
    expect(await lost.state()).toBe('SUCCEEDED')
  })
})

describe('a crash after the commit', () => {
  it('runs the handler once, and the next worker finishes its effects', async () => {
    const pawl = engine()
    const { order, ran } = shop()
    pawl.crash.afterCommit(order)
    const handle = await pawl.submit(order)
    await pawl.runUntilIdle()
    expect(ran).toEqual({ handler: 1, keys: [] })
    expect(await handle.info()).toMatchObject({
      state: 'RUNNING',
      output: { paid: true },
      effects: [{ state: 'PROMISED' }],
    })
    await pawl.advancePastLease(handle)
    expect(ran).toEqual({ handler: 1, keys: ['order-1/0/0/0'] })
    expect(await handle.result()).toEqual({ paid: true })
  })

  it('that ended the job is told to calls that already wait for its result', async () => {
    const pawl = engine()
    const plain = job('plain', { run: () => 'ok' })
    pawl.crash.afterCommit(plain)
    const result = (await pawl.submit(plain)).result()
    await pawl.runUntilIdle()
    expect(await result).toBe('ok')
  })

  it('does not happen while the commit does not hold', async () => {
    const pawl = engine()
    let isCancelled = false
    const order = job('order', {
      run: async ({ job: { id } }) => {
        if (isCancelled) return
        isCancelled = true
        await pawl.cancel(id)
      },
    })
    pawl.crash.afterCommit(order)
    await pawl.submit(order)
    await pawl.runUntilIdle()
    expect(pawl.crash.unreached).toEqual([{ moment: 'after-commit', name: 'order', left: 1 }])
    await pawl.runOne(order)
    expect(pawl.crash.unreached).toEqual([])
  })

  it('leaves children to the next worker, and each is submitted once', async () => {
    const pawl = engine()
    const little = job('little', { run: () => 'done' })
    const parent = job('parent', { run: ({ commit }) => commit(null, [], [child(little)]) })
    pawl.crash.afterCommit(parent)
    await pawl.submit(little, undefined, { id: 'known', delay: '1d' })
    await pawl.runOne(parent)
    await pawl.runUntilIdle({ skipWaiting: true })
    const { jobs } = await pawl.list({ type: 'little' })
    expect(jobs.map(({ state }) => state)).toEqual(['SUCCEEDED', 'SUCCEEDED'])
    expect(pawl.effects.calls('little')).toEqual([])
  })
})

describe('a crash during an effect', () => {
  it('runs an idempotent one again, under the same key', async () => {
    const pawl = engine()
    const { order, ran, receipt } = shop({ idempotent: true })
    pawl.crash.duringEffect(receipt)
    const handle = await pawl.submit(order)
    await pawl.runUntilIdle()
    expect((await handle.info()).effects).toMatchObject([{ state: 'STARTED' }])
    await pawl.advancePastLease(handle.id)
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(ran).toEqual({ handler: 1, keys: ['order-1/0/0/0', 'order-1/0/0/0'] })
    expect(await handle.result()).toEqual({ paid: true })
    const calls = pawl.effects.calls(receipt)
    expect(calls.map(({ key, lease }) => `${key} ${lease}`)).toEqual([
      'order-1/0/0/0 1',
      'order-1/0/0/0 2',
    ])
  })

  it('holds one that is neither idempotent nor can be reconciled, until a person decides', async () => {
    const pawl = engine()
    const { order, ran } = shop({})
    pawl.crash.duringEffect('receipt')
    await expect(pawl.runOne(order)).rejects.toMatchObject({ code: 'JobQuarantined' })
    const handle = pawl.handle('order-1', order)
    expect(await handle.info()).toMatchObject({
      state: 'QUARANTINED',
      effects: [{ state: 'HELD' }],
    })
    expect(ran.keys).toHaveLength(1)
    await pawl.resolveEffect('order-1', 0, { outcome: 'happened', by: 'ann' })
    expect(await handle.result()).toEqual({ paid: true })
    expect(ran.keys).toHaveLength(1)
  })

  it('holds one in the end that cannot be reconciled', async () => {
    const pawl = engine()
    let asked = 0
    const { order, ran, receipt } = shop({
      reconcile: () => {
        asked += 1
        throw new Error('the bank is closed')
      },
    })
    pawl.crash.duringEffect(receipt)
    const handle = await pawl.submit(order)
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(await handle.state()).toBe('QUARANTINED')
    expect({ asked, ran: ran.keys.length }).toEqual({ asked: 3, ran: 1 })
    expect((await pawl.quarantine.list()).jobs).toMatchObject([
      { code: 'OutcomeUnknown', held: [{ name: 'receipt', effect: 0, endedBy: 'LeaseExpired' }] },
    ])
    await pawl.resolveEffect(handle.id, 0, { outcome: 'happened' })
    expect(await handle.result()).toEqual({ paid: true })
  })

  it('finishes one that is reconciled as happened, without running it again', async () => {
    const pawl = engine()
    const asked: string[] = []
    const { order, ran, receipt } = shop({
      reconcile: (_input, { key }) => {
        asked.push(key)
        return 'happened'
      },
    })
    pawl.crash.duringEffect(receipt)
    expect((await pawl.runOne(order)).output).toEqual({ paid: true })
    expect(ran.keys).toEqual(['order-1/0/0/0'])
    expect(asked).toEqual(['order-1/0/0/0'])
    expect(pawl.effects.calls('receipt')).toHaveLength(1)
  })

  it('also loses the report of one that failed', async () => {
    const pawl = engine()
    let calls = 0
    const mail = effect('mail', {
      idempotent: true,
      input: typed<{ to: string }>(),
      run: () => {
        calls += 1
        if (calls === 1) throw new Error('no')
      },
    })
    const letter = job('letter', {
      effects: [mail],
      run: ({ commit }) => commit('sent', [mail({ to: 'a@b.c' })]),
    })
    pawl.crash.duringEffect(mail)
    const { history } = await pawl.runOne(letter)
    expect(history.map(({ type }) => type)).not.toContain('EffectFailed')
    expect(pawl.effects.calls('mail')).toMatchObject([
      { job: 'letter-1', input: { to: 'a@b.c' }, lease: 1, at: new Date(Date.UTC(2025, 0, 1)) },
      { job: 'letter-1', input: { to: 'a@b.c' }, lease: 2 },
    ])
  })
})

describe('advancePastLease', () => {
  it('refuses a job that no worker has, and one that there is not', async () => {
    const pawl = engine()
    const { order } = shop()
    const handle = await pawl.submit(order)
    await expect(pawl.advancePastLease(handle)).rejects.toThrow('it is QUEUED')
    await expect(pawl.advancePastLease('nobody')).rejects.toMatchObject({ code: 'UnknownJob' })
  })

  it('takes nothing from a worker that is alive: it extends its lease meanwhile', async () => {
    const pawl = engine()
    const stuck = job('stuck', { run: () => new Promise(() => undefined) })
    const handle = await pawl.submit(stuck)
    await pawl.advance(0)
    await pawl.advancePastLease(handle)
    expect(await handle.info()).toMatchObject({ state: 'RUNNING', attempt: 1 })
  })
})
