import { describe, expect, it, onTestFinished } from 'vitest'
import { child, effect, job, open, TerminalError, typed } from '../index.ts'
import type { Pawl, StandardSchema } from '../index.ts'

async function memory(): Promise<Pawl> {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  return pawl
}

const double = job('double', {
  input: typed<{ n: number }>(),
  run: ({ input }) => input.n * 2,
})

describe('a job', () => {
  it('is submitted, run, and its result is given to the caller that waits', async () => {
    const pawl = await memory()
    const handle = await pawl.submit(double, { n: 21 })
    expect(await handle.state()).toBe('QUEUED')
    pawl.work([double])
    expect(await handle.result()).toBe(42)
    expect(await handle.state()).toBe('SUCCEEDED')
    expect(await pawl.handle(handle.id, double).result()).toBe(42)
  })

  it('that returns nothing results in null', async () => {
    const pawl = await memory()
    const quiet = job('quiet', { run: async () => undefined })
    pawl.work([quiet])
    const handle = await pawl.submit(quiet)
    expect(await handle.result()).toBeNull()
  })

  it('that returns null, or what JSON makes of it, results in that', async () => {
    const pawl = await memory()
    const maybe = job('maybe', {
      input: typed<string | undefined>(),
      run: ({ input }): string | null => (input === undefined ? 'nothing' : null),
    })
    pawl.work([maybe])
    expect(await (await pawl.submit(maybe, 'x')).result()).toBeNull()
  })

  it('whose schema takes nothing, but not null, gets nothing', async () => {
    const pawl = await memory()
    const optional: StandardSchema<string | undefined> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          value === undefined || typeof value === 'string'
            ? { value }
            : { issues: [{ message: 'must be text, or nothing' }] },
      },
    }
    const maybe = job('maybe', { input: optional, run: ({ input }) => input ?? 'nothing' })
    pawl.work([maybe])
    expect(await (await pawl.submit(maybe, undefined)).result()).toBe('nothing')
  })

  it('that throws is tried again, and the record says why', async () => {
    const pawl = await memory()
    let calls = 0
    const flaky = job('flaky', {
      retry: { max: 2, delay: 0 },
      run: () => {
        calls += 1
        if (calls < 3) throw new Error(`no ${calls}`)
        return 'yes'
      },
    })
    pawl.work([flaky])
    const handle = await pawl.submit(flaky)
    expect(await handle.result()).toBe('yes')
    const info = await handle.info()
    expect(info.attempt).toBe(3)
    expect(info.retryCount).toBe(2)
  })

  it('that used up its retries waits for an operator, who can retry it', async () => {
    const pawl = await memory()
    let isFixed = false
    const broken = job('broken', {
      retry: { max: 1, delay: 0 },
      run: () => {
        if (!isFixed) throw new Error('broken')
        return 'fixed'
      },
    })
    pawl.work([broken])
    const handle = await pawl.submit(broken)
    await expect(handle.result()).rejects.toMatchObject({
      code: 'JobQuarantined',
      failure: { message: 'broken' },
    })
    isFixed = true
    await pawl.retry(handle.id, { by: 'ann', reason: 'deployed a fix' })
    expect(await handle.result()).toBe('fixed')
  })

  it('that throws a TerminalError fails at once', async () => {
    const pawl = await memory()
    const doomed = job('doomed', {
      run: () => {
        throw new TerminalError('never', { code: 'Never' })
      },
    })
    pawl.work([doomed])
    const handle = await pawl.submit(doomed)
    await expect(handle.result()).rejects.toMatchObject({
      code: 'JobFailed',
      failure: { code: 'Never', type: 'TERMINAL' },
    })
    const again = await pawl.rerun(handle.id)
    expect((await again.info()).rerunOf).toBe(handle.id)
  })
})

describe('a commit', () => {
  it('promises effects and children, which are carried out after it', async () => {
    const pawl = await memory()
    const mails: { to: string; key: string }[] = []
    const mail = effect('mail', {
      input: typed<{ to: string }>(),
      idempotent: true,
      run: ({ to }, { key }) => mails.push({ to, key }),
    })
    const order = job('order', {
      input: typed<{ n: number }>(),
      effects: [mail],
      run: ({ input, commit }) =>
        commit({ total: input.n }, [mail({ to: 'a@b.c' })], [child(double, { n: input.n })]),
    })
    pawl.work([order, double])
    const handle = await pawl.submit(order, { n: 4 })
    const result = await handle.result()
    expect(result.total).toBe(4)
    expect(mails).toEqual([{ to: 'a@b.c', key: `${handle.id}/0/0/0` }])
    const { jobs } = await pawl.list({ type: 'double' })
    expect(jobs).toHaveLength(1)
    expect(await pawl.handle(jobs[0]?.id ?? '', double).result()).toBe(8)
  })
})
