/** Queues, as they are asked for; limits, as handlers feel them. */
import { describe, expect, it } from 'vitest'
import { deferred, ENGINES } from '../../../test/support/engines.ts'
import { job, typed } from '../../index.ts'

describe.each(ENGINES)('a queue, %s', (_name, open) => {
  it('says whether it is paused, what bounds it, what runs and what waits', async () => {
    const pawl = await open()
    const [began, release] = [deferred(), deferred()]
    const mail = job('mail', {
      queue: 'mail',
      run: async () => {
        began.resolve()
        await release.promise
      },
    })
    expect(await pawl.queue('mail')).toMatchObject({
      name: 'mail',
      pausedAt: null,
      concurrency: null,
      rate: null,
      ageingMs: null,
      running: 0,
      ready: 0,
      holders: [],
    })
    const rate = { count: 9, per: '1m' } as const
    await pawl.configure('mail', { concurrency: 1, rate, ageing: '10m' })
    const first = await pawl.submit(mail, undefined, { id: 'first' })
    const second = await pawl.submit(mail)
    await pawl.submit(mail, undefined, { delay: '1h' })
    const worker = pawl.work([mail], { concurrency: 5 })
    await began.promise
    expect(await pawl.queue('mail')).toMatchObject({
      concurrency: 1,
      rate: { count: 9, perMs: 60_000 },
      ageingMs: 600_000,
      running: 1,
      ready: 1,
      nextAt: null,
      holders: [{ job: 'first', worker: worker.name }],
    })
    await pawl.pause('mail')
    expect((await pawl.queue('mail')).pausedAt).toBeInstanceOf(Date)
    release.resolve()
    await first.result()
    await pawl.resume('mail')
    await second.result()
    const after = await pawl.queue('mail')
    expect(after).toMatchObject({ pausedAt: null, running: 0, ready: 0 })
    expect(after.nextAt).toBeInstanceOf(Date)
    await pawl.configure('mail', {})
    expect(await pawl.queue('mail')).toMatchObject({
      concurrency: null,
      rate: null,
      ageingMs: null,
    })
  })

  it('is asked for in its own words: an ageing that is none is refused', async () => {
    const pawl = await open()
    await expect(pawl.configure('mail', { ageing: 'soon' as '1s' })).rejects.toThrow(
      'The ageing of mail',
    )
    await expect(pawl.configure('mail', { ageing: 0 })).rejects.toThrow('ageingMs')
  })

  it('has no more handlers of a key at once than its limit says, whatever else runs', async () => {
    const pawl = await open()
    const running = new Map<string, number>()
    let most = 0
    const work = job('work', {
      input: typed<string>(),
      run: async ({ input }) => {
        const now = (running.get(input) ?? 0) + 1
        running.set(input, now)
        most = Math.max(most, now)
        await new Promise((resolve) => setImmediate(resolve))
        running.set(input, (running.get(input) ?? 0) - 1)
      },
    })
    const handles = await pawl.submitMany(
      work,
      Array.from({ length: 200 }, (_, i) => {
        const tenant = `tenant ${i % 7}`
        return {
          input: tenant,
          options: { group: tenant, limits: [{ key: tenant, concurrency: 2 }] },
        }
      }),
    )
    pawl.work([work], { concurrency: 16 })
    pawl.work([work], { concurrency: 16 })
    await Promise.all(handles.map((handle) => handle.result()))
    expect(most).toBe(2)
  })
})
