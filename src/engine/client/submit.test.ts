import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../../test/support/engines.ts'
import type { StandardSchema } from '../../index.ts'
import { job, typed } from '../../index.ts'

const order: string[] = []
const note = job('note', {
  input: typed<{ name: string }>(),
  run: ({ input }) => {
    order.push(input.name)
    return input.name
  },
})

/** A number in text, as a form sends it. */
const amount: StandardSchema<{ cents: string }, { cents: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (given) => {
      const { cents } = given as { cents: string }
      const number = Number(cents)
      return Number.isInteger(number)
        ? { value: { cents: number } }
        : { issues: [{ message: 'must be a whole number', path: ['cents'] }] }
    },
  },
}

describe.each(ENGINES)('submitting %s', (_, open) => {
  it('under an id that is known, the same job again is the same job', async () => {
    const pawl = await open()
    const first = await pawl.submit(note, { name: 'a' }, { id: 'one' })
    const again = await pawl.submit(note, { name: 'a' }, { id: 'one' })
    expect([first.id, again.id]).toEqual(['one', 'one'])
    const other = pawl.submit(note, { name: 'b' }, { id: 'one' })
    await expect(other).rejects.toMatchObject({ code: 'IdReused', rejection: { code: 'IdReused' } })
    expect((await pawl.list()).jobs).toHaveLength(1)
  })

  it('with a key that is known gives the job that has it', async () => {
    const pawl = await open()
    const first = await pawl.submit(note, { name: 'a' }, { key: 'k' })
    const again = await pawl.submit(note, { name: 'a' }, { key: 'k' })
    expect(again.id).toBe(first.id)
    const other = pawl.submit(note, { name: 'b' }, { key: 'k' })
    await expect(other).rejects.toMatchObject({ rejection: { code: 'KeyReused' } })
  })

  it('with a unique key gives the job that has it, until that is over', async () => {
    const pawl = await open()
    const first = await pawl.submit(note, { name: 'a' }, { key: 'k', unique: true })
    const second = await pawl.submit(note, { name: 'b' }, { key: 'k', unique: true })
    expect(second.id).toBe(first.id)
    pawl.work([note])
    await first.result()
    const third = await pawl.submit(note, { name: 'c' }, { key: 'k', unique: true })
    expect(third.id).not.toBe(first.id)
  })

  it('with priorities, the larger one runs first', async () => {
    const pawl = await open()
    const handles = await pawl.submitMany(note, [
      { input: { name: 'low' }, options: { priority: -5 } },
      { input: { name: 'middle' } },
      { input: { name: 'high' }, options: { priority: 5 } },
    ])
    order.length = 0
    pawl.work([note], { concurrency: 1 })
    await Promise.all(handles.map((handle) => handle.result()))
    expect(order).toEqual(['high', 'middle', 'low'])
  })

  it('with a delay or a time, it is not run before', async () => {
    const pawl = await open()
    const delayed = await pawl.submit(note, { name: 'a' }, { delay: '1h' })
    const timed = await pawl.submit(note, { name: 'b' }, { at: new Date(Date.now() + 3_600_000) })
    const soon = await pawl.submit(note, { name: 'c' }, { delay: 30 })
    pawl.work([note])
    await soon.result()
    expect(await delayed.state()).toBe('CREATED')
    expect(await timed.state()).toBe('CREATED')
    const info = await soon.info()
    const started = info.executions[0]?.leasedAt.getTime() ?? 0
    expect(started - info.submittedAt.getTime()).toBeGreaterThanOrEqual(30)
  })

  it('with startWithin, it fails if no worker takes it in time', async () => {
    const pawl = await open()
    const handle = await pawl.submit(note, { name: 'a' }, { startWithin: 20 })
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobFailed' })
    expect((await handle.info()).attempt).toBe(0)
  })

  it('with hold, it waits until it is released', async () => {
    const pawl = await open()
    pawl.work([note])
    const held = await pawl.submit(note, { name: 'a' }, { hold: true })
    await (await pawl.submit(note, { name: 'b' })).result()
    expect(await held.state()).toBe('CREATED')
    await pawl.release(held.id)
    expect(await held.result()).toBe('a')
  })

  it('to another queue, only workers of that queue take it', async () => {
    const pawl = await open()
    const handle = await pawl.submit(note, { name: 'a' }, { queue: 'slow' })
    pawl.work([note])
    await (await pawl.submit(note, { name: 'b' })).result()
    expect(await handle.state()).toBe('QUEUED')
    pawl.work([note], { queues: ['slow'] })
    expect(await handle.result()).toBe('a')
  })

  it('keeps its tags when the caller changes the list that it gave', async () => {
    const pawl = await open()
    const tags = ['red']
    const submitting = pawl.submit(note, { name: 'a' }, { tags })
    tags.push('blue')
    const { id } = await submitting
    expect((await pawl.get(id))?.tags).toEqual(['red'])
  })

  it('with tags and a group, jobs are found by them', async () => {
    const pawl = await open()
    const { id } = await pawl.submit(note, { name: 'a' }, { tags: ['red', 'big'], group: 'acme' })
    await pawl.submit(note, { name: 'b' }, { tags: ['blue'] })
    const ids = async (filter: object): Promise<string[]> =>
      (await pawl.list(filter)).jobs.map((one) => one.id)
    expect(await ids({ tag: 'red' })).toEqual([id])
    expect(await ids({ group: 'acme' })).toEqual([id])
    expect(await ids({ tag: 'green' })).toEqual([])
  })

  it('with a limit, no more than that run at once', async () => {
    const pawl = await open()
    let running = 0
    let most = 0
    const slow = job('slow', {
      run: async () => {
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setTimeout(resolve, 5))
        running -= 1
      },
    })
    const limits = [{ key: 'api', concurrency: 2 }]
    const handles = await pawl.submitMany(
      slow,
      Array.from({ length: 8 }, () => ({ input: undefined, options: { limits } })),
    )
    pawl.work([slow], { concurrency: 8 })
    await Promise.all(handles.map((handle) => handle.result()))
    expect(most).toBe(2)
  })
})

describe.each(ENGINES)('submitting many %s', (_, open) => {
  it('submits none if an input does not fit', async () => {
    const pawl = await open()
    const pay = job('pay', { input: amount, run: ({ input }) => input.cents })
    const some = pawl.submitMany(pay, [{ input: { cents: '1' } }, { input: { cents: 'x' } }])
    await expect(some).rejects.toMatchObject({ code: 'InvalidValue' })
    expect((await pawl.list()).jobs).toEqual([])
  })

  it('submits all but the one that is refused, and says which', async () => {
    const pawl = await open()
    await pawl.submit(note, { name: 'a' }, { id: 'taken' })
    const some = pawl.submitMany(note, [
      { input: { name: 'b' }, options: { id: 'free' } },
      { input: { name: 'c' }, options: { id: 'taken' } },
    ])
    await expect(some).rejects.toThrow('Job taken')
    expect((await pawl.list()).jobs.map(({ id }) => id)).toEqual(['taken', 'free'])
  })

  it('takes more than fit into one call of the store', async () => {
    const pawl = await open()
    const inputs = Array.from({ length: 2_500 }, (__, i) => ({ input: { name: `${i}` } }))
    const handles = await pawl.submitMany(note, inputs)
    expect(new Set(handles.map(({ id }) => id)).size).toBe(2_500)
    expect(await pawl.submitMany(note, [])).toEqual([])
  })
})

describe.each(ENGINES)('an input %s', (_, open) => {
  it('goes through its schema before it is stored, and again before it is used', async () => {
    const pawl = await open()
    const pay = job('pay', { input: amount, run: ({ input }) => input.cents + 1 })
    pawl.work([pay])
    const handle = await pawl.submit(pay, { cents: '41' })
    expect(await handle.result()).toBe(42)
    expect((await handle.info()).input).toEqual({ cents: '41' })
    await expect(pawl.submit(pay, { cents: 'x' })).rejects.toMatchObject({
      code: 'InvalidValue',
      issues: [{ path: 'cents', message: 'must be a whole number' }],
    })
    expect((await pawl.list()).jobs).toHaveLength(1)
  })

  it('that JSON cannot carry is refused with its path, and nothing is submitted', async () => {
    const pawl = await open()
    const any = job('any', { input: typed<unknown>(), run: () => null })
    const bad = pawl.submit(any, { list: [1, { big: 10n }] })
    await expect(bad).rejects.toMatchObject({ code: 'UnserializableValue' })
    await expect(bad).rejects.toThrow('input.list[1].big')
    expect((await pawl.list()).jobs).toEqual([])
  })

  it('of an older version is upgraded step by step', async () => {
    const pawl = await open()
    const v1 = job('greet', { input: typed<string>(), run: () => '' })
    const handle = await pawl.submit(v1, 'ann')
    const v3 = job('greet', {
      version: 3,
      input: typed<{ name: string; loud: boolean }>(),
      upgrades: {
        1: (name) => ({ name }),
        2: (old) => ({ ...(old as object), loud: true }),
      },
      run: ({ input }) => (input.loud ? input.name.toUpperCase() : input.name),
    })
    pawl.work([v3])
    expect(await pawl.handle(handle.id, v3).result()).toBe('ANN')
  })

  it('of a newer version than the worker knows waits for one that knows it', async () => {
    const pawl = await open()
    const v2 = job('greet', {
      version: 2,
      upgrades: { 1: (input) => input },
      input: typed<string>(),
      run: () => 'new',
    })
    const v1 = job('greet', { retry: { max: 0 }, input: typed<string>(), run: () => 'old' })
    const handle = await pawl.submit(v2, 'ann', {})
    const old = pawl.work([v1])
    await expect.poll(async () => (await handle.info()).executions).toHaveLength(1)
    await old.stop()
    // Its worker has stopped, and so it was given back.
    expect(await handle.info()).toMatchObject({ state: 'QUEUED', error: null })
    pawl.work([v2])
    expect(await handle.result()).toBe('new')
  })
})
