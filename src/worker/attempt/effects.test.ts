import { describe, expect, it } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred, ENGINES } from '../../../test/support/engines.ts'
import { child, effect, job, TerminalError, typed } from '../../index.ts'
import type { EffectContext, Pawl, Reconciled, Worker } from '../../index.ts'

/** A bank that counts. */
class Bank {
  readonly charges: { key: string; fence: number }[] = []

  charge({ key, fence }: EffectContext): void {
    this.charges.push({ key, fence })
  }
}

/** An effect whose first run is still going on when its worker dies. */
function interrupted(
  pawl: Pawl,
  options: { idempotent?: boolean; reconcile?: () => Reconciled | Promise<Reconciled> },
): { run: () => Promise<{ id: string; worker: Worker }>; bank: Bank; definition: Definition } {
  const bank = new Bank()
  const charged = deferred()
  const charge = effect('charge', {
    ...options,
    run: async (_, context) => {
      bank.charge(context)
      if (bank.charges.length > 1) return
      charged.resolve()
      await new Promise(() => undefined)
    },
  })
  const definition = job('pay', {
    lease: 400,
    effects: [charge],
    run: ({ commit }) => commit('paid', [charge()]),
  })
  const run = async (): Promise<{ id: string; worker: Worker }> => {
    const worker = pawl.work([definition])
    const { id } = await pawl.submit(definition)
    await charged.promise
    await worker.kill()
    return { id, worker }
  }
  return { run, bank, definition }
}
type Definition = Parameters<Pawl['work']>[0][number]

describe.each(ENGINES)('an effect %s', (_, open) => {
  it('runs after the commit, under a key that never changes, and is recorded once', async () => {
    const pawl = await open()
    const bank = new Bank()
    const charge = effect('charge', {
      input: typed<{ cents: number }>(),
      run: (input, context) => {
        expect(input.cents).toBe(5)
        bank.charge(context)
      },
    })
    const pay = job('pay', {
      effects: [charge],
      run: ({ commit }) => commit('paid', [charge({ cents: 5 }), charge({ cents: 5 })]),
    })
    pawl.work([pay])
    const handle = await pawl.submit(pay)
    expect(await handle.result()).toBe('paid')
    expect(bank.charges.map(({ key }) => key)).toEqual([`${handle.id}/0/0/0`, `${handle.id}/0/0/1`])
    expect((await handle.info()).effects.map(({ state }) => state)).toEqual([
      'FINISHED',
      'FINISHED',
    ])
    const types = recorded(await pawl.history(handle.id)).map(({ entry }) => entry.type)
    expect(types.slice(2)).toEqual([
      'ExecutionCommitted',
      'EffectStarted',
      'EffectFinished',
      'EffectStarted',
      'EffectFinished',
    ])
  })

  it('that fails is tried again on its own budget, and the handler is not', async () => {
    const pawl = await open()
    let runs = 0
    let tries = 0
    const keys = new Set<string>()
    const shaky = effect('shaky', {
      retry: { max: 2, delay: 0 },
      run: (_input, { key }) => {
        keys.add(key)
        tries += 1
        if (tries < 3) throw new Error('line is busy')
      },
    })
    const pay = job('pay', {
      effects: [shaky],
      run: ({ commit }) => {
        runs += 1
        return commit('paid', [shaky()])
      },
    })
    pawl.work([pay])
    const handle = await pawl.submit(pay)
    expect(await handle.result()).toBe('paid')
    expect({ runs, tries, keys: keys.size }).toEqual({ runs: 1, tries: 3, keys: 1 })
  })

  it('whose budget is used up is held, until a person says what became of it', async () => {
    const pawl = await open()
    let isUp = false
    const shaky = effect('shaky', {
      retry: { max: 1, delay: 0 },
      run: () => {
        if (!isUp) throw new Error('line is busy')
      },
    })
    const pay = job('pay', { effects: [shaky], run: ({ commit }) => commit('paid', [shaky()]) })
    pawl.work([pay])
    const handle = await pawl.submit(pay)
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    expect((await pawl.explain(handle.id)).reasons[0]?.message).toMatch("'shaky'")
    isUp = true
    await pawl.resolveEffect(handle.id, 0, { outcome: 'again', by: 'ann' })
    expect(await handle.result()).toBe('paid')
  })

  it('that fails terminally is held at once', async () => {
    const pawl = await open()
    let tries = 0
    const doomed = effect('doomed', {
      run: () => {
        tries += 1
        throw new TerminalError('card is stolen')
      },
    })
    const pay = job('pay', { effects: [doomed], run: ({ commit }) => commit(1, [doomed()]) })
    pawl.work([pay])
    const handle = await pawl.submit(pay)
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    expect(tries).toBe(1)
    await pawl.resolveEffect(handle.id, 0, { outcome: 'happened' })
    expect(await handle.result()).toBe(1)
  })
})

describe.each(ENGINES)('an effect whose worker died in the middle %s', (_, open) => {
  it('is run again under the same key and a larger fence, if it is idempotent', async () => {
    const pawl = await open()
    const { run, bank, definition } = interrupted(pawl, { idempotent: true })
    const { id } = await run()
    pawl.work([definition])
    expect(await pawl.handle(id).result()).toBe('paid')
    expect(bank.charges).toEqual([
      { key: `${id}/0/0/0`, fence: 1 },
      { key: `${id}/0/0/0`, fence: 2 },
    ])
  })

  it('is held for a person, if it cannot be reconciled', async () => {
    const pawl = await open()
    const { run, bank, definition } = interrupted(pawl, {})
    const { id } = await run()
    pawl.work([definition])
    await expect(pawl.handle(id).result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    expect(bank.charges).toHaveLength(1)
  })

  it('is not run again, if it reconciles that it happened', async () => {
    const pawl = await open()
    const { run, bank, definition } = interrupted(pawl, { reconcile: () => 'happened' })
    const { id } = await run()
    pawl.work([definition])
    expect(await pawl.handle(id).result()).toBe('paid')
    expect(bank.charges).toHaveLength(1)
  })

  it('is run again, if it reconciles that it did not happen', async () => {
    const pawl = await open()
    const { run, bank, definition } = interrupted(pawl, { reconcile: () => 'again' })
    const { id } = await run()
    pawl.work([definition])
    expect(await pawl.handle(id).result()).toBe('paid')
    expect(bank.charges).toHaveLength(2)
  })

  it('is asked about again, if reconciling fails', async () => {
    const pawl = await open()
    let asked = 0
    const reconcile = (): Reconciled => {
      asked += 1
      if (asked === 1) throw new Error('bank is closed')
      return 'happened'
    }
    const { run, bank, definition } = interrupted(pawl, { reconcile })
    const { id } = await run()
    pawl.work([definition])
    expect(await pawl.handle(id).result()).toBe('paid')
    expect({ asked, charges: bank.charges.length }).toEqual({ asked: 2, charges: 1 })
  })
})

describe.each(ENGINES)('an effect that goes on when its worker has given up %s', (_, open) => {
  it('stays with it, and is finished on record when it is through', async () => {
    const pawl = await open()
    const gate = deferred()
    const started = deferred()
    const slow = effect('slow', {
      run: async () => {
        started.resolve()
        await gate.promise
      },
    })
    const pay = job('pay', { effects: [slow], run: ({ commit }) => commit('paid', [slow()]) })
    const worker = pawl.work([pay], { shutdown: 20 })
    const handle = await pawl.submit(pay)
    await started.promise
    await worker.stop()
    // It cannot be ended here, so no other worker may have it yet.
    expect(await handle.state()).toBe('RUNNING')
    gate.resolve()
    await expect.poll(() => handle.state()).toBe('SUCCEEDED')
  })
})

describe.each(ENGINES)('a child %s', (_, open) => {
  const small = job('small', { input: typed<number>(), run: ({ input }) => input })

  it('is submitted once, under an id derived from its parent, with its own options', async () => {
    const pawl = await open()
    const parent = job('parent', {
      run: ({ commit }) =>
        commit(null, [], [child(small, 1), child(small, 2, { tags: ['second'], delay: '1h' })]),
    })
    pawl.work([parent, small])
    const handle = await pawl.submit(parent)
    await handle.result()
    const { jobs } = await pawl.list({ type: 'small' })
    expect(jobs.map(({ id }) => id)).toEqual([`${handle.id}/0/0/0`, `${handle.id}/0/0/1`])
    const second = await pawl.get(`${handle.id}/0/0/1`)
    expect(second).toMatchObject({ parent: handle.id, tags: ['second'], state: 'CREATED' })
    expect(await pawl.handle(`${handle.id}/0/0/0`, small).result()).toBe(1)
  })

  it('that is refused is held at once, and a person is told why', async () => {
    const pawl = await open()
    await pawl.submit(small, 1, { key: 'taken' })
    const parent = job('parent', {
      run: ({ commit }) => commit(null, [], [child(small, 2, { key: 'taken' })]),
    })
    pawl.work([parent])
    const handle = await pawl.submit(parent)
    await expect(handle.result()).rejects.toThrow("'small' is for a person to say")
    expect((await handle.info()).effects[0]?.error?.code).toBe('KeyReused')
  })

  it('with an input that does not fit fails the parent before its commit', async () => {
    const pawl = await open()
    const parent = job('parent', {
      retry: { max: 0 },
      run: ({ commit }) => commit(null, [], [child(small, 10n as unknown as number)]),
    })
    pawl.work([parent, small])
    const handle = await pawl.submit(parent)
    await expect(handle.result()).rejects.toMatchObject({
      failure: { code: 'UnserializableValue' },
    })
    expect((await pawl.list({ type: 'small' })).jobs).toEqual([])
  })
})
