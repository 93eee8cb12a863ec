/** What listeners hear of jobs: each event once, in order, of the whole store. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { deferred, EVERY_ENGINE } from '../../../test/support/engines.ts'
import { engineAt, SHARED } from '../../../test/scenarios/shared/places.ts'
import type { SharedPlace } from '../../../test/scenarios/shared/places.ts'
import type { JobEvent } from '../../index.ts'
import { job, open, pipeline, TerminalError, typed } from '../../index.ts'
import { JOB_EVENTS } from './job-events.ts'

const good = job('good', { run: () => 'fine' })
const bad = job('bad', {
  retry: { max: 1, delay: 0 },
  run: () => Promise.reject(new Error('no')),
})
const wrong = job('wrong', {
  quarantine: 'never',
  run: () => {
    throw new TerminalError('never')
  },
})
const film = pipeline('film', { input: typed<number[]>() })
  .stage('each', { each: 'input', run: ({ segment }) => segment })
  .stage('sum', { after: 'each', run: () => 0 })

function heardOf(heard: readonly JobEvent[], id: string): string[] {
  return heard.filter(({ job: one }) => one === id).map(({ event }) => event)
}

describe.each(EVERY_ENGINE)('listeners %s', (_, openEngine) => {
  it('hear what happens to jobs, with the error and in order, from now on', async () => {
    const pawl = await openEngine()
    const earlier = await pawl.submit(good)
    const heard: JobEvent[] = []
    await pawl.on(JOB_EVENTS, (event) => heard.push(event))
    pawl.work([good, bad, wrong, film], { signals: [] })
    const ids = [
      (await pawl.submit(good)).id,
      (await pawl.submit(bad)).id,
      (await pawl.submit(wrong)).id,
      (await pawl.submit(film, [1, 2])).id,
      (await pawl.submit(good, undefined, { delay: '1h' })).id,
    ]
    await pawl.cancel(ids[4] as string)
    await expect.poll(() => heardOf(heard, ids[1] as string).at(-1)).toBe('quarantined')
    await expect.poll(() => heardOf(heard, ids[2] as string).at(-1)).toBe('failed')
    await expect.poll(() => heardOf(heard, ids[3] as string).at(-1)).toBe('completed')
    await expect.poll(() => heardOf(heard, ids[4] as string).at(-1)).toBe('cancelled')
    await expect.poll(() => heardOf(heard, earlier.id).at(-1)).toBe('completed')
    expect(heardOf(heard, earlier.id)).toEqual(['started', 'completed'])
    expect(heardOf(heard, ids[0] as string)).toEqual(['submitted', 'started', 'completed'])
    expect(heardOf(heard, ids[1] as string)).toEqual([
      'submitted',
      'started',
      'retrying',
      'started',
      'quarantined',
    ])
    expect(heardOf(heard, ids[4] as string)).toEqual(['submitted', 'cancelled'])
    const retried = heard.find(({ event }) => event === 'retrying')
    expect(retried).toMatchObject({ type: 'bad', error: { message: 'no' } })
    const positions = heard.map(({ position }) => position as number)
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  })

  it('hear only what they asked for, and go on behind a position', async () => {
    const pawl = await openEngine()
    pawl.work([good, bad], { signals: [] })
    const heard: JobEvent[] = []
    const stop = await pawl.on('completed', (event) => heard.push(event), { type: 'good' })
    await (await pawl.submit(good, undefined, { id: 'a' })).result()
    await expect.poll(() => heard.length).toBe(1)
    await stop()
    for (const id of ['b', 'c']) await (await pawl.submit(good, undefined, { id })).result()
    await expect((await pawl.submit(bad)).result()).rejects.toThrow()
    expect(heard).toHaveLength(1)
    const from = heard[0]?.position as number
    await pawl.on(['completed'], (event) => heard.push(event), { from, type: ['good'] })
    await expect.poll(() => heard.map(({ job: id }) => id)).toEqual(['a', 'b', 'c'])
  })
})

const listener = (): void => undefined

describe('a listener', () => {
  it('that throws is told of, and hears the next event; one that waits is waited for', async () => {
    const errors: unknown[] = []
    const pawl = await open('memory:', { onError: (error) => errors.push(error) })
    onTestFinished(() => pawl.close())
    const heard: string[] = []
    await pawl.on('submitted', async ({ job: id }) => {
      if (id === 'a') throw new Error('once')
      heard.push(`begin ${id}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
      heard.push(`end ${id}`)
    })
    for (const id of ['a', 'b', 'c']) await pawl.submit(good, undefined, { id })
    await expect.poll(() => heard).toEqual(['begin b', 'end b', 'begin c', 'end c'])
    expect(errors).toMatchObject([{ message: 'once' }])
  })

  it('is refused if there is no such event, no such option, or nothing to call', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    await expect(pawl.on('done' as never, listener)).rejects.toThrow(/no event 'done': there are/)
    await expect(pawl.on('failed', 'x' as never)).rejects.toThrow(/takes a function/)
    await expect(pawl.on('failed', listener, { typ: 'a' } as never)).rejects.toThrow(/type/)
    await expect(pawl.on('failed', listener, { from: -1 })).rejects.toThrow(/whole number from 0/)
  })
})

describe.each(Object.keys(SHARED))('on %s', (name) => {
  it('a listener hears which tasks stall in other processes, of its types only', async () => {
    const place = await (SHARED[name] as () => Promise<SharedPlace>)()
    const [here, there] = [await engineAt(place), await engineAt(place)]
    const heard: JobEvent[] = []
    const others: JobEvent[] = []
    await here.on('stalled', (event) => heard.push(event), { type: 'silent' })
    await here.on(['stalled', 'completed'], (event) => others.push(event), { type: 'good' })
    const gate = deferred()
    const silent = job('silent', { stalled: { after: 100 }, run: () => gate.promise })
    there.work([silent], { signals: [] })
    const { id } = await there.submit(silent)
    await expect.poll(() => heard.length).toBe(1)
    expect(heard[0]).toMatchObject({ event: 'stalled', job: id, type: 'silent', position: null })
    expect(others).toEqual([])
    gate.resolve()
  })

  it('a listener hears what other processes do', async () => {
    const place = await (SHARED[name] as () => Promise<SharedPlace>)()
    const [left, right] = [await engineAt(place), await engineAt(place)]
    const heard: JobEvent[] = []
    await left.on('completed', (event) => heard.push(event))
    right.work([good], { signals: [] })
    const { id } = await right.submit(good)
    await expect.poll(() => heardOf(heard, id), { timeout: 5_000 }).toEqual(['completed'])
  })
})
