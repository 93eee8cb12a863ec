/**
 * Handlers that sleep: the attempt ends and its place is free, and later the handler runs again from the top,
 * with its steps and waits answered from the record.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Aborted } from '../../../src/index.ts'
import { batchJob, job, pipeline, typed } from '../../../src/index.ts'
import { deferred, EVERY_ENGINE, OWN_ENGINES } from '../../support/engines.ts'

describe.each(EVERY_ENGINE)('a handler that sleeps %s', (_name, open) => {
  it('holds no place meanwhile, and goes on from its record', async () => {
    const pawl = await open()
    const did: string[] = []
    const refund = job('refund', {
      run: async ({ step, sleep, job: { attempt } }) => {
        did.push(`attempt ${attempt}`)
        const quote = await step('quote', () => {
          did.push('quoted')
          return 7
        })
        await sleep('cool-off', 1_200)
        did.push('slept')
        return quote
      },
    })
    const other = job('other', { run: () => 'other' })
    pawl.work([refund, other], { concurrency: 1 })
    const handle = await pawl.submit(refund)
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    const { jobs } = await pawl.list({ state: 'SUSPENDED' })
    expect(jobs.map(({ id }) => id)).toEqual([handle.id])
    const explained = await pawl.explain(handle.id)
    expect(explained.reasons[0]).toMatchObject({ what: 'suspended' })
    expect(explained.reasons[0]?.message).toContain(`'cool-off'`)
    // The only place is free.
    expect(await (await pawl.submit(other)).result()).toBe('other')
    expect(await handle.state()).toBe('SUSPENDED')
    expect(await handle.result()).toBe(7)
    expect(did).toEqual(['attempt 1', 'quoted', 'attempt 2', 'slept'])
    const info = await handle.info()
    expect(info).toMatchObject({ attempt: 2, retryCount: 0 })
    expect(info.executions.map(({ status }) => status)).toEqual(['SUSPENDED', 'DONE'])
  })

  it('for less than a second waits in place, with the same record', async () => {
    const pawl = await open()
    const nap = job('nap', {
      retry: { max: 1, delay: 0 },
      run: async ({ sleep, job: { attempt } }) => {
        const from = performance.now()
        await sleep('nap', 120)
        const passed = performance.now() - from
        if (attempt === 1) throw new Error(String(passed))
        return passed
      },
    })
    pawl.work([nap])
    const handle = await pawl.submit(nap)
    // Answered from the record the second time.
    expect(await handle.result()).toBeLessThan(100)
    const history = await pawl.history(handle.id)
    const types = history.map(({ type }) => type)
    expect(types.filter((type) => type === 'WaitEnded')).toHaveLength(1)
    expect(types).not.toContain('ExecutionSuspended')
    const failed = history.find(({ type }) => type === 'TaskFailed')?.entry
    expect(Number((failed as { error: { message: string } }).error.message)).toBeGreaterThan(118)
  })
})

describe.each(OWN_ENGINES)('a suspended run %s', (_name, open) => {
  it('settles nothing: neither catch nor finally runs, and its signal says why', async () => {
    const pawl = await open()
    const did: string[] = []
    const reasons: string[] = []
    const stubborn = job('stubborn', {
      run: async ({ sleep, step, signal, job: { attempt } }) => {
        signal.addEventListener('abort', () => reasons.push((signal.reason as Aborted).reason))
        try {
          // Work beside the wait that is no step: the suspension does not wait for it.
          void (async () => {
            await new Promise((resolve) => setTimeout(resolve, 100))
            did.push(`beside ${attempt}`)
            if (attempt > 1) return
            await step('late', () => did.push('late step'))
            did.push('after the late step')
          })()
          await sleep('long', 1_100)
        } catch {
          did.push('caught')
        } finally {
          did.push(`finally ${attempt}`)
        }
        return attempt
      },
    })
    pawl.work([stubborn])
    const handle = await pawl.submit(stubborn)
    expect(await handle.result()).toBe(2)
    expect(reasons).toEqual(['suspended'])
    expect(did.filter((what) => !what.startsWith('beside'))).toEqual(['finally 2'])
    const types = (await pawl.history(handle.id)).map(({ type }) => type)
    expect(types).not.toContain('ReportRefused')
  })

  it('begins once no step is in flight', async () => {
    const pawl = await open()
    const mayEnd = deferred()
    const did: string[] = []
    const busy = job('busy', {
      run: async ({ sleep, step }) => {
        const two = async (): Promise<void> => {
          await step('one', () => mayEnd.promise)
          await step('two', () => void did.push('two'))
        }
        await Promise.all([sleep('wait', 1_100), two()])
        return 'done'
      },
    })
    pawl.work([busy])
    const handle = await pawl.submit(busy)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(await handle.state()).toBe('RUNNING')
    mayEnd.resolve()
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    expect(did).toEqual(['two'])
    expect(await handle.result()).toBe('done')
    expect(did).toEqual(['two'])
  })

  it('waits until a time, and is not counted by `timeout`, but by `deadline`', async () => {
    const pawl = await open()
    const until = job('until', {
      timeout: 300,
      run: async ({ sleep, sleepUntil }) => {
        await sleep('in-place', 400)
        await sleepUntil('over', new Date(Date.now() - 1_000))
        await sleep('long', 1_000)
        return 'in time'
      },
    })
    const late = job('late', {
      deadline: 500,
      run: async ({ sleep }) => sleep('long', '1d'),
    })
    pawl.work([until, late])
    const handle = await pawl.submit(until)
    const second = await pawl.submit(late)
    expect(await handle.result()).toBe('in time')
    await expect(second.result()).rejects.toMatchObject({ code: 'JobDeadlinePassed' })
  })

  it('of a stage waits as that of a job does', async () => {
    const pawl = await open()
    const film = pipeline('film', { input: typed<string[]>() })
      .stage('cut', {
        each: 'input',
        run: async ({ segment, sleep, step }) => {
          await sleep('settle', 1_000)
          return step('cut', () => segment.toUpperCase())
        },
      })
      .stage('join', {
        after: 'cut',
        run: async ({ outputs }) => {
          const all: string[] = []
          for await (const { output } of outputs.cut) all.push(output)
          return all
        },
      })
    pawl.work([film], { concurrency: 1 })
    const handle = await pawl.submit(film, ['a', 'b'])
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    expect(await handle.result()).toEqual(['A', 'B'])
  })

  it('is free for collection, with all that it holds', async () => {
    const pawl = await open()
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as () => void
    let held: WeakRef<object> | undefined
    const hoarder = job('hoarder', {
      timeout: '1h',
      run: async ({ sleep, signal, log }) => {
        const treasure = { gold: Array.from({ length: 1_000 }, (_, i) => i) }
        held = new WeakRef(treasure)
        signal.addEventListener('abort', () => log(String(treasure.gold.length)))
        await sleep('long', '1d')
        return treasure.gold.length
      },
    })
    pawl.work([hoarder])
    const handle = await pawl.submit(hoarder)
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    await expect
      .poll(() => {
        gc()
        return held?.deref()
      })
      .toBeUndefined()
  })

  it('ends what surrounds it: functions of `use` go on', async () => {
    const pawl = await open()
    const ends: unknown[] = []
    const nap = job('nap', { run: async ({ sleep }) => sleep('nap', 1_000) })
    pawl.work([nap], {
      use: [
        async (_run, next) => {
          ends.push(await next())
        },
      ],
    })
    await (await pawl.submit(nap)).result()
    expect(ends).toEqual([
      { isDone: false, isSuspended: true, isSnoozed: false, error: null },
      { isDone: true, isSuspended: false, isSnoozed: false, error: null },
    ])
  })
})

describe('a wait that is written wrongly', () => {
  const [, open] = OWN_ENGINES[0] as (typeof OWN_ENGINES)[number]

  it('is refused: a second one of the name, one that is not awaited, one of a batch, one without end', async () => {
    const pawl = await open()
    const never = { max: 0 } as const
    const twice = job('twice', {
      retry: never,
      run: async ({ sleep, step }) => {
        await step('same', () => 1)
        await sleep('same', '1d')
      },
    })
    const forgotten = job('forgotten', {
      retry: never,
      run: ({ sleep }) => {
        void sleep('forgotten', '1d')
      },
    })
    const begun = job('begun', {
      retry: never,
      run: ({ sleep }) => {
        void sleep('begun', '1d').then(() => undefined)
      },
    })
    const many = batchJob('many', {
      max: 2,
      retry: never,
      run: async (items) => {
        await items[0]?.sleep('no', '1d')
        return items.map(() => 1)
      },
    })
    const odd = job('odd', {
      retry: never,
      run: async ({ sleep }) => sleep('odd', 'soon' as never),
    })
    const inside = job('inside', {
      retry: never,
      run: async ({ sleep, step }) => step('all', async () => sleep('inside', '1d')),
    })
    const given = job('given', {
      retry: never,
      run: async ({ sleep, step }) => {
        const pause = sleep('given', '1d')
        await step('all', () => pause)
      },
    })
    pawl.work([twice, forgotten, begun, many, odd, inside, given])
    const said = async (definition: typeof twice): Promise<string> => {
      const handle = await pawl.submit(definition as never)
      const error = await handle.result().catch((thrown: unknown) => thrown as Error)
      return error.message
    }
    expect(await said(twice as never)).toContain(`two steps or waits named 'same'`)
    expect(await said(forgotten as never)).toContain(`write \`await sleep('forgotten', …)\``)
    expect(await said(begun as never)).toContain(`write \`await sleep('begun', …)\``)
    expect(await said(many as never)).toContain(`Batch job 'many' cannot wait`)
    expect(await said(inside as never)).toContain(`Step 'all' of job`)
    expect(await said(given as never)).toContain('wait outside of it')
    expect(await said(odd as never)).toContain(`must be a duration such as '30s'`)
  })
})
