import { describe, expect, it } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred, ENGINES, OWN_ENGINES } from '../../../test/support/engines.ts'
import { Aborted, job, TerminalError, typed } from '../../index.ts'
import type { AbortReason, Pawl } from '../../index.ts'

async function entries(pawl: Pawl, id: string): Promise<string[]> {
  return recorded(await pawl.history(id)).map(({ entry }) => entry.type)
}

/** Runs until it is told to stop, and says why. */
function endless(options: { timeout?: number; lease?: number } = {}): {
  definition: ReturnType<typeof make>
  reasons: AbortReason[]
  started: Promise<void>
} {
  const reasons: AbortReason[] = []
  const { promise, resolve } = deferred()
  function make() {
    return job('endless', {
      ...options,
      retry: { max: 0 },
      run: ({ signal }) =>
        new Promise<string>((_, reject) => {
          resolve()
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as Aborted).reason)
            reject(signal.reason as Error)
          })
        }),
    })
  }
  return { definition: make(), reasons, started: promise }
}

describe.each(ENGINES)('a worker %s', (_, open) => {
  it('keeps the lease of a handler that takes several times as long', async () => {
    const pawl = await open()
    const slow = job('slow', {
      lease: 1_000,
      run: () => new Promise<string>((resolve) => setTimeout(() => resolve('done'), 2_500)),
    })
    pawl.work([slow])
    const handle = await pawl.submit(slow)
    expect(await handle.result()).toBe('done')
    const info = await handle.info()
    expect(info.attempt).toBe(1)
    expect(await entries(pawl, handle.id)).toContain('LeaseExtended')
  })

  it('runs no more handlers at once than it may, and takes the next when one is through', async () => {
    const pawl = await open()
    let running = 0
    let most = 0
    const busy = job('busy', {
      run: async () => {
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setTimeout(resolve, 2))
        running -= 1
      },
    })
    pawl.work([busy], { concurrency: 3 })
    const handles = await pawl.submitMany(
      busy,
      Array.from({ length: 20 }, () => ({ input: undefined })),
    )
    await Promise.all(handles.map((handle) => handle.result()))
    expect(most).toBe(3)
  })

  it('tells a running handler that its job was cancelled, and reports nothing more', async () => {
    const pawl = await open()
    const { definition, reasons, started } = endless()
    pawl.work([definition])
    const handle = await pawl.submit(definition)
    await started
    await handle.cancel({ by: 'ann', reason: 'not needed' })
    await expect(handle.result()).rejects.toMatchObject({
      code: 'JobWasCancelled',
      details: { by: 'ann', reason: 'not needed' },
    })
    await expect.poll(() => reasons).toEqual(['cancelled'])
    expect(await entries(pawl, handle.id)).not.toContain('TaskFailed')
  })

  it('ends an attempt that takes longer than its timeout', async () => {
    const pawl = await open()
    const { definition, reasons } = endless({ timeout: 30 })
    pawl.work([definition])
    const handle = await pawl.submit(definition)
    await expect(handle.result()).rejects.toMatchObject({ failure: { code: 'TimedOut' } })
    expect(reasons).toEqual(['timed-out'])
  })

  it('goes on with others when a handler ignores its timeout', async () => {
    const pawl = await open()
    const deaf = job('deaf', {
      input: typed<boolean>(),
      timeout: 20,
      retry: { max: 0 },
      run: ({ input }) => (input ? new Promise<void>(() => undefined) : undefined),
    })
    pawl.work([deaf], { concurrency: 1 })
    const stuck = await pawl.submit(deaf, true)
    const next = await pawl.submit(deaf, false)
    await next.result()
    await expect(stuck.result()).rejects.toMatchObject({ failure: { code: 'TimedOut' } })
  })

  it('that is stopped lets handlers finish, and takes nothing more', async () => {
    const pawl = await open()
    const gate = deferred<string>()
    const started = deferred()
    const waits = job('waits', {
      run: () => {
        started.resolve()
        return gate.promise
      },
    })
    const worker = pawl.work([waits])
    const first = await pawl.submit(waits)
    await started.promise
    const stopped = worker.stop()
    const second = await pawl.submit(waits)
    gate.resolve('finished')
    await stopped
    expect(await first.result()).toBe('finished')
    expect(await second.state()).toBe('QUEUED')
  })

  it('that is stopped gives back what did not finish in time, and it costs nothing', async () => {
    const pawl = await open()
    const { definition, reasons, started } = endless()
    const worker = pawl.work([definition], { shutdown: 20 })
    const handle = await pawl.submit(definition)
    await started
    await worker.stop()
    expect(reasons).toEqual(['shutdown'])
    expect(await handle.state()).toBe('QUEUED')
    const info = await handle.info()
    expect(info.retryCount).toBe(0)
    expect(info.executions[0]?.endedBy).toBe('LeaseReleased')
  })

  it('that went silent loses its job to another, and its late commit changes nothing', async () => {
    const pawl = await open()
    const gate = deferred<string>()
    const started = deferred()
    let runs = 0
    const job1 = job('job1', {
      lease: 400,
      run: () => {
        runs += 1
        if (runs > 1) return 'second'
        started.resolve()
        return gate.promise
      },
    })
    const silent = pawl.work([job1])
    const handle = await pawl.submit(job1)
    await started.promise
    await silent.kill()
    pawl.work([job1])
    expect(await handle.result()).toBe('second')
    gate.resolve('first')
    await new Promise((resolve) => setTimeout(resolve, 10))
    const info = await handle.info()
    expect(info.output).toBe('second')
    expect(info.executions.map(({ endedBy }) => endedBy)).toEqual([
      'LeaseExpired',
      'ExecutionCommitted',
    ])
  })
})

// On a database others could take it meanwhile: there, time goes on.
describe.each(OWN_ENGINES)('a worker %s that no other worker could replace', (_, open) => {
  it('keeps the lease of a handler that keeps the only thread for three times as long', async () => {
    const pawl = await open()
    const greedy = job('greedy', {
      lease: 500,
      run: async () => {
        for (const end = Date.now() + 1_600; Date.now() < end;);
        // Time for upkeep, if it takes the lease for over.
        await new Promise((resolve) => setTimeout(resolve, 200))
        return 'done'
      },
    })
    pawl.work([greedy])
    const handle = await pawl.submit(greedy)
    expect(await handle.result()).toBe('done')
    expect((await handle.info()).attempt).toBe(1)
  })
})

describe.each(ENGINES)('an operator who forces a job %s', (_, open) => {
  it('stops its handler as one who cancels it does', async () => {
    const pawl = await open()
    const { definition, reasons, started } = endless()
    pawl.work([definition])
    const handle = await pawl.submit(definition)
    await started
    await pawl.force(handle.id, { to: 'FAILED' })
    await expect.poll(() => reasons).toEqual(['cancelled'])
  })
})

describe.each(ENGINES)('a failure %s', (_, open) => {
  it('that is classified as terminal ends the job', async () => {
    const pawl = await open()
    const picky = job('picky', {
      classify: (error) => ((error as Error).message === 'bad card' ? 'terminal' : undefined),
      run: () => {
        throw new Error('bad card')
      },
    })
    pawl.work([picky])
    const handle = await pawl.submit(picky)
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobFailed' })
    expect((await handle.info()).attempt).toBe(1)
  })

  it('that is no error is recorded, not lost', async () => {
    const pawl = await open()
    const circular: { self?: unknown } = {}
    circular.self = circular
    for (const thrown of ['text', undefined, 42, circular]) {
      const odd = job('odd', {
        quarantine: 'never',
        retry: { max: 0 },
        run: () => {
          // oxlint-disable-next-line typescript/only-throw-error -- that is what this is about
          throw thrown
        },
      })
      const worker = pawl.work([odd])
      const handle = await pawl.submit(odd)
      await expect(handle.result()).rejects.toMatchObject({ failure: { code: 'ThrownValue' } })
      await worker.stop()
    }
  })

  it('after its last retry fails the job, if it is never to be quarantined', async () => {
    const pawl = await open()
    const strict = job('strict', {
      quarantine: 'never',
      retry: { max: 1, delay: 0 },
      run: () => {
        throw new Error('no')
      },
    })
    pawl.work([strict])
    const handle = await pawl.submit(strict)
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobFailed' })
    expect((await handle.info()).attempt).toBe(2)
  })

  it('waits as long as its backoff says', async () => {
    const pawl = await open()
    const backing = job('backing', {
      retry: { max: 3, backoff: [0, '20ms', '30ms'] },
      run: ({ job: { attempt } }) => {
        if (attempt < 4) throw new Error('not yet')
        return attempt
      },
    })
    pawl.work([backing])
    const handle = await pawl.submit(backing)
    expect(await handle.result()).toBe(4)
    const { executions } = await handle.info()
    const waits = executions.slice(1).map(({ leasedAt }, i) => {
      return leasedAt.getTime() - (executions[i]?.finishedAt?.getTime() ?? 0)
    })
    expect(waits[1]).toBeGreaterThanOrEqual(20)
    expect(waits[2]).toBeGreaterThanOrEqual(30)
  })

  it('of a job that was told to be terminal keeps its code and cause', async () => {
    const pawl = await open()
    const doomed = job('doomed', {
      run: () => {
        throw new TerminalError('no such account', { code: 'NoAccount', cause: new Error('404') })
      },
    })
    pawl.work([doomed])
    const handle = await pawl.submit(doomed)
    await expect(handle.result()).rejects.toMatchObject({ failure: { code: 'NoAccount' } })
    expect((await handle.info()).error?.stack).toMatch('404')
  })
})

describe.each(ENGINES)('a step %s', (_, open) => {
  it('runs once, and later attempts get what it gave', async () => {
    const pawl = await open()
    let downloads = 0
    const fetching = job('fetching', {
      retry: { max: 2, delay: 0 },
      run: async ({ step, job: { attempt } }) => {
        const text = await step('download', () => {
          downloads += 1
          return { text: `download ${downloads}` }
        })
        if (attempt < 3) throw new Error('later')
        return text
      },
    })
    pawl.work([fetching])
    const handle = await pawl.submit(fetching)
    expect(await handle.result()).toEqual({ text: 'download 1' })
    expect(downloads).toBe(1)
    expect((await handle.info()).steps).toEqual(['download'])
  })

  it('named twice in one execution is an error that says so', async () => {
    const pawl = await open()
    const twice = job('twice', {
      retry: { max: 0 },
      run: async ({ step }) => {
        await step('a', () => 1)
        await step('a', () => 2)
      },
    })
    pawl.work([twice])
    const handle = await pawl.submit(twice)
    await expect(handle.result()).rejects.toThrow("two steps or waits named 'a'")
  })

  it('that is forgotten to be returned as a commit is an error that says so', async () => {
    const pawl = await open()
    const forgetful = job('forgetful', {
      retry: { max: 0 },
      run: ({ commit }) => {
        commit({ a: 1 })
      },
    })
    pawl.work([forgetful])
    const handle = await pawl.submit(forgetful)
    await expect(handle.result()).rejects.toThrow('return commit')
  })
})

describe.each(ENGINES)('what a handler says %s', (_, open) => {
  it('as progress and lines is shown', async () => {
    const pawl = await open()
    const gate = deferred()
    const talks = job('talks', {
      run: async ({ progress, log }) => {
        progress({ done: 3, of: 4 })
        log('three of four')
        progress(10n)
        await gate.promise
      },
    })
    pawl.work([talks])
    const handle = await pawl.submit(talks)
    await expect.poll(async () => (await handle.info()).progress).toEqual({ done: 3, of: 4 })
    const [first, second] = (await handle.info()).lines
    expect(first).toBe('three of four')
    // What cannot be shown does not fail the job.
    expect(second).toMatch('progress')
    gate.resolve()
    await handle.result()
  })
})
