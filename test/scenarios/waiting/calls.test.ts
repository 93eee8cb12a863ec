/**
 * Jobs that call jobs: each callee is submitted once and answers once, whatever becomes of the workers.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pawl } from '../../../src/index.ts'
import {
  effect,
  job,
  JobFailed,
  JobWasCancelled,
  message,
  pipeline,
  TerminalError,
  typed,
} from '../../../src/index.ts'
import { deferred, EVERY_ENGINE, OWN_ENGINES } from '../../support/engines.ts'
import { hookedEngine } from '../../support/hooked-store.ts'

const double = job('double', { input: typed<number>(), run: ({ input }) => input * 2 })

/** The jobs of a type, by their ids. */
async function jobsOf(pawl: Pawl, type: string): Promise<string[]> {
  return (await pawl.list({ type })).jobs.map(({ id }) => id)
}

describe.each(EVERY_ENGINE)('a job that calls another %s', (_name, open) => {
  it('gets its result, without a place meanwhile, at once', async () => {
    const pawl = await open()
    const ended: number[] = []
    const began: number[] = []
    const callee = job('callee', {
      input: typed<number>(),
      run: ({ input }) => {
        ended.push(performance.now())
        return input * 2
      },
    })
    const caller = job('caller', {
      run: async ({ call }) => {
        const first = await call('first', callee, 1)
        began.push(performance.now())
        const second = await call('second', callee, first)
        began.push(performance.now())
        return second
      },
    })
    pawl.work([caller, callee], { concurrency: 1 })
    const handle = await pawl.submit(caller)
    expect(await handle.result()).toBe(4)
    expect(await jobsOf(pawl, 'callee')).toEqual([
      expect.stringContaining(`${handle.id}/0/0:first:`),
      expect.stringContaining(`${handle.id}/0/0:second:`),
    ])
    // The first call is on record when the second one ends.
    expect(began).toHaveLength(3)
    const info = await handle.info()
    expect(info).toMatchObject({ attempt: 3, retryCount: 0 })
  })

  it('is thrown what the callee failed with', async () => {
    const pawl = await open()
    const broken = job('broken', {
      run: () => {
        throw new TerminalError('no such order', { code: 'NoOrder' })
      },
    })
    const held = job('held', { queue: 'unserved', run: () => 1 })
    const caller = job('caller', {
      run: async ({ call }) => {
        const failed = await call('broken', broken).catch((error: unknown) => error)
        const cancelled = await call('held', held).catch((error: unknown) => error)
        const isSame = failed instanceof JobFailed && cancelled instanceof JobWasCancelled
        return [isSame, (failed as JobFailed).failure?.code, (cancelled as Error).message]
      },
    })
    pawl.work([caller, broken])
    const handle = await pawl.submit(caller)
    await expect.poll(() => jobsOf(pawl, 'held')).toHaveLength(1)
    const [callee = ''] = await jobsOf(pawl, 'held')
    await pawl.cancel(callee, { by: 'ada', reason: 'not needed' })
    expect(await handle.result()).toEqual([
      true,
      'NoOrder',
      `Job ${callee} (held) was cancelled by ada: not needed`,
    ])
  })
})

describe.each(OWN_ENGINES)('calls %s', (_name, open) => {
  it('of a pipeline give its result', async () => {
    const pawl = await open()
    const film = pipeline('film', { input: typed<string[]>() })
      .stage('cut', { each: 'input', run: ({ segment }) => segment.toUpperCase() })
      .stage('count', { after: 'cut', run: ({ outputs }) => outputs.cut.count })
    const parts = pipeline('parts', { input: typed<string[]>() }).stage('cut', {
      each: 'input',
      run: ({ segment }) => segment.toUpperCase(),
    })
    const broken = pipeline('broken').stage('only', {
      run: () => {
        throw new TerminalError('no film')
      },
    })
    const caller = job('caller', {
      run: async ({ call, all }) => {
        const { count, cut } = await all({
          count: call('film', film, ['a', 'b']),
          cut: call('parts', parts, ['a', 'b']),
        })
        const error = await call('broken', broken).catch((thrown: unknown) => thrown as Error)
        return { count, cut: await cut.toArray(), why: error.message }
      },
    })
    pawl.work([caller, film, parts, broken])
    const handle = await pawl.submit(caller)
    const result = await handle.result()
    expect(result).toMatchObject({ count: 2, cut: ['A', 'B'] })
    expect(result.why).toContain(`failed in stage 'only'. TerminalError: no film`)
  })

  it('wait while the callee is in quarantine, and explain says so', async () => {
    const pawl = await open()
    let isBroken = true
    const fragile = job('fragile', {
      retry: { max: 0 },
      run: () => {
        if (isBroken) throw new Error('not today')
        return 'mended'
      },
    })
    const caller = job('caller', { run: async ({ call }) => call('fragile', fragile) })
    pawl.work([caller, fragile])
    const handle = await pawl.submit(caller)
    await expect.poll(async () => (await pawl.list({ state: 'QUARANTINED' })).jobs).toHaveLength(1)
    const [callee = ''] = await jobsOf(pawl, 'fragile')
    expect(await handle.state()).toBe('SUSPENDED')
    const [reason] = (await pawl.explain(handle.id)).reasons
    expect(reason?.message).toContain(
      `the end of job ${callee} ('fragile'), which is in quarantine`,
    )
    isBroken = false
    await pawl.retry(callee)
    expect(await handle.result()).toBe('mended')
  })

  it('that end with their caller are cancelled with it; others go on', async () => {
    const pawl = await open()
    const long = job('long', { input: typed<string>(), queue: 'unserved', run: () => 1 })
    const caller = job('caller', {
      run: async ({ call, all }) => {
        const options = { cancel: 'with-caller' } as const
        await all([call('a', long, 'a', options), call('b', long, 'b')])
      },
    })
    pawl.work([caller])
    const handle = await pawl.submit(caller)
    await expect.poll(() => jobsOf(pawl, 'long')).toHaveLength(2)
    await handle.cancel()
    const states = async (): Promise<string[]> =>
      (await pawl.list({ type: 'long' })).jobs.map(({ state }) => state)
    await expect.poll(states).toEqual(['FAILED', 'QUEUED'])
  })

  it('are bounded in depth, and refused if they are written wrongly', async () => {
    const pawl = await open()
    const odd = job('odd', {
      retry: { max: 0 },
      input: typed<'cancel' | 'job' | 'name' | 'key'>(),
      run: async ({ call, input }) => {
        if (input === 'cancel') await call('x', double, 1, { cancel: 'always' as never })
        if (input === 'job') await call('x', undefined as unknown as typeof double, 1)
        if (input === 'name') await call('x', { name: 'double' } as unknown as typeof double, 1)
        await call('x', double, 1, { key: 'k' } as never)
      },
    })
    pawl.work([odd])
    const said = async (input: 'cancel' | 'job' | 'name' | 'key'): Promise<string> => {
      const handle = await pawl.submit(odd, input)
      return handle.result().then(String, (error: unknown) => (error as Error).message)
    }
    expect(await said('cancel')).toContain(`is 'with-caller', or left out, not always`)
    expect(await said('job')).toContain('was given no job to call')
    expect(await said('name')).toContain('was given no job to call')
    expect(await said('key')).toContain('There is no option `key` of call(')
  })
})

/** Of one submit that nothing waits with: what this machine takes for a few trips to the store now. */
async function submitMs(pawl: Pawl): Promise<number> {
  const began = performance.now()
  await pawl.submit(double, 1, { hold: true })
  return performance.now() - began
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] as number
}

describe.each(EVERY_ENGINE)('the end of a callee %s', (_name, open) => {
  // What other tests do meanwhile only adds to it: one quiet round of three says how quick it is.
  it('comes to its caller within 20 ms, half of the time', { retry: 2 }, async () => {
    const pawl = await open()
    let ended = 0
    const took: number[] = []
    const callee = job('callee', {
      run: () => {
        ended = performance.now()
      },
    })
    const caller = job('caller', {
      run: async ({ call, job: { attempt } }) => {
        if (attempt === 2) took.push(performance.now() - ended)
        await call('callee', callee)
      },
    })
    pawl.work([caller, callee])
    const trips: number[] = []
    for (let i = 0; i < 15; i++) {
      trips.push(await submitMs(pawl))
      await (await pawl.submit(caller)).result()
    }
    expect(took).toHaveLength(15)
    // Three transactions, one after the other, and no pause in between: a machine that has much to do takes longer for each.
    expect(median(took)).toBeLessThan(Math.max(20, 8 * median(trips)))
  })
})

describe('a worker', () => {
  it('submits what its job calls itself: upkeep is only the net', async () => {
    const { pawl, store } = hookedEngine()
    onTestFinished(() => pawl.close())
    const mayAsk = deferred()
    store.beforeQuery = async ({ kind }) => {
      if (kind === 'upkeep') await mayAsk.promise
    }
    const caller = job('caller', { run: async ({ call }) => call('double', double, 2) })
    pawl.work([caller])
    const handle = await pawl.submit(caller)
    await expect.poll(() => jobsOf(pawl, 'double')).toHaveLength(1)
    mayAsk.resolve()
    pawl.work([double])
    expect(await handle.result()).toBe(4)
  })

  it('tells the caller that its callee is over: upkeep is only the net', async () => {
    const { pawl, store } = hookedEngine()
    const mayAsk = deferred()
    onTestFinished(async () => {
      mayAsk.resolve()
      await pawl.close()
    })
    store.beforeQuery = async ({ kind }) => {
      if (kind === 'upkeep') await mayAsk.promise
    }
    const caller = job('caller', { run: async ({ call }) => call('double', double, 2) })
    const noted: unknown[] = []
    const note = effect('note', {
      input: typed<number>(),
      idempotent: true,
      run: (input) => noted.push(input),
    })
    const careful = job('careful', {
      effects: [note],
      run: ({ commit }) => commit(7, [note(7)]),
    })
    const other = job('other', { run: async ({ call }) => [await call('it', careful), noted] })
    pawl.work([caller, double, other, careful])
    expect(await (await pawl.submit(caller)).result()).toBe(4)
    const answered = (await pawl.submit(other)).result()
    expect(await answered).toEqual([7, [7]])
  })

  it('whose word about a callee does not come through leaves it to upkeep', async () => {
    const { pawl, store } = hookedEngine()
    onTestFinished(() => pawl.close())
    let lost = 0
    store.beforeExecute = (commands) => {
      if (!commands.some(({ type }) => type === 'AnswerCall') || lost > 0) return
      lost += 1
      throw new Error('The store is away.')
    }
    const caller = job('caller', { run: async ({ call }) => call('double', double, 2) })
    pawl.work([caller, double])
    expect(await (await pawl.submit(caller)).result()).toBe(4)
    expect(lost).toBe(1)
  })
})

describe.each(OWN_ENGINES)('all and any %s', (_name, open) => {
  const note = message('note', { input: typed<string>() })

  it('end with the last, and with the first; what was not first is left', async () => {
    const pawl = await open()
    const both = job('both', {
      messages: [note],
      run: async ({ all, any, sleep, waitFor, job: { attempt } }) => {
        const first = await any({ note: waitFor(note), late: sleep('late', 1_100) })
        const [nothing, second] = await all([
          sleep('pause', 1_000),
          waitFor(note, { name: 'second' }),
        ])
        const third = await any([sleep('c', 50), sleep('a', 10), sleep('b', 40)])
        return { first, nothing, second, third, attempt }
      },
    })
    pawl.work([both])
    const handle = await pawl.submit(both)
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    await pawl.send(handle.id, note, 'one')
    await expect
      .poll(async () => (await pawl.explain(handle.id)).reasons[0]?.message)
      .toContain(`its time ('pause') and message 'note'`)
    await pawl.send(handle.id, note, 'two')
    expect(await handle.result()).toEqual({
      first: { first: 'note', value: 'one' },
      second: 'two',
      third: { first: 1 },
      attempt: 3,
    })
    const waits = (await pawl.history(handle.id)).flatMap(({ entry }) =>
      entry?.type === 'ExecutionSuspended' ? [entry.waits.map(({ name }) => name)] : [],
    )
    expect(waits).toEqual([
      ['note', 'late'],
      ['pause', 'second'],
    ])
  })

  it('go by when each ended, and not by when the handler hears of it', async () => {
    const pawl = await open()
    const race = job('race', {
      messages: [note],
      run: async ({ any, sleep, waitFor }) => {
        const { first } = await any([sleep('late', 1_000), waitFor(note)])
        return first
      },
    })
    const worker = pawl.work([race])
    const handle = await pawl.submit(race)
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    await worker.stop()
    await pawl.send(handle.id, note, 'in time')
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    pawl.work([race])
    expect(await handle.result()).toBe(1)
  })

  it('take waits that have not begun, and can be nested', async () => {
    const pawl = await open()
    const nested = job('nested', {
      messages: [note],
      run: async ({ all, any, sleep, waitFor }) =>
        any([all([waitFor(note, { name: 'a' }), waitFor(note, { name: 'b' })]), sleep('c', '1d')]),
    })
    const odd = job('odd', {
      retry: { max: 0 },
      run: async ({ all, sleep }) => {
        const began = sleep('began', 1)
        await began
        await all([began])
      },
    })
    const empty = job('empty', { retry: { max: 0 }, run: async ({ any }) => any([]) })
    pawl.work([nested, odd, empty])
    const handle = await pawl.submit(nested)
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    await pawl.send(handle.id, note, 'x')
    await pawl.send(handle.id, note, 'y')
    expect(await handle.result()).toEqual({ first: 0, value: ['x', 'y'] })
    await expect((await pawl.submit(odd)).result()).rejects.toThrow('was awaited before')
    await expect((await pawl.submit(empty)).result()).rejects.toThrow('none was given')
  })
})
