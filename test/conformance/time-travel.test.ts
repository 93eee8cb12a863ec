/**
 * `pawl.at(…)` on every store, while workers go on: one job, a list and counts as they were.
 */
import { describe, expect, it } from 'vitest'
import type { HistoryItem, JobListItem, PastFilter, Pawl } from '../../src/index.ts'
import { InvalidDefinition, job, pipeline, TerminalError, typed } from '../../src/index.ts'
import { deferred, EVERY_ENGINE } from '../support/engines.ts'

const flaky = job('flaky', {
  retry: { max: 2, delay: 20 },
  run: async ({ job: { attempt }, step, progress }) => {
    progress({ seen: attempt })
    await step('first', () => 'one')
    if (attempt < 3) throw new Error(`no ${attempt}`)
    await step('second', () => 'two')
    return 'yes'
  },
})
const hopeless = job('hopeless', {
  queue: 'slow',
  run: () => {
    throw new TerminalError('never')
  },
})
const parts = pipeline('parts', { input: typed<number[]>() })
  .stage('each', { each: 'input', run: ({ segment }) => segment * 2 })
  .stage('sum', {
    after: 'each',
    run: async ({ outputs }) => {
      let sum = 0
      for await (const { output } of outputs.each) sum += output
      return sum
    },
  })

async function all(
  pawl: Pawl,
  moment: Date | number,
  filter: PastFilter = {},
): Promise<JobListItem[]> {
  const jobs: JobListItem[] = []
  for await (const one of pawl.at(moment).list(filter)) jobs.push(one)
  return jobs
}

function recorded(history: readonly HistoryItem[]): HistoryItem[] {
  return history.filter(({ type }) => type !== 'TimePassed')
}

describe.each(EVERY_ENGINE)('at a moment of the past, %s', (_name, open) => {
  it('a job is what it was after each of its entries, and each move of time', async () => {
    const pawl = await open()
    pawl.work([flaky], { name: 'w' })
    const { id } = await pawl.submit(flaky, undefined, { delay: 20, tags: ['red'] })
    await pawl.handle(id).result()
    const history = await pawl.history(id)
    for (const { position, to, at } of recorded(history)) {
      expect((await pawl.at(position).get(id))?.state).toBe(to)
      expect((await pawl.at(position).get(id))?.updatedAt).toEqual(at)
      expect((await all(pawl, position)).map(({ state }) => state)).toEqual([to])
    }
    // The last of those that happened at a time counts.
    for (const { at } of history) {
      const last = history.findLast((one) => one.at.getTime() === at.getTime())
      const [listed] = await all(pawl, at)
      expect(listed).toMatchObject({ id, type: 'flaky', state: last?.to, tags: ['red'] })
      expect((await pawl.at(at).get(id))?.state).toBe(last?.to)
    }
    const [submitted] = history
    expect(await pawl.at((submitted?.position ?? 0) - 1).get(id)).toBeNull()
    const before = new Date((submitted?.at.getTime() ?? 0) - 1)
    expect(await pawl.at(before).get(id)).toBeNull()
    expect(await all(pawl, before)).toEqual([])
  })

  it('shows steps, attempts, errors and the output as they were, and nothing soft', async () => {
    const pawl = await open()
    pawl.work([flaky])
    const { id } = await pawl.submit(flaky)
    await pawl.handle(id).result()
    const now = await pawl.get(id)
    const history = recorded(await pawl.history(id))
    const failed = history.filter(({ type }) => type === 'TaskFailed')
    expect(failed).toHaveLength(2)
    const then = await pawl.at(failed[1]?.position ?? 0).get(id)
    expect(then).toMatchObject({
      state: 'RETRYING',
      steps: ['first'],
      attempt: 2,
      retryCount: 2,
      lastError: 'Error: no 2',
      output: undefined,
      completedAt: null,
      progress: undefined,
      lines: [],
      stalledSince: null,
    })
    expect(then?.executions.map(({ error }) => error?.message)).toEqual(['no 1', 'no 2'])
    const last = history.at(-1)?.position ?? 0
    expect(await pawl.at(last).get(id)).toEqual({ ...now, progress: undefined, lines: [] })
  })

  it('a pipeline is whole: its stages, segments and outputs', async () => {
    const pawl = await open()
    pawl.work([parts])
    const { id } = await pawl.submit(parts, [1, 2, 3])
    expect(await pawl.handle(id, parts).result()).toBe(12)
    const history = recorded(await pawl.history(id))
    const opened = history.filter(({ type }) => type === 'StageOpened')
    const half = await pawl.at(opened[1]?.position ?? 0).get(id)
    expect(half?.state).toBe('RUNNING')
    expect(half?.stages).toMatchObject([
      { name: 'each', state: 'DONE', segments: 3, completed: 3 },
      { name: 'sum', state: 'READY', segments: 1, waiting: 1 },
    ])
    expect(await pawl.at(history.at(-1)?.position ?? 0).get(id)).toEqual(await pawl.get(id))
  })

  it('counts and lists by state, type, queue, tag, group and key', async () => {
    const pawl = await open()
    const gate = deferred()
    const waits = job('waits', { run: () => gate.promise })
    pawl.work([flaky, hopeless, waits, parts])
    const one = await pawl.submit(flaky, undefined, { tags: ['red'], group: 'g', key: 'k' })
    const two = await pawl.submit(hopeless)
    const three = await pawl.submit(parts, [1])
    await one.result()
    await expect(two.result()).rejects.toThrow()
    await three.result()
    const four = await pawl.submit(waits)
    await expect.poll(() => four.state(), { timeout: 10_000 }).toBe('RUNNING')
    const held = await pawl.submit(flaky, undefined, { hold: true })
    const { position = 0 } = (await pawl.history(held.id)).at(-1) ?? {}
    gate.resolve()
    await four.result()
    await pawl.cancel(held.id)
    const counts = await pawl.at(position).counts()
    expect(counts).toMatchObject({
      total: 5,
      states: { SUCCEEDED: 2, FAILED: 1, RUNNING: 1, CREATED: 1, QUEUED: 0 },
    })
    expect(counts.types).toMatchObject([
      { name: 'flaky', total: 2, states: { SUCCEEDED: 1, CREATED: 1 } },
      { name: 'hopeless', total: 1, states: { FAILED: 1 } },
      { name: 'parts', total: 1, states: { SUCCEEDED: 1 } },
      { name: 'waits', total: 1, states: { RUNNING: 1 } },
    ])
    expect(counts.queues).toMatchObject([
      { name: 'default', total: 3, states: { RUNNING: 1 } },
      { name: 'slow', total: 1, states: { FAILED: 1 } },
    ])
    const ids = async (filter: PastFilter): Promise<string[]> =>
      (await all(pawl, position, filter)).map(({ id }) => id)
    expect(await ids({})).toEqual([one, two, three, four, held].map(({ id }) => id))
    expect(await ids({ state: 'RUNNING' })).toEqual([four.id])
    expect(await ids({ type: 'flaky' })).toEqual([one.id, held.id])
    expect(await ids({ queue: 'slow' })).toEqual([two.id])
    for (const filter of [{ tag: 'red' }, { group: 'g' }, { key: 'k' }]) {
      expect(await ids(filter)).toEqual([one.id])
    }
    expect(await ids({ type: 'nothing' })).toEqual([])
    expect((await pawl.at(position).counts({ type: 'waits' })).total).toBe(1)
    expect((await pawl.get(four.id))?.state).toBe('SUCCEEDED')
  })

  it('refuses what is no moment, and filters that it does not know', async () => {
    const pawl = await open()
    for (const wrong of [new Date(Number.NaN), -1, 1.5, 'yesterday', undefined]) {
      expect(() => pawl.at(wrong as Date)).toThrow(InvalidDefinition)
    }
    const past = pawl.at(new Date())
    await expect(past.list({ limit: 5 } as PastFilter).next()).rejects.toThrow(/by 'limit'/)
    await expect(past.counts({ typ: 'x' } as PastFilter)).rejects.toThrow(/by 'typ'/)
    await expect(past.get(7 as unknown as string)).rejects.toThrow(InvalidDefinition)
    expect(await past.get('odd\0name')).toBeNull()
  })
})

/** In memory nothing is forgotten; a server does it by itself, maybe before the test has seen the job. */
const FORGETTING = EVERY_ENGINE.filter(
  ([name]) => name !== 'in memory' && name !== 'behind a server',
)

describe.each(FORGETTING)('after a job was forgotten, %s', (_name, open) => {
  it('it is shown as it was, and the job that has its id now only later', async () => {
    const pawl = await open({ retention: { age: 0 } })
    const once = job('once', { input: typed<string>(), run: ({ input }) => input })
    pawl.work([once, parts])
    const handle = await pawl.submit(once, 'first', { id: 'same' })
    await handle.result()
    const { position: end = 0 } = (await pawl.history('same')).at(-1) ?? {}
    const piped = await pawl.submit(parts, [4], { id: 'piped' })
    await piped.result()
    const { position: later = 0 } = (await pawl.history('piped')).at(-1) ?? {}
    for (const id of ['same', 'piped']) {
      await expect
        .poll(async () => [await pawl.upkeep(), await pawl.get(id)][1], { timeout: 10_000 })
        .toBeNull()
    }
    const again = await pawl.submit(once, 'second', { id: 'same', hold: true })
    const { position: now = 0 } = (await pawl.history(again.id)).at(-1) ?? {}
    expect(await pawl.at(end).get('same')).toMatchObject({ state: 'SUCCEEDED', output: 'first' })
    expect(await pawl.at(later).get('piped')).toMatchObject({ state: 'SUCCEEDED', output: 8 })
    expect((await all(pawl, end)).map(({ id }) => id)).toEqual(['same'])
    expect(await pawl.at(now).get('same')).toMatchObject({ state: 'CREATED', input: 'second' })
    expect((await all(pawl, now)).map(({ id }) => id)).toEqual(['same'])
    expect(await pawl.at(now).get('piped')).toBeNull()
  })
})
