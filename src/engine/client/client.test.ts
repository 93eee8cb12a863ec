import { describe, expect, it } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred, ENGINES, temporaryFolder } from '../../../test/support/engines.ts'
import { batchJob, effect, failed, job, open as openPawl, typed } from '../../index.ts'
import type { Handle, Pawl } from '../../index.ts'

const echo = job('echo', { input: typed<string>(), run: ({ input }) => input })

const broken = job('broken', {
  input: typed<string>(),
  retry: { max: 0 },
  run: ({ input }) => {
    if (input !== 'good') throw new Error(`${input} is no good`)
    return input
  },
})

function nothing(): null {
  return null
}

async function quarantined(pawl: Pawl): Promise<Handle<string>> {
  const handle = await pawl.submit(broken, 'bad')
  await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
  return handle
}

async function obstacles(pawl: Pawl, id: string): Promise<string[]> {
  return (await pawl.explain(id)).reasons.map(({ what }) => what)
}

describe.each(ENGINES)('a client %s', (_, open) => {
  it('lists jobs page by page, in order, and filtered', async () => {
    const pawl = await open()
    const many = Array.from({ length: 25 }, (__, i) => ({
      input: `${i}`,
      options: { id: `j${i}` },
    }))
    await pawl.submitMany(echo, many)
    await pawl.submit(broken, 'x')
    const seen: string[] = []
    let after: number | undefined
    for (;;) {
      const page = await pawl.list({ type: 'echo', limit: 10, ...(after && { after }) })
      seen.push(...page.jobs.map(({ id }) => id))
      if (page.next === null) break
      after = page.next
    }
    expect(seen).toEqual(many.map(({ options }) => options.id))
    expect((await pawl.list({ state: 'QUEUED', limit: 1_000 })).jobs).toHaveLength(26)
    expect((await pawl.list({ state: 'FAILED' })).jobs).toEqual([])
  })

  it('reads the whole history of a job: what, when, who and why', async () => {
    const pawl = await open()
    const handle = await pawl.submit(echo, 'a', { hold: true })
    await handle.cancel({ by: 'ann', reason: 'a mistake' })
    const history = recorded(await pawl.history(handle.id))
    expect(history.map(({ entry }) => entry.type)).toEqual(['JobSubmitted', 'JobCancelled'])
    expect(history[1]?.entry).toMatchObject({ by: 'ann', reason: 'a mistake' })
    const [second] = recorded(
      await pawl.history(handle.id, { after: history[0]?.position ?? 0, limit: 1 }),
    )
    expect(second).toEqual(history[1])
  })

  it('watches everything that happens, and goes on where it was', async () => {
    const pawl = await open()
    await pawl.submit(echo, 'a', { id: 'a' })
    await pawl.submit(echo, 'b', { id: 'b' })
    const seen: string[] = []
    let position = 0
    for await (const { position: at, entry } of pawl.watch()) {
      position = at
      seen.push('job' in entry ? entry.job : '')
      break
    }
    for await (const { entry } of pawl.watch({ from: position })) {
      seen.push('job' in entry ? entry.job : '')
      break
    }
    expect(seen).toEqual(['a', 'b'])
  })

  it('follows the events of one job to its end', async () => {
    const pawl = await open()
    const handle = await pawl.submit(echo, 'a')
    await pawl.submit(echo, 'other')
    const seen: string[] = []
    const following = (async () => {
      for await (const { entry } of handle.events()) seen.push(entry.type)
    })()
    pawl.work([echo])
    await following
    expect(seen).toEqual(['JobSubmitted', 'LeaseGranted', 'ExecutionCommitted'])
  })

  it('waits for a result only as long as it wants, and the job goes on', async () => {
    const pawl = await open()
    const handle = await pawl.submit(echo, 'a')
    await expect(handle.result({ timeout: 10 })).rejects.toMatchObject({ code: 'ResultTimeout' })
    pawl.work([echo])
    expect(await handle.result({ timeout: '10s' })).toBe('a')
  })

  it('is told when there is no such job', async () => {
    const pawl = await open()
    const handle = pawl.handle('nobody')
    expect(await pawl.get('nobody')).toBeNull()
    for (const ask of [
      () => handle.result(),
      () => handle.state(),
      () => handle.cancel(),
      () => pawl.retry('nobody'),
      () => pawl.rerun('nobody'),
      () => pawl.explain('nobody'),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: 'UnknownJob' })
    }
  })
})

describe.each(ENGINES)('an operator %s', (_, open) => {
  it('retries a job in quarantine with a new input, on record', async () => {
    const pawl = await open()
    pawl.work([broken])
    const handle = await quarantined(pawl)
    await pawl.retry(handle.id, { input: 'good', by: 'ann', reason: 'typo' })
    expect(await handle.result()).toBe('good')
    const entry = recorded(await pawl.history(handle.id)).find(
      (one) => one.entry.type === 'TaskRetried',
    )
    expect(entry?.entry).toMatchObject({ by: 'ann', reason: 'typo', input: '"good"' })
  })

  it('discards a job in quarantine', async () => {
    const pawl = await open()
    pawl.work([broken])
    const handle = await quarantined(pawl)
    await pawl.discard(handle.id, { reason: 'not worth it' })
    expect(await handle.state()).toBe('FAILED')
  })

  it('forces a job to an end, or back', async () => {
    const pawl = await open()
    const done = await pawl.submit(echo, 'a')
    await pawl.force(done.id, { to: 'SUCCEEDED', output: 'by hand', by: 'ann' })
    expect(await done.result()).toBe('by hand')
    const lost = await pawl.submit(echo, 'b')
    await pawl.force(lost.id, { to: 'FAILED' })
    await expect(lost.result()).rejects.toMatchObject({ code: 'JobFailed' })
  })

  it('takes a running job out of the hands of its worker by force', async () => {
    const pawl = await open()
    const started = deferred()
    const stuck = job('stuck', {
      run: ({ signal }) =>
        new Promise<string>((__, reject) => {
          started.resolve()
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        }),
    })
    const worker = pawl.work([stuck])
    const handle = await pawl.submit(stuck)
    await started.promise
    await pawl.force(handle.id, { to: 'SUCCEEDED', output: 'enough' })
    expect(await handle.result()).toBe('enough')
    await expect.poll(() => worker.running).toBe(0)
  })

  it('runs a job that failed again, as a new one that points to it', async () => {
    const pawl = await open()
    const first = await pawl.submit(echo, 'a', { key: 'k' })
    await expect(pawl.rerun(first.id)).rejects.toMatchObject({ rejection: { code: 'JobNotFinal' } })
    await first.cancel()
    const again = await pawl.rerun(first.id, { id: 'second' })
    pawl.work([echo])
    expect(await again.result()).toBe('a')
    expect(await pawl.get('second')).toMatchObject({ rerunOf: first.id, key: null })
  })

  it('pauses a queue: what waits is not handed out until it is resumed', async () => {
    const pawl = await open()
    await pawl.pause('default', { by: 'ann', reason: 'deploy' })
    pawl.work([echo])
    const handle = await pawl.submit(echo, 'a')
    expect(await obstacles(pawl, handle.id)).toEqual(['queue-paused'])
    await pawl.resume('default')
    expect(await handle.result()).toBe('a')
  })
})

describe.each(ENGINES)('an explanation %s', (_, open) => {
  it('names every reason why a job does not run', async () => {
    const pawl = await open()
    const { id } = await pawl.submit(echo, 'a', { hold: true, delay: '1h' })
    expect(await obstacles(pawl, id)).toEqual(['held', 'not-due', 'no-worker'])
    const explanation = await pawl.explain(id)
    expect(explanation.isRunnable).toBe(false)
    expect(explanation.reasons[1]?.until?.getTime()).toBeGreaterThan(Date.now())
  })

  it('says which limit holds a job, and who holds it', async () => {
    const pawl = await open()
    const gate = deferred()
    const slow = job('slow', {
      limits: [{ key: 'api', concurrency: 1 }],
      run: () => gate.promise,
    })
    pawl.work([slow])
    const first = await pawl.submit(slow)
    await expect.poll(() => first.state()).toBe('RUNNING')
    const second = await pawl.submit(slow)
    const { reasons } = await pawl.explain(second.id)
    expect(reasons.map(({ what }) => what)).toEqual(['limit'])
    expect(reasons[0]?.holders.map(({ job: holder }) => holder)).toEqual([first.id])
    expect(reasons[0]?.message).toMatch(first.id)
    gate.resolve()
    await second.result()
  })

  it('says how full a queue is, and when its rate allows the next', async () => {
    const pawl = await open()
    await pawl.configure('default', { rate: { count: 1, per: '1h' } })
    pawl.work([echo])
    await (await pawl.submit(echo, 'a')).result()
    const { id } = await pawl.submit(echo, 'b')
    const { reasons } = await pawl.explain(id)
    expect(reasons.map(({ what }) => what)).toEqual(['queue-limit'])
    expect(reasons[0]?.until?.getTime()).toBeGreaterThan(Date.now())
  })

  it('says of a queue that lets nothing run what to do about it', async () => {
    const pawl = await open()
    await pawl.configure('default', { concurrency: 0 })
    pawl.work([echo])
    const { id } = await pawl.submit(echo, 'a')
    const { reasons } = await pawl.explain(id)
    expect(reasons.map(({ what, message }) => [what, message])).toEqual([
      ['queue-limit', "The queue 'default' lets nothing run (concurrency 0): configure() it."],
    ])
  })

  it('of a job that runs, is over, waits for a retry or a person says so', async () => {
    const pawl = await open()
    const gate = deferred()
    const slow = job('slow', { run: () => gate.promise })
    const flaky = job('flaky', {
      retry: { max: 1, delay: '1h' },
      run: () => {
        throw new Error('no')
      },
    })
    pawl.work([slow, flaky, broken], { concurrency: 1 })
    const running = await pawl.submit(slow)
    await expect.poll(() => running.state()).toBe('RUNNING')
    const waiting = await pawl.submit(broken, 'good')
    expect(await obstacles(pawl, running.id)).toEqual(['running'])
    expect(await obstacles(pawl, waiting.id)).toEqual(['workers-busy'])
    gate.resolve()
    await running.result()
    expect(await obstacles(pawl, running.id)).toEqual(['over'])
    const retrying = await pawl.submit(flaky)
    await expect.poll(() => retrying.state()).toBe('RETRYING')
    expect(await obstacles(pawl, retrying.id)).toEqual(['waits-for-retry'])
    expect(await obstacles(pawl, (await quarantined(pawl)).id)).toEqual(['quarantined'])
  })
})

describe.each(ENGINES)('a batch job %s', (_, open) => {
  it('is run with one call for many, and each has its own fate', async () => {
    const pawl = await open()
    const sizes: number[] = []
    const insert = batchJob('insert', {
      input: typed<number>(),
      max: 4,
      quarantine: 'never',
      retry: { max: 0 },
      run: (items) => {
        sizes.push(items.length)
        return items.map(({ input }) => (input === 3 ? failed(new Error('odd one')) : input * 10))
      },
    })
    const handles = await pawl.submitMany(
      insert,
      [1, 2, 3, 4, 5, 6].map((input) => ({ input })),
    )
    pawl.work([insert])
    const results = await Promise.allSettled(handles.map((handle) => handle.result()))
    expect(results.map((one) => (one.status === 'fulfilled' ? one.value : 'failed'))).toEqual([
      10,
      20,
      'failed',
      40,
      50,
      60,
    ])
    expect(sizes.toSorted((a, b) => a - b)).toEqual([2, 4])
  })

  it('that throws, or gives too few answers, fails all of them', async () => {
    const pawl = await open()
    const short = batchJob('short', {
      max: 10,
      quarantine: 'never',
      retry: { max: 0 },
      run: () => [1],
    })
    const handles = await pawl.submitMany(short, [{ input: undefined }, { input: undefined }])
    pawl.work([short])
    for (const handle of handles) {
      await expect(handle.result()).rejects.toThrow('an answer for each')
    }
  })
})

describe.each(ENGINES)('an engine that is closed %s', (_, open) => {
  it('tells calls that wait for a result, or ask for one, or want to work', async () => {
    const pawl = await open()
    const handle = await pawl.submit(echo, 'a')
    const waiting = handle.result()
    await pawl.close()
    await expect(waiting).rejects.toMatchObject({ code: 'StoreClosed' })
    await expect(handle.result()).rejects.toMatchObject({ code: 'StoreClosed' })
    expect(() => pawl.work([echo])).toThrow('closed')
  })
})

describe.each(ENGINES)('an option that is there and undefined %s', (_, open) => {
  it('is as one that is left out', async () => {
    const pawl = await open()
    const items = Array.from({ length: 101 }, () => ({ input: 'a' }))
    const [handle] = await pawl.submitMany(echo, items)
    const undef = { limit: undefined, after: undefined } as object
    expect((await pawl.list(undef)).jobs).toHaveLength(100)
    expect(await pawl.history(handle?.id ?? '', undef)).toHaveLength(1)
    expect(await pawl.quarantine.list(undef)).toEqual({ jobs: [], next: null })
  })
})

describe.each(ENGINES)('what makes no sense %s', (_, open) => {
  it('is refused before anything happens, and the message says what to do', async () => {
    const pawl = await open()
    await expect(pawl.list({ limit: 0 })).rejects.toThrow('from 1')
    await expect(pawl.history('x', { limit: 0.5 })).rejects.toThrow('from 1')
    await expect(pawl.submit(echo, 'a', { unique: true })).rejects.toThrow('give a `key`')
    const limits = [{ key: 'api' }]
    await expect(pawl.submit(echo, 'a', { limits })).rejects.toThrow('bounds nothing')
    const delay = '5 minutes' as never
    await expect(pawl.submit(echo, 'a', { delay })).rejects.toThrow("'30s'")
    await expect(pawl.submit(echo, 'a', { at: new Date(NaN) })).rejects.toThrow('a date')
    expect(() => pawl.work([])).toThrow('at least one job')
    expect(() => pawl.work([echo, echo])).toThrow("two jobs named 'echo'")
    expect(() => pawl.work([echo], { concurrency: 0 })).toThrow('from 1')
    expect(() => pawl.work([echo], { name: '' })).toThrow('A worker needs a name')
    expect((await pawl.list()).jobs).toEqual([])
  })
})

describe('a definition that makes no sense', () => {
  it('is refused where it is written', () => {
    const run = nothing
    expect(() => job('', { run })).toThrow('needs a name')
    expect(() => job('x', {} as never)).toThrow('no handler')
    expect(() => job('x', { run, lease: 0 })).toThrow('leaseMs')
    expect(() => job('x', { run, retry: { max: -1 } })).toThrow('retry')
    expect(() => job('x', { run, version: 3, upgrades: { 1: run } })).toThrow('upgrades[2]')
    expect(() => job('x', { run, version: 0 })).toThrow('from 1')
    expect(() => batchJob('x', { max: 0, run: () => [] })).toThrow('from 1')
    expect(() => batchJob('x', { max: 1 } as never)).toThrow('no handler')
    expect(() => effect('x', {} as never)).toThrow('does nothing')
    expect(() => effect('x', { run, retry: { max: -1 } })).toThrow('max')
  })
})

describe('an engine on a directory', () => {
  it('is there again after it was closed, with all that it was given', async () => {
    const folder = await temporaryFolder()
    const first = await openPawl(folder)
    const handle = await first.submit(echo, 'a', { key: 'k' })
    await first.close()
    const pawl = await openPawl(folder)
    const again = await pawl.submit(echo, 'a', { key: 'k' })
    expect(again.id).toBe(handle.id)
    pawl.work([echo])
    expect(await again.result()).toBe('a')
    await pawl.close()
  })

  it('is copied while it works, and the copy opens as an engine', async () => {
    const folder = await temporaryFolder()
    const pawl = await openPawl(`${folder}/a`)
    const handle = await pawl.submit(echo, 'a')
    await pawl.backup(`${folder}/b`)
    await pawl.close()
    const copy = await openPawl(`${folder}/b`)
    copy.work([echo])
    expect(await copy.handle(handle.id, echo).result()).toBe('a')
    await copy.close()
  })

  it('forgets jobs that were kept long enough, by itself', async () => {
    const folder = await temporaryFolder()
    const pawl = await openPawl(folder, { retention: { count: 2 } })
    pawl.work([echo])
    const handles = await pawl.submitMany(
      echo,
      ['a', 'b', 'c', 'd'].map((input) => ({ input })),
    )
    await Promise.all(handles.map((handle) => handle.result().catch(() => null)))
    await expect.poll(async () => (await pawl.list()).jobs.length).toBe(2)
    await pawl.close()
  })

  it('refuses a place that it cannot keep jobs in, and says which it can', async () => {
    await expect(openPawl('ftp://localhost/x')).rejects.toThrow("'./data'")
    await expect(openPawl('')).rejects.toMatchObject({ code: 'InvalidDefinition' })
  })
})
