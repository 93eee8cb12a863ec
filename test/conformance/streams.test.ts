/** Values that a worker appends to streams of its task, and that readers get page by page, on every store. */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import type { Claimed, StreamPage } from '../../src/store/index.ts'
import { failure, pipeline, plain, retry, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, STORES } from './bench.ts'

function append(lease: Claimed, offset: number, values: readonly string[], name = 'log'): Command {
  return { type: 'AppendStream', ...reportOf(lease), name, offset, values }
}

async function begin(bench: Bench, job = 'a', request = 1): Promise<Claimed> {
  await bench.send({
    type: 'SubmitJob',
    job,
    spec: plain({}, { retry: retry({ max: 9, delayMs: 0 }) }),
  })
  const [lease] = (await bench.store.claim(claim({ request }))) as [Claimed]
  return lease
}

async function page(
  { store }: Bench,
  from: number,
  limit = 1_000,
  name = 'log',
  job = 'a',
): Promise<StreamPage> {
  const at = { job, stage: 0, segment: 0 }
  return (await store.query({ kind: 'stream', ...at, name, from, limit })) as StreamPage
}

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `${from + i}`)

function valuesOf({ pieces }: StreamPage): string[] {
  return pieces.flatMap(({ values }) => values)
}

describe.each(Object.keys(STORES))('of streams, the %s store', (kind) => {
  it('gives the values back from any offset on, page by page, while it runs and after', async () => {
    const bench = await setUp(kind)
    const { send } = bench
    const lease = await begin(bench)
    for (const [i, values] of [numbers(0, 3), numbers(3, 4), numbers(4, 9)].entries()) {
      const answer = await send(append(lease, [0, 3, 4][i] ?? 0, values))
      expect(answer).toMatchObject({ verdict: 'committed', value: [3, 4, 9][i] })
      await send(append(lease, i, ['"other"'], 'other'))
      await send({ type: 'ExtendLease', ...reportOf(lease), extension: i + 1 })
    }
    const mustBeThere = async (): Promise<void> => {
      for (let from = 0; from <= 9; from++) {
        expect(valuesOf(await page(bench, from))).toEqual(numbers(from, 9))
      }
      const read: string[] = []
      for (let from = 0; ;) {
        const { pieces, next, length } = await page(bench, from, 2)
        for (const { offset, values } of pieces) {
          expect(values).toEqual(numbers(offset, offset + values.length))
          read.push(...values)
        }
        expect(next - from).toBe(from === 8 ? 1 : 2)
        from = next
        if (next === length) break
      }
      expect(read).toEqual(numbers(0, 9))
      expect(await page(bench, 9)).toEqual({ pieces: [], next: 9, length: 9 })
      expect(await page(bench, 0, 9, 'nothing')).toEqual({ pieces: [], next: 0, length: 0 })
      expect(valuesOf(await page(bench, 1, 9, 'other'))).toEqual(['"other"', '"other"'])
    }
    await mustBeThere()
    await send(commit(lease))
    await mustBeThere()
  })

  it('says which attempt appended what, and goes on behind it', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    const first = await begin(bench)
    await send(append(first, 0, ['1', '2']))
    await send({ type: 'FailTask', ...reportOf(first), error: failure() })
    clock.time += 5
    const [second] = (await store.claim(claim({ request: 2 }))) as [Claimed]
    expect((await send(append(second, 0, ['1']))).rejection).toMatchObject({
      code: 'WrongOffset',
      details: { next: 2 },
    })
    await send(append(second, 2, ['3']))
    expect(await page(bench, 1)).toEqual({
      pieces: [
        { offset: 1, attempt: 1, at: 1_000, values: ['2'] },
        { offset: 2, attempt: 2, at: 1_005, values: ['3'] },
      ],
      next: 3,
      length: 3,
    })
    // The first worker has lost its lease.
    expect((await send(append(first, 3, ['4']))).verdict).toBe('cancelled')
  })

  it('answers a repeat as the first, and appends nothing', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const lease = await begin(bench)
    const twice = [append(lease, 0, ['1', '2']), append(lease, 0, ['1', '2'])]
    expect((await store.execute(twice)).map(({ value }) => value)).toEqual([2, 2])
    await send(append(lease, 2, ['3']))
    expect((await send(append(lease, 0, ['1', '2']))).value).toBe(2)
    expect((await send(append(lease, 1, ['2', '3', '4']))).rejection?.details).toEqual({ next: 3 })
    expect(valuesOf(await page(bench, 0))).toEqual(['1', '2', '3'])
    const task = await store.query({ kind: 'task', job: 'a', stage: 0, segment: 0 })
    expect(task?.streams).toEqual([{ name: 'log', next: 3, lease: 1, since: 0 }])
  })

  it('ends a page behind the value that makes it large, and goes over many entries', async () => {
    const bench = await setUp(kind)
    const { store } = bench
    const lease = await begin(bench)
    const large = `"${'x'.repeat(600_000)}"`
    await store.execute([append(lease, 0, [large, large, large])])
    const first = await page(bench, 0)
    expect([valuesOf(first).length, first.next, first.length]).toEqual([2, 2, 3])
    expect(valuesOf(await page(bench, 2))).toEqual([large])
    const many = numbers(3, 603).map((value, i) => append(lease, 3 + i, [value]))
    await store.execute(many)
    expect(valuesOf(await page(bench, 3, 5))).toEqual(numbers(3, 8))
    expect(valuesOf(await page(bench, 600))).toEqual(numbers(600, 603))
  })

  it('keeps those of segments apart, and knows when there is no such task', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const work = stage('work', { each: 'input' })
    await send({ type: 'SubmitJob', job: 'p', spec: pipeline([work], { input: '[1,2]' }) })
    await send({ type: 'OpenStage', job: 'p', stage: 0 })
    const channels = [{ ...CHANNEL, stage: 'work' }]
    const leases = await store.claim(claim({ max: 2, channels }))
    for (const offset of [0, 1]) {
      for (const lease of leases) await send(append(lease, offset, [`${lease.segment}`]))
    }
    const at = { job: 'p', stage: 0, name: 'log', from: 0, limit: 9 }
    const read = async (segment: number): Promise<StreamPage | null> =>
      store.query({ kind: 'stream', ...at, segment })
    expect(valuesOf((await read(0)) as StreamPage)).toEqual(['0', '0'])
    expect(valuesOf((await read(1)) as StreamPage)).toEqual(['1', '1'])
    expect(await read(2)).toBeNull()
    expect(await store.query({ kind: 'stream', ...at, segment: 0, job: 'none' })).toBeNull()
  })

  it('begins anew with another life of an id', async () => {
    const bench = await setUp(kind)
    const { send, clock } = bench
    const lease = await begin(bench)
    await send(append(lease, 0, ['"old"', '"old"']))
    await send(commit(lease))
    clock.time += 10
    await send({ type: 'ForgetJob', job: 'a', endedBefore: clock.time })
    const next = await begin(bench, 'a', 2)
    expect(await page(bench, 0)).toEqual({ pieces: [], next: 0, length: 0 })
    await send(append(next, 0, ['"new"']))
    expect(valuesOf(await page(bench, 0))).toEqual(['"new"'])
  })
})
