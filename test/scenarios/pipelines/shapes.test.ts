/** Shapes of pipelines, the awkward ones included, through the engine. */
import { describe, expect, it } from 'vitest'
import { recorded } from '../../support/history.ts'
import type { Pawl, Pipeline } from '../../../src/index.ts'
import { child, effect, job, pipeline, typed } from '../../../src/index.ts'
import { ENGINES } from '../../support/engines.ts'
import { hookedEngine } from '../../support/hooked-store.ts'

const TIMEOUT = { timeout: '20s' } as const

/** What ran, in order of their ends. */
function notes(): { readonly ran: string[]; readonly note: (what: string) => string } {
  const ran: string[] = []
  return {
    ran,
    note: (what) => {
      ran.push(what)
      return what
    },
  }
}

async function openedAt(pawl: Pawl, id: string): Promise<number[]> {
  const history = recorded(await pawl.history(id, { limit: 10_000 }))
  return history.flatMap(({ entry }) => (entry.type === 'StageOpened' ? [entry.stage] : []))
}

describe.each(ENGINES)('a pipeline %s', (_, open) => {
  it('with an empty array has a stage without segments, and goes on', async () => {
    const pawl = await open()
    const none = pipeline('none', { input: typed<string[]>() })
      .stage('each', { each: 'input', run: ({ segment }) => segment })
      .stage('after', {
        after: 'each',
        run: async ({ outputs }) => [outputs.each.count, await outputs.each.toArray()],
      })
    pawl.work([none])
    const handle = await pawl.submit(none, [])
    expect(await handle.result(TIMEOUT)).toEqual([0, []])
    const { stages } = await handle.info()
    expect(stages[0]).toMatchObject({ state: 'DONE', segments: 0, completed: 0 })
  })

  it('that ends with an empty stage succeeds without anybody working on it', async () => {
    const pawl = await open()
    const none = pipeline('none', { input: typed<{ all: string[] }>() }).stage('each', {
      each: 'input.all',
      run: ({ segment }) => segment,
    })
    const outputs = await (await pawl.submit(none, { all: [] })).result(TIMEOUT)
    expect([outputs.count, await outputs.toArray()]).toEqual([0, []])
  })

  it('runs two stages after one, both with its output, and has two results', async () => {
    const pawl = await open()
    const fork = pipeline('fork')
      .stage('root', { run: () => 5 })
      .stage('left', { after: 'root', run: ({ outputs }) => outputs.root + 1 })
      .stage('right', { after: ['root'], run: ({ outputs }) => outputs.root * 2 })
    pawl.work([fork])
    expect(await (await pawl.submit(fork)).result(TIMEOUT)).toEqual({ left: 6, right: 10 })
  })

  it('runs one stage after two, once both are done', async () => {
    const pawl = await open()
    const { ran, note } = notes()
    const join = pipeline('join', { input: typed<number[]>() })
      .stage('left', { each: 'input', run: ({ index }) => note(`left ${index}`) })
      .stage('right', { run: () => note('right') })
      .stage('both', {
        after: ['left', 'right'],
        run: async ({ outputs }) => {
          note('both')
          return [...(await outputs.left.toArray()), outputs.right]
        },
      })
    pawl.work([join])
    const result = await (await pawl.submit(join, [1, 2, 3])).result(TIMEOUT)
    expect(result).toEqual(['left 0', 'left 1', 'left 2', 'right'])
    expect(ran.indexOf('both')).toBe(4)
    expect(ran).toHaveLength(5)
  })

  it('sees only the stages that it names, and those that others come after anyway too', async () => {
    const pawl = await open()
    const seen: string[][] = []
    const chain = pipeline('chain')
      .stage('a', { run: () => 1 })
      .stage('b', { after: 'a', run: () => 2 })
      .stage('c', { after: 'b', run: ({ outputs }) => seen.push(Object.keys(outputs)) })
      .stage('d', { after: ['c', 'a'], run: ({ outputs }) => seen.push(Object.keys(outputs)) })
    pawl.work([chain])
    await (await pawl.submit(chain)).result(TIMEOUT)
    expect(seen).toEqual([['b'], ['a', 'c']])
  })

  it('hands segment to segment from one stage with segments to the next', async () => {
    const pawl = await open()
    const relay = pipeline('relay', { input: typed<{ list: { n: number }[] }>() })
      .stage('double', { each: 'input.list', run: ({ segment }) => ({ n: segment.n * 2 }) })
      .stage('add', { after: 'double', each: 'double', run: ({ segment }) => segment.n + 1 })
    pawl.work([relay])
    const input = { list: [{ n: 1 }, { n: 2 }, { n: 3 }] }
    const outputs = await (await pawl.submit(relay, input)).result(TIMEOUT)
    expect(await outputs.toArray()).toEqual([3, 5, 7])
  })

  it('runs a stage for each element of a field of what another put out', async () => {
    const pawl = await open()
    const nested = pipeline('nested')
      .stage('plan', { run: () => ({ parts: ['x', 'yy'], title: 'plan' }) })
      .stage('part', {
        after: 'plan',
        each: 'plan.parts',
        run: ({ segment, outputs }) => `${outputs.plan.title} ${segment}`,
      })
    pawl.work([nested])
    const outputs = await (await pawl.submit(nested)).result(TIMEOUT)
    expect(await outputs.toArray()).toEqual(['plan x', 'plan yy'])
  })

  it('of 200 stages runs them in order', async () => {
    const pawl = await open()
    // Built in a loop, so the compiler cannot know the names.
    let long = pipeline('long').stage('s0', { run: () => 0 }) as unknown as Pipeline<
      'long',
      undefined,
      undefined,
      Record<string, { value: number; many: false; gaps: false }>,
      string
    >
    for (let i = 1; i < 200; i++) {
      const before = `s${i - 1}`
      long = long.stage<string, string>(`s${i}`, {
        after: before,
        run: ({ outputs }) => Number(outputs[before]) + 1,
      })
    }
    pawl.work([long])
    const handle = await pawl.submit(long)
    expect(await handle.result({ timeout: '2m' })).toBe(199)
    expect(await openedAt(pawl, handle.id)).toEqual(Array.from({ length: 200 }, (__, i) => i))
  })

  it('promises effects and children in its stages, under a key for each segment', async () => {
    const pawl = await open()
    const keys: string[] = []
    const mail = effect('mail', {
      input: typed<string>(),
      idempotent: true,
      run: (to, { key }) => keys.push(`${to} ${key}`),
    })
    const follow = job('follow', { input: typed<{ n: number }>(), run: ({ input }) => input.n })
    const below = pipeline('below', { input: typed<number>() }).stage('only', {
      run: ({ input }) => input * 100,
    })
    const shop = pipeline('shop', { input: typed<string[]>() })
      .stage('send', {
        each: 'input',
        effects: [mail],
        run: ({ segment, commit }) => commit(segment.length, [mail(segment)]),
      })
      .stage('go on', {
        after: 'send',
        run: ({ commit }) => commit('ok', [], [child(follow, { n: 1 }), child(below, 2)]),
      })
    pawl.work([shop, follow, below])
    const handle = await pawl.submit(shop, ['ann', 'bo'], { id: 'shop-1' })
    expect(await handle.result(TIMEOUT)).toBe('ok')
    expect(keys.toSorted()).toEqual(['ann shop-1/0/0/0', 'bo shop-1/0/1/0'])
    const { jobs } = await pawl.list({})
    const children = jobs.filter(({ type }) => type !== 'shop')
    const results = children.map(({ id }) => pawl.handle(id).result(TIMEOUT))
    expect(await Promise.all(results)).toEqual([1, 200])
    expect((await pawl.get(children[1]?.id ?? ''))?.parent).toBe('shop-1')
  })

  it('waits while it is held, and is released like a job', async () => {
    const pawl = await open()
    const two = pipeline('two')
      .stage('a', { run: () => 1 })
      .stage('b', { after: 'a', run: () => 2 })
    pawl.work([two])
    const handle = await pawl.submit(two, undefined, { hold: true })
    await pawl.upkeep()
    expect(await handle.state()).toBe('CREATED')
    expect(await openedAt(pawl, handle.id)).toEqual([])
    await pawl.release(handle.id)
    expect(await handle.result(TIMEOUT)).toBe(2)
  })

  it('is submitted many at once, by keys, and is listed', async () => {
    const pawl = await open()
    const one = pipeline('one', { input: typed<number>() }).stage('only', {
      run: ({ input }) => input,
    })
    pawl.work([one])
    const items = [1, 2, 1].map((input) => ({ input, options: { key: `k${input}`, tags: ['t'] } }))
    const handles = await pawl.submitMany(one, items)
    expect(handles[2]?.id).toBe(handles[0]?.id)
    const all = await Promise.all(handles.map((handle) => handle.result(TIMEOUT)))
    expect(all).toEqual([1, 2, 1])
    const { jobs } = await pawl.list({ tag: 't', state: 'SUCCEEDED' })
    expect(jobs.map(({ type, queue }) => [type, queue])).toEqual([
      ['one', null],
      ['one', null],
    ])
  })
})

describe('outputs of many segments', () => {
  const COUNT = 1_000
  const wide = pipeline('wide', { input: typed<number[]>() })
    .stage('each', { each: 'input', run: ({ segment }) => segment })
    .stage('sum', {
      after: 'each',
      run: async ({ outputs }) => {
        let sum = 0
        for await (const { output } of outputs.each) {
          sum += output
          if (output === 300) break
        }
        return sum
      },
    })

  it('are read page by page, and no further than somebody goes', async () => {
    const { pawl, store } = hookedEngine()
    const asked: number[] = []
    let inputs = 0
    let looks = 0
    store.beforeQuery = (query) => {
      if (query.kind === 'outcome') looks += 1
      if (query.kind === 'outputs') asked.push(query.after)
      if (query.kind === 'input') inputs += 1
    }
    pawl.work([wide], { concurrency: 50 })
    const input = Array.from({ length: COUNT }, (_, i) => i)
    const handle = await pawl.submit(wide, input)
    expect(await handle.result(TIMEOUT)).toBe((300 * 301) / 2)
    // Pages of 256: the 301st output is on the second. The last one is the result itself.
    expect(asked).toEqual([-1, 255, -1])
    // And the input was read once for all segments.
    expect(inputs).toBe(1)
    // Whoever waits for the result does not ask after every commit.
    expect(looks).toBeLessThan(COUNT / 4)
    await pawl.close()
  })
})
