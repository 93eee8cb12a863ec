/** Jobs that a later submit takes the place of, on every store. */
import { describe, expect, it } from 'vitest'
import type { CommandOf, JobSpec } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { failure, onRecord, pipeline, plain, retry, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, STORES } from './bench.ts'

function replace(
  job: string,
  replacement: string,
  changes: Partial<CommandOf<'ReplaceJob'>> = {},
): CommandOf<'ReplaceJob'> {
  const same = { input: `"${replacement}"`, definitionVersion: 1, delayMs: 0, dueAt: null }
  return { type: 'ReplaceJob', job, replacement, ...same, ...onRecord, ...changes }
}

async function submit({ send }: Bench, job: string, spec: JobSpec): Promise<void> {
  expect((await send({ type: 'SubmitJob', job, spec })).verdict).toBe('committed')
}

async function claimed(
  { store }: Bench,
  request: number,
  channel = CHANNEL as Omit<typeof CHANNEL, 'stage'> & { stage: string | null },
): Promise<readonly Claimed[]> {
  return store.claim(claim({ request, max: 9, channels: [channel] }))
}

describe.each(Object.keys(STORES))('of jobs that are replaced, the %s store', (kind) => {
  it('runs the newest input, once, when it is quiet: debounce', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await submit(bench, 'a', plain({ input: '"r0"', key: 'doc', delayMs: 50 }))
    for (const id of ['r1', 'r2', 'r3']) {
      clock.time += 30
      expect(await send(replace('a', id, { delayMs: 50, definitionVersion: 2 }))).toMatchObject({
        verdict: 'committed',
        value: 'a',
      })
      expect(await claimed(bench, clock.time)).toEqual([])
    }
    // Late copies change nothing.
    expect((await send(replace('a', 'r1', { delayMs: 500 }))).verdict).toBe('committed')
    clock.time += 50
    const [lease] = (await claimed(bench, 1)) as [Claimed]
    expect(lease).toMatchObject({ job: 'a', input: '"r3"', version: 2 })
    expect(await store.query({ kind: 'input', job: 'a' })).toBe('"r3"')
    await send(commit(lease))
    const view = await store.query({ kind: 'job', job: 'a' })
    expect(view).toMatchObject({
      state: 'SUCCEEDED',
      job: { replaced: { ids: ['r1', 'r2', 'r3'], input: '"r3"', definitionVersion: 2 } },
    })
    const history = await store.query({ kind: 'history', job: 'a', limit: 9 })
    expect(history.map(({ entry }) => entry.type)).toEqual([
      'JobSubmitted',
      'JobReplaced',
      'JobReplaced',
      'JobReplaced',
      'LeaseGranted',
      'ExecutionCommitted',
    ])
    expect(history[1]?.entry).toMatchObject(onRecord)
  })

  it('keeps the key, and answers a submit with it by the input that will run', async () => {
    const bench = await setUp(kind)
    await submit(bench, 'a', plain({ input: '"r0"', key: 'doc' }))
    await bench.send(replace('a', 'r1'))
    const again = (input: string) =>
      bench.send({ type: 'SubmitJob', job: 'b', spec: plain({ input, key: 'doc' }) })
    expect(await again('"r1"')).toMatchObject({ verdict: 'committed', value: 'a' })
    expect((await again('"r0"')).rejection).toMatchObject({ code: 'KeyReused' })
    await submit(bench, 'a', plain({ input: '"r0"', key: 'doc' }))
  })

  it('takes it out of the line when it is put off, and back in when it is due at once', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await submit(bench, 'a', plain())
    await submit(bench, 'b', plain({ delayMs: 500 }))
    const ready = async (): Promise<number> =>
      (await store.query({ kind: 'queue', queue: 'default' })).ready
    expect(await ready()).toBe(1)
    await send(replace('a', 'r1', { delayMs: 100 }))
    await send(replace('b', 'r1'))
    expect(await ready()).toBe(1)
    expect((await claimed(bench, 1)).map(({ job, input }) => [job, input])).toEqual([['b', '"r1"']])
    clock.time += 99
    expect(await claimed(bench, 2)).toEqual([])
    clock.time += 1
    expect((await claimed(bench, 3)).map(({ job }) => job)).toEqual(['a'])
    expect(await ready()).toBe(0)
  })

  it('counts start-by time and deadline from the newest submit on', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await submit(bench, 'a', plain({ startWithinMs: 50 }))
    await submit(bench, 'b', plain({ deadlineMs: 50, delayMs: 10 }))
    clock.time += 40
    await send(replace('a', 'r1', { delayMs: 40 }))
    await send(replace('b', 'r1', { delayMs: 40 }))
    const due = () => store.query({ kind: 'upkeep', limit: 9 })
    clock.time += 39
    expect(await due()).toEqual([])
    expect(await claimed(bench, 1)).toEqual([])
    clock.time += 11
    expect(await due()).toMatchObject([{ type: 'CancelJob', job: 'b', deadline: true }])
    clock.time += 40
    expect(await due()).toMatchObject([{ type: 'StopTask', job: 'a' }, { type: 'CancelJob' }])
    const codes = (await store.execute([replace('a', 'r2'), replace('b', 'r2')])).map(
      ({ rejection }) => rejection?.code,
    )
    expect(codes).toEqual(['StartByPassed', 'DeadlinePassed'])
  })

  it('is second to a grant: what a worker has is not replaced, then or later', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await submit(bench, 'a', plain({ input: '"r0"' }, { retry: retry({ delayMs: 10 }) }))
    // In one batch: whichever comes first is decided first.
    const grant = { job: 'a', stage: 0, segment: 0, worker: 'w', request: 7, started: true }
    const [granted, refused] = await store.execute([
      { type: 'GrantLease', ...grant },
      replace('a', 'r1'),
    ])
    expect(granted?.verdict).toBe('committed')
    expect(refused?.rejection?.code).toBe('JobBegun')
    const lease = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    await send({ type: 'FailTask', ...lease, error: failure() })
    expect((await send(replace('a', 'r1'))).rejection?.code).toBe('JobBegun')
    clock.time += 10
    const [next] = (await claimed(bench, 8)) as [Claimed]
    expect(next.input).toBe('"r0"')
    await send(commit(next))
    expect((await send(replace('a', 'r1'))).rejection?.code).toBe('JobBegun')
    expect((await send(replace('none', 'r1'))).rejection?.code).toBe('UnknownJob')
  })

  it('begins a job that was to go on from steps with none of them', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await submit(bench, 'a', plain({ steps: [{ name: 'old', value: '1' }] }))
    await send(replace('a', 'r1'))
    const [lease] = (await claimed(bench, 1)) as [Claimed]
    expect(lease.steps).toEqual([])
    const step = { name: 'new', value: '2', definitionVersion: 1 }
    await send({ type: 'RecordStep', ...reportOf(lease), ...step })
    await send({ type: 'ReleaseLease', ...reportOf(lease) })
    const [again] = (await claimed(bench, 2)) as [Claimed]
    expect(again.steps).toEqual([{ name: 'new', value: '2', lease: 1 }])
    const task = await store.query({ kind: 'task', job: 'a', stage: 0, segment: 0 })
    expect(task?.steps).toHaveLength(1)
  })

  it('opens a pipeline by its newest input, and replaces none that is open', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const stages = [stage('work', { each: 'input' })]
    await submit(bench, 'p', pipeline(stages, { input: '[1]', held: true, deadlineMs: 100 }))
    expect((await send(replace('p', 'r1'))).rejection?.code).toBe('InvalidShape')
    await send(replace('p', 'r2', { input: '[1,2,3]', delayMs: 20 }))
    await send({ type: 'ReleaseJob', job: 'p', ...onRecord })
    await store.execute(await store.query({ kind: 'upkeep', limit: 9 }))
    const view = await store.query({ kind: 'job', job: 'p' })
    expect(view?.state).toBe('CREATED')
    expect(view?.stages[0]?.tasks.map(({ dueAt }) => dueAt)).toEqual([1_020, 1_020, 1_020])
    expect((await send(replace('p', 'r3', { input: '[1]' }))).rejection?.code).toBe('JobBegun')
    bench.clock.time += 20
    const [lease] = await claimed(bench, 1, { ...CHANNEL, stage: 'work' })
    expect(lease?.each).toMatchObject({ source: 'input', segments: 3 })
    expect(await store.query({ kind: 'input', job: 'p' })).toBe('[1,2,3]')
  })
})
