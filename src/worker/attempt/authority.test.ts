import { describe, expect, it, onTestFinished } from 'vitest'
import { deferred, ENGINES } from '../../../test/support/engines.ts'
import type { HookedStore } from '../../../test/support/hooked-store.ts'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import { specOf } from '../../definition/index.ts'
import type { Command } from '../../kernel/index.ts'
import { MemoryStore, StoreEnded, systemClock } from '../../store/index.ts'
import { DiskFull, effect, job, typed } from '../../index.ts'
import type { Pawl, StandardSchema } from '../../index.ts'
import type { Timing } from '../../store/clock.ts'
import { CommandBatcher } from '../../store/command-batcher.ts'
import { SuspectGate } from '../loop/suspect-gate.ts'
import type { WorkerParts } from '../loop/worker.ts'
import { Worker } from '../loop/worker.ts'
import { memoryPlace } from '../artifact/places.ts'

function hooked(): { pawl: Pawl; store: HookedStore; errors: Error[] } {
  const engine = hookedEngine()
  onTestFinished(() => engine.pawl.close())
  return engine
}

function full(): DiskFull {
  return new DiskFull('/store', 1, new Error('ENOSPC'))
}

/** Fails the first call that has such a command. */
function failOnce(store: HookedStore, type: Command['type']): void {
  let isDone = false
  store.beforeExecute = (commands) => {
    if (isDone || !commands.some((command) => command.type === type)) return
    isDone = true
    throw full()
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

describe.each(ENGINES)('workers that are given the same name %s', (_, open) => {
  it('are not taken for each other: an effect that one started is not started again', async () => {
    const pawl = await open()
    const started = deferred()
    let charges = 0
    const charge = effect('charge', {
      run: () => {
        charges += 1
        started.resolve()
        return new Promise(() => undefined)
      },
    })
    const pay = job('pay', {
      lease: 300,
      effects: [charge],
      run: ({ commit }) => commit('paid', [charge()]),
    })
    const first = pawl.work([pay], { name: 'payments' })
    const handle = await pawl.submit(pay)
    await started.promise
    await first.kill()
    pawl.work([pay], { name: 'payments' })
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    expect(charges).toBe(1)
  })
})

describe('a name of a worker', () => {
  it('is only what it is called: no two of them are ever the same', async () => {
    const { pawl } = hooked()
    const echo = job('echo', { run: () => 1 })
    const first = pawl.work([echo], { name: 'payments' })
    const second = pawl.work([echo], { name: 'payments' })
    expect(first.name).toMatch(/^payments-/)
    expect(second.name).not.toBe(first.name)
  })
})

describe('an effect', () => {
  it('does not begin when the answer to its start came after the lease was lost', async () => {
    const { pawl, store } = hooked()
    const begun: number[] = []
    const charge = effect('charge', {
      idempotent: true,
      run: (_, { fence }) => {
        begun.push(fence)
      },
    })
    const pay = job('pay', {
      lease: 200,
      effects: [charge],
      run: ({ commit }) => commit('paid', [charge()]),
    })
    const gate = deferred()
    let isFirst = true
    // Nothing keeps the first lease alive meanwhile.
    store.beforeExecute = (commands) => {
      if (commands.some((one) => one.type === 'ExtendLease' && one.lease === 1)) throw full()
    }
    store.afterExecute = async (commands) => {
      if (!isFirst || !commands.some(({ type }) => type === 'StartEffect')) return
      isFirst = false
      await gate.promise
    }
    pawl.work([pay])
    const handle = await pawl.submit(pay)
    expect(await handle.result()).toBe('paid')
    gate.resolve()
    await wait(20)
    expect(begun).toEqual([2])
  })

  it('that outlasts its timeout is with no other worker while it goes on', async () => {
    const { pawl } = hooked()
    let running = 0
    let most = 0
    const seen: string[] = []
    const slow = effect('slow', {
      run: async () => {
        running += 1
        most = Math.max(most, running)
        await wait(250)
        running -= 1
        seen.push('charged')
      },
      reconcile: () => {
        seen.push('asked')
        return seen.includes('charged') ? 'happened' : 'again'
      },
    })
    const pay = job('pay', {
      lease: 2_000,
      timeout: 100,
      effects: [slow],
      run: ({ commit }) => commit('paid', [slow()]),
    })
    pawl.work([pay])
    const handle = await pawl.submit(pay)
    expect(await handle.result()).toBe('paid')
    expect({ most, seen }).toEqual({ most: 1, seen: ['charged'] })
  })

  it('takes up a place of its worker for as long as it runs', async () => {
    const { pawl } = hooked()
    let running = 0
    let most = 0
    const slow = effect('slow', {
      run: async () => {
        running += 1
        most = Math.max(most, running)
        await wait(5)
        running -= 1
      },
    })
    const pay = job('pay', { effects: [slow], run: ({ commit }) => commit(null, [slow()]) })
    const handles = await pawl.submitMany(pay, [{}, {}, {}, {}, {}, {}])
    pawl.work([pay], { concurrency: 2 })
    await Promise.all(handles.map((handle) => handle.result()))
    expect(most).toBe(2)
  })

  it('that cannot be reconciled is told of', async () => {
    const { pawl, errors } = hooked()
    const started = deferred()
    const charge = effect('charge', {
      run: () => {
        started.resolve()
        return new Promise(() => undefined)
      },
      reconcile: () => {
        throw new Error('bank is closed')
      },
    })
    const pay = job('pay', {
      lease: 300,
      effects: [charge],
      run: ({ commit }) => commit(null, [charge()]),
    })
    const first = pawl.work([pay])
    const handle = await pawl.submit(pay)
    await started.promise
    await first.kill()
    pawl.work([pay])
    await expect.poll(() => errors.map(({ message }) => message).join()).toMatch('bank is closed')
    expect((await handle.info()).lines.join()).toMatch('bank is closed')
  })
})

describe('a report that the disk had no room for', () => {
  it('is sent again as long as the lease is held', async () => {
    for (const type of ['CommitExecution', 'FinishEffect'] as const) {
      const { pawl, store } = hooked()
      failOnce(store, type)
      let runs = 0
      const send = effect('send', { run: () => undefined })
      const pay = job('pay', {
        effects: [send],
        run: ({ commit }) => {
          runs += 1
          return commit('paid', [send()])
        },
      })
      pawl.work([pay])
      const handle = await pawl.submit(pay)
      expect(await handle.result()).toBe('paid')
      expect(runs).toBe(1)
    }
  })

  it('and is given up in the end is told of', async () => {
    const { pawl, store, errors } = hooked()
    store.beforeExecute = (commands) => {
      if (commands.some(({ type }) => type === 'FailTask')) throw new Error('broken')
    }
    const bad = job('bad', {
      run: () => {
        throw new Error('no')
      },
    })
    pawl.work([bad])
    await pawl.submit(bad)
    await expect.poll(() => errors.map(({ message }) => message)).toEqual(['broken'])
  })
})

describe('leases of one worker', () => {
  it('are each kept in time, a short one beside a long one too', async () => {
    const { pawl } = hooked()
    const gate = deferred()
    const long = job('long', { run: () => gate.promise })
    const short = job('short', { lease: 600, run: () => wait(1_500) })
    pawl.work([long, short])
    const first = await pawl.submit(long)
    await expect.poll(() => first.state()).toBe('RUNNING')
    const second = await pawl.submit(short)
    await second.result()
    expect((await second.info()).attempt).toBe(1)
    gate.resolve()
    await first.result()
  })

  it('that were cancelled while they were extended are asked about again', async () => {
    const { pawl, store } = hooked()
    const extending = deferred()
    const gate = deferred()
    store.afterExecute = async (commands) => {
      if (!commands.some(({ type }) => type === 'ExtendLease')) return
      extending.resolve()
      await gate.promise
    }
    const stopped = deferred<string>()
    const slow = job('slow', {
      lease: 1_000,
      run: ({ signal }) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped.resolve((signal.reason as { reason: string }).reason)
            reject(signal.reason as Error)
          })
        }),
    })
    pawl.work([slow])
    const handle = await pawl.submit(slow)
    await extending.promise
    await handle.cancel()
    const before = Date.now()
    gate.resolve()
    expect(await stopped.promise).toBe('cancelled')
    expect(Date.now() - before).toBeLessThan(200)
  })
})

describe('when the store fails', () => {
  it('a call that waits for a result is told', async () => {
    const { pawl, store } = hooked()
    const echo = job('echo', { input: typed<string>(), run: ({ input }) => input })
    // Under an id of the user's: it may have been there before, so the store is asked.
    const handle = await pawl.submit(echo, 'a', { id: 'mine' })
    store.beforeQuery = ({ kind }) => {
      if (kind === 'outcome') throw new Error('cannot be read')
    }
    await expect(handle.result()).rejects.toThrow('cannot be read')
  })

  it('for good, calls that wait are told, and calls that begin to wait later', async () => {
    const { pawl, store } = hooked()
    const echo = job('echo', { input: typed<string>(), run: ({ input }) => input })
    const handle = await pawl.submit(echo, 'a')
    const waiting = handle.result()
    store.beforeQuery = ({ kind }) => {
      if (kind === 'upkeep') throw new StoreEnded('data', new Error('the disk is gone'))
    }
    await expect(waiting).rejects.toMatchObject({ code: 'StoreEnded' })
    await expect(handle.result()).rejects.toMatchObject({ code: 'StoreEnded' })
  })

  it('an `onError` that fails stops nothing', async () => {
    const engine = hookedEngine({
      onError: () => {
        throw new Error('the log is full')
      },
    })
    const { pawl, store } = engine
    onTestFinished(() => pawl.close())
    let failures = 0
    store.beforeQuery = ({ kind }) => {
      if (kind !== 'upkeep' || failures > 0) return
      failures += 1
      throw new Error('hiccup')
    }
    const echo = job('echo', { run: () => 1 })
    const handle = await pawl.submit(echo, undefined, { startWithin: 50 })
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobFailed' })
  })

  it('a submit of many says which are in, and is safe to repeat with their ids', async () => {
    const { pawl, store } = hooked()
    const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })
    const inputs = Array.from({ length: 1_500 }, (_, i) => i)
    let calls = 0
    store.beforeExecute = (commands) => {
      if (!commands.some(({ type }) => type === 'SubmitJob')) return
      calls += 1
      if (calls === 2) throw full()
    }
    const submitting = pawl.submitMany(
      echo,
      inputs.map((input) => ({ input })),
    )
    const error: { ids: string[]; details: { sure: number } } = await submitting.then(
      () => null as never,
      (thrown: unknown) => thrown as never,
    )
    expect(error).toMatchObject({ code: 'SubmitInterrupted', details: { sure: 500 } })
    await pawl.submitMany(
      echo,
      inputs.map((input) => ({ input, options: { id: error.ids[input] as string } })),
    )
    const page = await pawl.list({ limit: 5_000 })
    expect(page.jobs).toHaveLength(1_500)
  })

  it('a single submit that the disk has no room for is as it was', async () => {
    const { pawl, store } = hooked()
    failOnce(store, 'SubmitJob')
    const echo = job('echo', { run: () => 1 })
    await expect(pawl.submit(echo)).rejects.toMatchObject({ code: 'DiskFull' })
  })
})

describe('a schema', () => {
  it('may answer with any promise', async () => {
    const { pawl } = hooked()
    const refuses: StandardSchema<string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () =>
          ({
            // oxlint-disable-next-line unicorn/no-thenable -- a promise of another realm
            then: (resolve: (value: unknown) => void) => {
              resolve({ issues: [{ message: 'never' }] })
            },
          }) as never,
      },
    }
    const picky = job('picky', { input: refuses, run: () => 1 })
    await expect(pawl.submit(picky, 'x')).rejects.toMatchObject({ code: 'InvalidValue' })
  })
})

describe('a result that is waited for only so long', () => {
  it('is StoreClosed when the engine closes, and nothing is left unhandled', async () => {
    const { pawl } = hooked()
    const echo = job('echo', { run: () => 1 })
    const handle = await pawl.submit(echo)
    const waiting = handle.result({ timeout: '1m' })
    await pawl.close()
    await expect(waiting).rejects.toMatchObject({ code: 'StoreClosed' })
    await wait(5)
  })
})

/** What a worker needs, with an executor whose place has died. */
function parts(why: string): WorkerParts & { errors: Error[]; waits: number[] } {
  const store = new MemoryStore(systemClock)
  const errors: Error[] = []
  const waits: number[] = []
  const timing: Timing = {
    now: () => Date.now(),
    steadyNow: () => Date.now(),
    after: (ms) => {
      waits.push(ms)
      return { cancel: () => undefined }
    },
    soon: (call) => setImmediate(call),
  }
  return {
    store,
    batcher: new CommandBatcher(store),
    presence: null,
    suspects: new SuspectGate(timing),
    defaults: null,
    timing,
    executor: {
      endsWhatItStops: true,
      runJob: async () => ({ kind: 'died', why }),
      runEffect: async () => ({ kind: 'died', why }),
      close: async () => undefined,
    },
    artifacts: memoryPlace(),
    onStageReport: () => undefined,
    onCallAnswered: () => undefined,
    workerEvents: {
      progress: () => undefined,
      log: () => undefined,
      stalled: () => undefined,
      notStalled: () => undefined,
      newer: () => undefined,
    },
    onError: (error) => errors.push(error),
    onStopped: () => undefined,
    errors,
    waits,
  }
}

describe('a worker by itself', () => {
  it('reports at once that a child died, however much it said', async () => {
    const given = parts('x'.repeat(10_000))
    const { store } = given
    const echo = job('echo', { retry: { max: 0 }, run: () => 1 })
    await store.execute([
      { type: 'SubmitJob', job: 'a', spec: specOf(echo, undefined, 'null', {}) },
    ])
    const worker = new Worker(given, [echo], { signals: [] })
    await expect
      .poll(async () => (await store.query({ kind: 'outcome', job: 'a' }))?.state)
      .toBe('QUARANTINED')
    const history = await store.query({ kind: 'history', job: 'a', limit: 10 })
    expect(history.map(({ entry }) => entry.type).slice(1)).toEqual(['LeaseGranted', 'TaskFailed'])
    await worker.stop()
  })

  it('asks a store that has ended no more, and says so once', async () => {
    const given = parts('')
    await given.store.close()
    const worker = new Worker(given, [job('echo', { run: () => 1 })], { signals: [] })
    await expect.poll(() => given.errors).toHaveLength(1)
    await wait(5)
    expect(given.errors).toHaveLength(1)
    expect(given.waits).toEqual([])
    await worker.stop()
  })
})
