/** Functions of the user's around handlers and effects. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, it, onTestFinished } from 'vitest'
import type { HandlerRun, Middleware, Pawl } from '../../index.ts'
import { batchJob, effect, job, open, typed } from '../../index.ts'

async function inMemory(errors: unknown[] = []): Promise<Pawl> {
  const pawl = await open('memory:', { onError: (error) => errors.push(error) })
  onTestFinished(() => pawl.close())
  return pawl
}

const log = effect('log', { input: typed<string>(), idempotent: true, run: () => undefined })

const handler = (end: string): string[] => ['a handler', 'b handler', `b ${end}`, `a ${end}`]

it('they see each run of a handler and of its effects, and how it ended, the first of them outermost', async () => {
  const pawl = await inMemory()
  const seen: string[] = []
  const runs: HandlerRun[] = []
  const named =
    (name: string): Middleware =>
    async (run, next) => {
      if (name === 'a') runs.push(run)
      seen.push(`${name} ${run.effect ?? 'handler'}`)
      const { isDone, error } = await next()
      seen.push(`${name} ${isDone ? 'done' : (error?.message ?? '')}`)
    }
  const twice = job('twice', {
    effects: [log],
    retry: { max: 1, delay: 0 },
    run: ({ job: { attempt }, commit }) => {
      if (attempt === 1) throw new Error('not yet')
      return commit(7, [log('x')])
    },
  })
  pawl.work([twice], { signals: [], use: [named('a'), named('b')] })
  const handle = await pawl.submit(twice, undefined, { metadata: { trace: 't' } })
  expect(await handle.result()).toBe(7)
  await expect.poll(() => seen.length).toBe(12)
  expect(seen).toEqual([
    ...handler('not yet'),
    ...handler('done'),
    'a log',
    'b log',
    'b done',
    'a done',
  ])
  expect(runs).toMatchObject([
    { job: { id: handle.id, type: 'twice' }, attempt: 1, effect: null, metadata: { trace: 't' } },
    { attempt: 2 },
    { effect: 'log', attempt: null, stage: null, metadata: { trace: 't' } },
  ])
})

it('a handler runs in their asynchronous context', async () => {
  const pawl = await inMemory()
  const spans = new AsyncLocalStorage<string>()
  const traced = job('traced', { run: () => spans.getStore() ?? 'none' })
  const all = batchJob('all', { max: 5, run: (items) => items.map(({ input }) => input ?? 0) })
  const use: Middleware[] = [({ job: { type } }, next) => spans.run(`span of ${type}`, next)]
  pawl.work([traced, all], { signals: [], use })
  expect(await (await pawl.submit(traced)).result()).toBe('span of traced')
  expect(await (await pawl.submit(all)).result()).toBe(0)
})

it('what one throws before the handler fails the attempt; after it, the job goes on and it is told', async () => {
  const errors: unknown[] = []
  const pawl = await inMemory(errors)
  let ran = 0
  const work = job('work', { retry: { max: 0 }, quarantine: 'never', run: () => ++ran })
  const first = pawl.work([work], {
    signals: [],
    use: [
      () => {
        throw new Error('refused')
      },
    ],
  })
  await expect((await pawl.submit(work)).result()).rejects.toThrow('refused')
  await first.stop()
  expect(ran).toBe(0)
  const second = pawl.work([work], { signals: [], use: [() => undefined] })
  await expect((await pawl.submit(work)).result()).rejects.toThrow('never called `next`')
  await second.stop()
  pawl.work([work], {
    signals: [],
    use: [
      async (_run, next) => {
        await next()
        throw new Error('too late')
      },
    ],
  })
  expect(await (await pawl.submit(work)).result()).toBe(1)
  expect(errors).toMatchObject([{ message: 'too late' }])
})

it('one that is no function is refused', async () => {
  const pawl = await inMemory()
  const work = job('work', { run: () => null })
  expect(() => pawl.work([work], { use: ['x'] as never })).toThrow(
    /`use` of a worker is a list of functions/,
  )
  expect(() => pawl.work([work], { use: (() => null) as never })).toThrow(/list of functions/)
})
