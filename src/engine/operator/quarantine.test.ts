import { describe, expect, it } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred, ENGINES, temporaryFolder } from '../../../test/support/engines.ts'
import type { Pawl, BulkReport } from '../../index.ts'
import { effect, job, open as openPawl, pipeline, typed } from '../../index.ts'
import type { Store } from '../../store/index.ts'
import { testEngine } from '../../testing/index.ts'
import { accessTo } from '../engine-access.ts'

let isRepaired = false

const broken = job('broken', {
  input: typed<string>(),
  retry: { max: 0 },
  run: ({ input }) => {
    if (isRepaired || input.startsWith('good')) return input
    throw Object.assign(new Error(`No card ${input}`), { code: 'ENOCARD' })
  },
})

const other = job('other', {
  input: typed<string>(),
  queue: 'mail',
  retry: { max: 0 },
  run: ({ input }) => {
    if (isRepaired) return input
    throw new TypeError('is not a function')
  },
})

const pay = effect('pay', {
  retry: { max: 0 },
  run: () => {
    throw new Error('refused')
  },
})
const order = job('order', { effects: [pay], run: ({ commit }) => commit(null, [pay()]) })

function items(count: number, name: string) {
  return Array.from({ length: count }, (_, i) => ({
    input: `4${i}`,
    options: { id: `${name}-${i}`, tags: [i % 2 === 0 ? 'even' : 'odd'] },
  }))
}

/** So many of each, all given up. */
async function fill(pawl: Pawl, of: { broken: number; other?: number }): Promise<string[]> {
  isRepaired = false
  const handles = [
    ...(await pawl.submitMany(broken, items(of.broken, 'broken'))),
    ...(await pawl.submitMany(other, items(of.other ?? 0, 'other'))),
  ]
  const worker = pawl.work([broken, other])
  await Promise.all(handles.map((handle) => handle.result().catch(() => undefined)))
  await worker.stop()
  return handles.map(({ id }) => id)
}

async function left(pawl: Pawl): Promise<string[]> {
  return (await pawl.list({ state: 'QUARANTINED', limit: 1_000 })).jobs.map(({ id }) => id)
}

describe.each(ENGINES)('the quarantine of an engine %s', (_, open) => {
  it('groups what failed alike, the most frequent first', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 7, other: 2 })
    const groups = await pawl.quarantine.groups()
    expect(groups).toMatchObject([
      { type: 'broken', code: 'ENOCARD', message: 'No card 40', count: 7 },
      { type: 'other', code: 'TypeError', message: 'is not a function', count: 2 },
    ])
    expect(groups[0]?.ids).toEqual(['broken-0', 'broken-1', 'broken-2', 'broken-3', 'broken-4'])
    expect(groups[0]?.fingerprint).not.toBe(groups[1]?.fingerprint)
    expect(groups[0]?.oldest.getTime()).toBeLessThanOrEqual(Number(groups[0]?.newest))
    expect(await pawl.quarantine.groups({ queue: 'mail' })).toHaveLength(1)
    expect(await pawl.quarantine.groups({ tag: 'odd' })).toMatchObject([{ count: 3 }, { count: 1 }])
  })

  it('is listed page by page, by code and by fingerprint', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 5, other: 2 })
    const [, group] = await pawl.quarantine.groups()
    const fingerprint = group?.fingerprint as string
    const first = await pawl.quarantine.list({ fingerprint, limit: 1 })
    expect(first.jobs).toMatchObject([
      { id: 'other-0', type: 'other', queue: 'mail', code: 'TypeError', attempt: 1, fingerprint },
    ])
    const after = first.next as number
    const second = await pawl.quarantine.list({ fingerprint, after })
    expect([second.jobs.map(({ id }) => id), second.next]).toEqual([['other-1'], null])
    expect((await pawl.quarantine.list({ code: 'ENOCARD' })).jobs).toHaveLength(5)
    await expect(pawl.quarantine.list({ limit: 0 })).rejects.toThrow(/whole number from 1/)
  })

  it('says what a redrive would do, and does nothing', async () => {
    const pawl = await open()
    const ids = await fill(pawl, { broken: 3, other: 1 })
    const report = await pawl.quarantine.redrive({ type: 'broken', dryRun: true })
    const samples = ['broken-0', 'broken-1', 'broken-2']
    const counts = { matched: 3, done: 3, left: 0 }
    expect(report).toEqual({ ...counts, problems: [], isComplete: true, samples })
    expect(await pawl.quarantine.discard({ all: true, dryRun: true })).toMatchObject({ done: 4 })
    expect(await left(pawl)).toEqual(ids)
  })

  it('redrives some or all, on record, and is safe to repeat', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 4, other: 1 })
    const on = { by: 'ann', reason: 'the bank is back' }
    const some = await pawl.quarantine.redrive({ ids: ['broken-1', 'gone'], ...on })
    expect(some).toMatchObject({ matched: 1, done: 1, left: 1, problems: [{ id: 'gone' }] })
    expect(await left(pawl)).toEqual(['broken-0', 'broken-2', 'broken-3', 'other-0'])
    const group = await pawl.quarantine.redrive({ code: 'ENOCARD', tag: 'even', ...on })
    expect(group).toMatchObject({ matched: 2, done: 2 })
    expect(await pawl.quarantine.redrive({ code: 'ENOCARD', tag: 'even' })).toMatchObject({
      matched: 0,
    })
    expect((await pawl.metrics()).quarantined).toBe(2)
    expect(await pawl.quarantine.redrive({ all: true })).toMatchObject({ matched: 2, done: 2 })
    expect((await pawl.metrics()).quarantined).toBe(0)
    isRepaired = true
    pawl.work([broken, other])
    expect(await pawl.handle('broken-2').result()).toBe('42')
    const history = recorded(await pawl.history('broken-2'))
    const retried = history.find(({ entry }) => entry.type === 'TaskRetried')?.entry
    expect(retried).toMatchObject({ ...on, attempt: 1, input: null })
  })

  it('redrives with a new input, made from the old one', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 2 })
    const report = await pawl.quarantine.redrive({
      all: true,
      input: (old: string, item: { id: string }) => `good ${old} of ${item.id}`,
      by: 'ann',
    })
    expect(report).toMatchObject({ done: 2 })
    pawl.work([broken])
    expect(await pawl.handle('broken-1').result()).toBe('good 41 of broken-1')
    const history = recorded(await pawl.history('broken-1'))
    expect(history.find(({ entry }) => entry.type === 'TaskRetried')?.entry).toMatchObject({
      input: '"good 41 of broken-1"',
      by: 'ann',
    })
  })

  it('leaves a job whose new input cannot be made, and says why', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 2 })
    const report = await pawl.quarantine.redrive({
      all: true,
      input: (old: string) => {
        if (old === '40') throw new Error('this one is odd')
        return `good ${old}`
      },
    })
    expect(report).toMatchObject({
      matched: 2,
      done: 1,
      left: 1,
      problems: [{ id: 'broken-0', why: 'this one is odd' }],
    })
    expect(await left(pawl)).toEqual(['broken-0'])
  })

  it('discards for good', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 2, other: 1 })
    const report = await pawl.quarantine.discard({ type: 'broken', by: 'ann', reason: 'too old' })
    expect(report).toMatchObject({ matched: 2, done: 2 })
    expect(await left(pawl)).toEqual(['other-0'])
    expect(await pawl.get('broken-0')).toMatchObject({
      state: 'FAILED',
      cancelled: { by: 'ann', reason: 'too old' },
    })
  })

  it('redrives every task that keeps a pipeline there', async () => {
    const pawl = await open()
    let isUp = false
    const film = pipeline('film', { input: typed<number[]>(), retry: { max: 0 } })
      .stage('cut', {
        each: 'input',
        run: ({ segment }) => {
          if (!isUp && segment !== 2) throw new Error('no tape')
          return segment * 10
        },
      })
      .stage('join', { after: 'cut', run: ({ outputs }) => outputs.cut.toArray() })
    const handle = await pawl.submit(film, [1, 2, 3])
    pawl.work([film])
    await handle.result().catch(() => undefined)
    const found = { type: 'film', queue: null, code: 'Error', message: 'no tape' }
    expect((await pawl.quarantine.list()).jobs).toMatchObject([found])
    const edited = await pawl.quarantine.redrive({ all: true, input: [1] })
    expect(edited).toMatchObject({ done: 0, left: 1 })
    expect(edited.problems[0]?.why).toMatch(/is not edited/)
    isUp = true
    expect(await pawl.quarantine.redrive({ all: true, by: 'ann' })).toMatchObject({
      matched: 1,
      done: 1,
    })
    expect(await handle.result()).toEqual([10, 20, 30])
  })

  it('by a fingerprint, means plain jobs and pipelines that failed alike, and reads no others', async () => {
    const pawl = await open()
    const cards = pipeline('cards', { input: typed<string[]>(), retry: { max: 0 } }).stage(
      'check',
      {
        each: 'input',
        run: ({ segment }) => {
          throw Object.assign(new Error(`No card ${segment}`), { code: 'ENOCARD' })
        },
      },
    )
    await fill(pawl, { broken: 2, other: 250 })
    const { id } = await pawl.submit(cards, ['47', '48'])
    const worker = pawl.work([cards])
    await pawl
      .handle(id)
      .result()
      .catch(() => undefined)
    await worker.stop()
    const [first] = (await pawl.quarantine.list({ code: 'ENOCARD' })).jobs
    const fingerprint = first?.fingerprint as string
    const { store } = accessTo(pawl) as { store: Store }
    const query = store.query.bind(store)
    const read: string[] = []
    store.query = async (asked): Promise<never> => {
      const answer = await query(asked)
      if (asked.kind === 'jobs' || asked.kind === 'quarantine') {
        const { jobs } = answer as { readonly jobs: readonly { readonly id: string }[] }
        read.push(...jobs.map((one) => one.id))
      }
      return answer as never
    }
    const dry = await pawl.quarantine.redrive({ fingerprint, dryRun: true })
    expect(dry).toMatchObject({ matched: 3, done: 3, samples: ['broken-0', 'broken-1', id] })
    expect(new Set(read)).toEqual(new Set(['broken-0', 'broken-1', id]))
    expect(await pawl.quarantine.redrive({ fingerprint, tag: 'odd', dryRun: true })).toMatchObject({
      samples: ['broken-1'],
    })
    expect(await pawl.quarantine.discard({ fingerprint })).toMatchObject({ matched: 3, done: 3 })
    expect(await left(pawl)).toHaveLength(250)
  })

  it('leaves a job whose effect is held to the person who resolves it', async () => {
    const pawl = await open()
    const handle = await pawl.submit(order, undefined, { id: 'o' })
    const worker = pawl.work([order])
    await handle.result().catch(() => undefined)
    await worker.stop()
    const { jobs } = await pawl.quarantine.list()
    const error = { code: 'Error', message: 'refused' }
    const held = [{ name: 'pay', effect: 0, stage: null, segment: null, error }]
    expect(jobs).toMatchObject([{ id: 'o', held, message: 'refused' }])
    const problems = [{ id: 'o', why: expect.stringMatching(/resolveEffect/) as string }]
    expect(await pawl.quarantine.redrive({ all: true })).toMatchObject({
      done: 0,
      left: 1,
      problems,
    })
    expect(await pawl.quarantine.discard({ all: true })).toMatchObject({
      done: 0,
      left: 1,
      problems,
    })
  })

  it('lists jobs with held effects apart, with where these stand, until they are resolved', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 3 })
    const gate = deferred()
    const batch = pipeline('batch', { input: typed<number[]>() })
      .stage('cards', { each: 'input', effects: [pay], run: ({ commit }) => commit(1, [pay()]) })
      .stage('slow', { run: () => gate.promise })
    const plain = await pawl.submit(order, undefined, { tags: ['vip'] })
    const many = await pawl.submit(batch, [1, 2])
    const worker = pawl.work([order, batch])
    const ids = async (): Promise<string[]> => {
      const { jobs } = await pawl.quarantine.list({ heldEffects: true })
      return jobs.flatMap(({ id, held }) => held.map((one) => `${id} ${one.segment}`))
    }
    const all = [`${plain.id} null`, `${many.id} 0`, `${many.id} 1`]
    await expect.poll(ids).toEqual(all)
    const { jobs } = await pawl.quarantine.list({ heldEffects: true, type: 'batch' })
    expect(jobs[0]?.held[1]).toMatchObject({
      name: 'pay',
      effect: 0,
      stage: 'cards',
      segment: 1,
      endedBy: 'EffectFailed',
      error: { code: 'Error', message: 'refused' },
    })
    expect(jobs[0]?.held[1]?.since).toBeInstanceOf(Date)
    expect(jobs[0]?.held[1]?.worker).toEqual(expect.any(String))
    const listed = async (filter: { type?: string } = {}): Promise<string[]> =>
      (await pawl.list({ heldEffects: true, ...filter })).jobs.map(({ id }) => id)
    expect(await listed()).toEqual([plain.id, many.id])
    expect(await listed({ type: 'order' })).toEqual([plain.id])
    await expect
      .poll(async () => (await pawl.counts({ heldEffects: true })).states)
      .toMatchObject({ QUARANTINED: 1, RUNNING: 1 })
    expect((await pawl.counts({ heldEffects: true, by: 'type' })).groups).toMatchObject([
      { name: 'batch', total: 1 },
      { name: 'order', total: 1 },
    ])
    expect((await pawl.metrics()).heldEffects).toBe(2)
    const dry = await pawl.bulk('discard', { heldEffects: true }, { dryRun: true })
    expect(dry).toMatchObject({ matched: 1, samples: [plain.id], isComplete: true })
    expect(await pawl.bulk('discard', { heldEffects: true })).toMatchObject({ done: 0, left: 1 })

    for (const at of [0, 1]) {
      await pawl.resolveEffect(many.id, 0, { outcome: 'happened', stage: 'cards', segment: at })
    }
    await pawl.resolveEffect(plain.id, 0, { outcome: 'happened' })
    gate.resolve()
    await many.result()
    expect(await plain.result()).toBe(null)
    await worker.stop()
    expect([await ids(), await listed()]).toEqual([[], []])
    await expect.poll(async () => (await pawl.counts({ heldEffects: true })).total).toBe(0)
    expect(await left(pawl)).toHaveLength(3)
  })

  it('refuses what no list and no counter is kept of', async () => {
    const pawl = await open()
    const no = { heldEffects: false as unknown as true }
    for (const call of [
      pawl.list(no),
      pawl.counts(no),
      pawl.bulk('cancel', no),
      pawl.quarantine.list(no),
    ]) {
      await expect(call).rejects.toThrow('`heldEffects` of ')
    }
    for (const unknown of [
      { tag: 'red' },
      { error: 'e' },
      { by: 'tag' },
      { by: 'error' },
    ] as const) {
      await expect(pawl.counts({ heldEffects: true, ...unknown })).rejects.toThrow(
        'no counter is kept',
      )
    }
  })

  it('tells how far it is, batch by batch', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 250 })
    const told: BulkReport[] = []
    await pawl.quarantine.redrive({ all: true, onProgress: (report) => told.push(report) })
    expect(told.map(({ done }) => done)).toEqual([100, 200, 250])
  })

  it.each(['its signal', 'a closing engine'])('does not wait for its rate after %s', async (by) => {
    const pawl = await open()
    await fill(pawl, { broken: 3 })
    const stop = new AbortController()
    const began = deferred()
    const redriving = pawl.quarantine.redrive({
      all: true,
      rate: { count: 1, per: '1h' },
      signal: stop.signal,
      onProgress: () => began.resolve(),
    })
    await began.promise
    if (by === 'its signal') stop.abort()
    else await pawl.close()
    expect(await redriving).toMatchObject({ matched: 1, done: 1, isComplete: false })
  })

  it('is asked for by group, as by everything else', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 1 })
    const mine = await pawl.submit(broken, '4711', { id: 'mine', group: 'me' })
    const worker = pawl.work([broken])
    await mine.result().catch(() => undefined)
    await worker.stop()
    const { jobs } = await pawl.quarantine.list({ group: 'me' })
    expect(jobs).toMatchObject([{ id: 'mine', group: 'me' }])
    expect(await pawl.quarantine.discard({ group: 'me' })).toMatchObject({ matched: 1, done: 1 })
    expect(await left(pawl)).toEqual(['broken-0'])
  })

  it('takes a job once that is named twice', async () => {
    const pawl = await open()
    const ids = await fill(pawl, { broken: 101 })
    const twice = [...ids, ...ids]
    const all = { matched: 101, done: 101, left: 0 }
    expect(await pawl.quarantine.redrive({ ids: twice, dryRun: true })).toMatchObject(all)
    expect(await pawl.quarantine.redrive({ ids: twice })).toMatchObject(all)
  })

  it('stops by its signal, and goes on where it stopped', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 250 })
    const stop = new AbortController()
    const report = await pawl.quarantine.redrive({
      all: true,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    })
    expect(report).toMatchObject({ done: 100, isComplete: false })
    expect(await left(pawl)).toHaveLength(150)
    expect(await pawl.quarantine.redrive({ all: true })).toMatchObject({
      done: 150,
      isComplete: true,
    })
    expect(await left(pawl)).toEqual([])
  })

  it('leaves alone what another operator took care of meanwhile', async () => {
    const pawl = await open()
    await fill(pawl, { broken: 2 })
    const report = await pawl.quarantine.redrive({
      all: true,
      input: async (old: string, { id }: { id: string }) => {
        if (id === 'broken-0') await pawl.discard(id)
        return `good ${old}`
      },
    })
    expect(report).toMatchObject({ done: 1, left: 1, problems: [{ id: 'broken-0' }] })
  })
})

describe('a redrive', () => {
  const flaky = job('flaky', {
    retry: { max: 0 },
    run: () => {
      throw new Error('down')
    },
  })

  it('keeps to its rate', async () => {
    const pawl = testEngine()
    await pawl.submitMany(
      flaky,
      Array.from({ length: 30 }, () => ({})),
    )
    await pawl.runUntilIdle()
    const began = pawl.now
    const times: number[] = []
    const redriving = pawl.quarantine.redrive({
      all: true,
      rate: { count: 10, per: '1s' },
      onProgress: () => times.push(pawl.now - began),
    })
    await pawl.advance('10s')
    expect(await redriving).toMatchObject({ done: 30 })
    expect(times).toEqual(Array.from({ length: 30 }, (_, i) => i * 100))
    const wrong = pawl.quarantine.redrive({ all: true, rate: { count: 0, per: '1s' } })
    await expect(wrong).rejects.toThrow(/count of a rate/)
    await pawl.close()
  })

  it('visits each once, and leaves alone what came in after it began', async () => {
    const pawl = testEngine()
    // More than a page: the second one is read when others have come in.
    await pawl.submitMany(
      flaky,
      Array.from({ length: 120 }, () => ({})),
    )
    await pawl.runUntilIdle()
    const redriving = pawl.quarantine.redrive({ all: true, rate: { count: 12, per: '1m' } })
    await pawl.advance('1m')
    await pawl.submit(flaky)
    await pawl.advance('1h')
    // Each failed again, and one more besides: none of that is redriven by the same call.
    expect(await redriving).toMatchObject({ matched: 120, done: 120 })
    const { jobs } = await pawl.quarantine.list({ limit: 200 })
    expect(jobs.map(({ attempt }) => attempt)).toEqual([...Array<number>(120).fill(2), 1])
    await pawl.close()
  })

  it('leaves alone, like a discard, what was retried since it was seen', async () => {
    const pawl = testEngine()
    for (const id of ['first', 'second']) await pawl.submit(flaky, undefined, { id })
    await pawl.runUntilIdle()
    const seen = deferred()
    const discarding = pawl.quarantine.discard({
      all: true,
      rate: { count: 1, per: '1m' },
      onProgress: () => seen.resolve(),
    })
    await pawl.advance(0)
    await seen.promise
    await pawl.retry('second', { by: 'bob' })
    await pawl.advance('10m')
    const problems = [{ id: 'second', why: expect.stringMatching(/attempt 2, not 1/) as string }]
    expect(await discarding).toMatchObject({ done: 1, left: 1, problems })
    expect(await pawl.get('second')).toMatchObject({ state: 'QUARANTINED', attempt: 2 })
    await pawl.close()
  })

  it('goes on after a crash: what was redriven is not in quarantine any more', async () => {
    const folder = await temporaryFolder()
    const first = await openPawl(folder)
    await fill(first, { broken: 150 })
    const stop = new AbortController()
    await first.quarantine.redrive({
      all: true,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    })
    await first.close()
    const second = await openPawl(folder)
    expect(await second.quarantine.redrive({ all: true })).toMatchObject({ matched: 50, done: 50 })
    await second.close()
  })

  it('says of a job whose lease ran out that its worker fell silent', async () => {
    const pawl = testEngine()
    pawl.crash.beforeCommit(broken)
    const handle = await pawl.submit(broken, 'good')
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(await handle.state()).toBe('QUARANTINED')
    expect(await pawl.quarantine.groups()).toMatchObject([{ code: 'LeaseExpired', count: 1 }])
    await pawl.close()
  })
})

describe.each(ENGINES)('a new input, in an engine %s,', (_, open) => {
  const card = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      types: undefined as unknown as { input: { card: string }; output: { card: string } },
      validate: (value: unknown) => {
        const given = value as { card?: unknown } | null
        return typeof given?.card === 'string' && given.card !== ''
          ? { value: { card: given.card } }
          : { issues: [{ message: 'a card is missing', path: ['card'] }] }
      },
    },
  }
  const pay1 = job('pay', {
    input: typed<{ number: string }>(),
    retry: { max: 0 },
    run: ({ input }): string => {
      if (input.number === 'bad') throw new Error('bad')
      return input.number
    },
  })
  /** The next version: `number` is now `card`. */
  const pay2 = job('pay', {
    version: 2,
    input: card,
    upgrades: { 1: (input) => ({ card: (input as { number: string }).number }) },
    retry: { max: 0 },
    run: ({ input }) => input.card,
  })

  async function givenUp(pawl: Pawl): Promise<string> {
    const handle = await pawl.submit(pay1, { number: 'bad' })
    const worker = pawl.work([pay1])
    await handle.result().catch(() => undefined)
    await worker.stop()
    return handle.id
  }

  it('is of the version that the job has, and upgraded once', async () => {
    const pawl = await open()
    const id = await givenUp(pawl)
    pawl.work([pay2])
    await pawl.retry(id, { input: { number: '4711' } })
    expect(await pawl.handle(id).result()).toBe('4711')
    expect(await pawl.get(id)).toMatchObject({ version: 1, input: { number: '4711' } })
  })

  it('is refused when it does not fit, before anything is recorded', async () => {
    const pawl = await open()
    const id = await givenUp(pawl)
    // Of the newest shape, where the oldest is due: upgraded, it would be nothing.
    const newest = { input: { card: '4711' }, definition: pay2 }
    await expect(pawl.retry(id, newest)).rejects.toThrow(/a card is missing/)
    pawl.work([pay2])
    await expect(pawl.retry(id, { input: { card: '4711' } })).rejects.toMatchObject({
      code: 'InvalidValue',
    })
    expect(await pawl.quarantine.redrive({ all: true, ...newest })).toMatchObject({
      done: 0,
      left: 1,
    })
    expect(await pawl.handle(id).state()).toBe('QUARANTINED')
  })

  it('is checked when a failed job is run again, too', async () => {
    const pawl = await open()
    const id = await givenUp(pawl)
    await pawl.discard(id)
    await expect(pawl.rerun(id, { input: {}, definition: pay2 })).rejects.toThrow(/a card/)
    pawl.work([pay2])
    const again = await pawl.rerun(id, { input: { number: '4712' } })
    expect(await again.result()).toBe('4712')
  })
})
