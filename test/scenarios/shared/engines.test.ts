/**
 * Engines that share a database. Here they are in one process, and know nothing of each other:
 * all that they hear comes by the database.
 *
 * Workers do not look by themselves: whatever they take, they were told of.
 */
import { describe, expect, it } from 'vitest'
import { recorded } from '../../support/history.ts'
import type { Entry, Handle, Pawl } from '../../../src/index.ts'
import { job, pipeline, typed } from '../../../src/index.ts'
import { deferred } from '../../support/engines.ts'
import { engineAt, SHARED, twoEngines } from './places.ts'

const NEVER = { poll: '1h' } as const

const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })

async function historyOf(pawl: Pawl, id: string): Promise<Entry['type'][]> {
  return recorded(await pawl.history(id)).map(({ entry }) => entry.type)
}

describe.each(Object.keys(SHARED))('engines that share a database: %s', (name) => {
  it('one submits, the other works, and both have the result', async () => {
    const [here, there] = await twoEngines(name)
    there.work([echo], NEVER)
    const handle = await here.submit(echo, 42)
    expect(await handle.result()).toBe(42)
    expect(await there.handle(handle.id, echo).result()).toBe(42)
    const many = await here.submitMany(
      echo,
      Array.from({ length: 50 }, (_, input) => ({ input })),
    )
    const results = await Promise.all(many.map((one) => one.result()))
    expect(results).toEqual(Array.from({ length: 50 }, (_, i) => i))
    expect([...here.errors, ...there.errors]).toEqual([])
  })

  it('who waits hears of every way in which a job ends', async () => {
    const [here, there] = await twoEngines(name)
    const broken = job('broken', {
      input: typed<string>(),
      retry: { max: 0 },
      run: ({ input }) => {
        throw new Error(input)
      },
    })
    const givenUp = await here.submit(broken, 'no', {})
    const cancelled = await here.submit(echo, 1, { hold: true })
    const ends = Promise.allSettled([givenUp.result(), cancelled.result()])
    there.work([broken], NEVER)
    await there.cancel(cancelled.id, { by: 'ann', reason: 'enough' })
    expect((await ends).map((one) => (one as PromiseRejectedResult).reason.code)).toEqual([
      'JobQuarantined',
      'JobWasCancelled',
    ])
    await here.discard(givenUp.id)
    await expect(there.handle(givenUp.id).result()).rejects.toMatchObject({
      code: 'JobWasCancelled',
    })
    await expect(there.handle('nobody').result()).rejects.toMatchObject({ code: 'UnknownJob' })
  })

  it('a cancel reaches a handler that runs elsewhere, long before its lease is renewed', async () => {
    const [here, there] = await twoEngines(name)
    const begun = deferred()
    const stopped = deferred<unknown>()
    const long = job('long', {
      lease: '1h',
      run: ({ signal }) => {
        begun.resolve()
        return new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped.resolve(signal.reason)
            reject(signal.reason as Error)
          })
        })
      },
    })
    there.work([long], NEVER)
    const handle = await here.submit(long)
    await begun.promise
    await handle.cancel({ by: 'ann' })
    expect(await stopped.promise).toMatchObject({ code: 'Aborted', reason: 'cancelled' })
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobWasCancelled' })
    expect(there.errors).toEqual([])
  })

  it('a queue that one of them pauses is paused for all, until it is resumed', async () => {
    const [here, there] = await twoEngines(name)
    await here.pause('default', { by: 'ann' })
    there.work([echo], NEVER)
    const handle = await there.submit(echo, 1)
    const { reasons } = await there.explain(handle.id)
    expect(reasons.map(({ what }) => what)).toEqual(['queue-paused'])
    await here.resume('default')
    expect(await handle.result()).toBe(1)
  })

  it('what waits for its time is taken when it comes', async () => {
    const [here, there] = await twoEngines(name)
    let attempts = 0
    const second = job('second', {
      retry: { max: 1, delay: '30ms' },
      run: () => {
        attempts += 1
        if (attempts === 1) throw new Error('not yet')
        return attempts
      },
    })
    there.work([echo, second], NEVER)
    const later = await here.submit(echo, 5, { delay: '600ms' })
    const again = await here.submit(second)
    expect(await again.result()).toBe(2)
    expect(await later.result()).toBe(5)
  })

  it('what waits for a limit that another one holds is taken when there is room', async () => {
    const [here, there] = await twoEngines(name)
    const limits = [{ key: 'one', concurrency: 1 }]
    const [held, begun] = [deferred(), deferred()]
    const first = job('first', {
      limits,
      run: async () => {
        begun.resolve()
        await held.promise
      },
    })
    const next = job('next', { limits, run: () => 'after it' })
    here.work([first], NEVER)
    there.work([next], NEVER)
    const one = await here.submit(first)
    await begun.promise
    const two = await here.submit(next)
    const { reasons } = await there.explain(two.id)
    expect(reasons.map(({ what }) => what)).toEqual(['limit'])
    held.resolve()
    await one.result()
    expect(await two.result()).toBe('after it')
  })

  it('a rate lets the next one through when its time has come, whoever took the first', async () => {
    const [here, there] = await twoEngines(name)
    await here.configure('default', { rate: { count: 1, per: '200ms' } })
    here.work([echo], NEVER)
    there.work([echo], NEVER)
    const handles = await here.submitMany(
      echo,
      [1, 2, 3].map((input) => ({ input })),
    )
    expect(await Promise.all(handles.map((one) => one.result()))).toEqual([1, 2, 3])
  })

  it('stages of a pipeline are opened by either of them, once', async () => {
    const [here, there] = await twoEngines(name)
    const who: string[] = []
    const made = (by: string): typeof sum => sumAs(by, who)
    const sum = sumAs('here', who)
    here.work([made('here')], { ...NEVER, concurrency: 2 })
    there.work([made('there')], { ...NEVER, concurrency: 2 })
    const results = await Promise.all(
      Array.from({ length: 5 }, () => here.submit(sum, 10).then((one) => one.result())),
    )
    expect(results).toEqual(Array.from({ length: 5 }, () => 90))
    const { jobs } = await there.list({ type: 'sum' })
    for (const { id } of jobs) {
      const types = await historyOf(there, id)
      expect(types.filter((type) => type === 'StageOpened')).toHaveLength(3)
      expect(types.filter((type) => type === 'ExecutionCommitted')).toHaveLength(12)
    }
    expect(new Set(who)).toEqual(new Set(['here', 'there']))
    expect([...here.errors, ...there.errors]).toEqual([])
  })

  it('a pipeline that is submitted by one that goes away at once is begun by another', async () => {
    const place = await (SHARED[name] as (typeof SHARED)[string])()
    const there = await engineAt(place)
    const sum = sumAs('there', [])
    there.work([sum], NEVER)
    const here = await engineAt(place)
    const { id } = await here.submit(sum, 3)
    await here.close()
    expect(await there.handle(id, sum).result()).toBe(6)
  })

  it('a time of a schedule has one job, however many look', async () => {
    const place = await (SHARED[name] as (typeof SHARED)[string])()
    const engines = await Promise.all([1, 2, 3].map(() => engineAt(place)))
    const ran: string[] = []
    const tick = job('tick', { run: ({ job: { id } }) => void ran.push(id) })
    for (const engine of engines) engine.work([tick], NEVER)
    const [first, second] = engines as unknown as [Pawl, Pawl]
    await first.schedule('often', { every: '1s', job: tick })
    await expect.poll(() => ran.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(2)
    await second.scheduleHandle('often').remove()
    expect(new Set(ran).size).toBe(ran.length)
    const fired: number[] = []
    const submitted: Handle['id'][] = []
    for await (const { entry } of second.watch()) {
      if (entry.type === 'JobSubmitted') submitted.push(entry.job)
      if (entry.type === 'ScheduleFired') fired.push(entry.tick)
      if (entry.type === 'ScheduleRemoved') break
    }
    expect(new Set(fired).size).toBe(fired.length)
    expect(new Set(submitted).size).toBe(submitted.length)
    expect(engines.flatMap(({ errors }) => errors)).toEqual([])
  })

  it('what one writes the other watches, in order', async () => {
    const [here, there] = await twoEngines(name)
    const seen: Entry['type'][] = []
    const watching = (async () => {
      for await (const { entry } of there.watch()) {
        seen.push(entry.type)
        if (entry.type === 'ExecutionCommitted') return
      }
    })()
    here.work([echo], NEVER)
    await (await here.submit(echo, 1)).result()
    await watching
    expect(seen).toEqual(['JobSubmitted', 'LeaseGranted', 'ExecutionCommitted'])
  })

  it('is well although its jobs are worked on elsewhere', async () => {
    const place = await (SHARED[name] as (typeof SHARED)[string])()
    const here = await engineAt(place, { unservedAfter: 1 })
    const there = await engineAt(place)
    const begun = deferred()
    const held = deferred()
    const slow = job('slow', {
      run: async () => {
        begun.resolve()
        await held.promise
      },
    })
    there.work([slow], { ...NEVER, concurrency: 1 })
    const handles = await here.submitMany(slow, [{}, {}, {}])
    await begun.promise
    // The round before may have been over when nobody had taken one.
    await expect.poll(async () => (await here.health()).unserved).toEqual([])
    held.resolve()
    await Promise.all(handles.map((one) => one.result()))
    const nobody = await here.submit(echo, 1)
    await expect
      .poll(async () => (await here.health()).unserved.map(({ type }) => type))
      .toEqual(['echo'])
    expect((await here.explain(nobody.id)).reasons[0]?.message).toContain('No worker takes')
    await there.pause('default')
    await expect.poll(async () => (await here.health()).unserved).toEqual([])
  })
})

/** Adds up twice what is below a number, segment by segment. */
function sumAs(by: string, who: string[]) {
  return pipeline('sum', { input: typed<number>() })
    .stage('split', { run: ({ input }) => Array.from({ length: input }, (_, i) => i) })
    .stage('double', {
      after: 'split',
      each: 'split',
      run: async ({ segment }) => {
        who.push(by)
        await new Promise((resolve) => setTimeout(resolve, 5))
        return segment * 2
      },
    })
    .stage('join', {
      after: 'double',
      run: async ({ outputs }) => {
        let sum = 0
        for await (const { output } of outputs.double) sum += output
        return sum
      },
    })
}
