/**
 * Counts, queues, lists and bulk actions as an operator uses them, on every store.
 */
import { describe, expect, it } from 'vitest'
import type { Counts, Pawl } from '../../src/index.ts'
import { job, pipeline, typed } from '../../src/index.ts'
import { EVERY_ENGINE } from '../support/engines.ts'

const mail = job('mail', {
  input: typed<string>(),
  queue: 'mails',
  retry: { max: 0 },
  run: ({ input }) => {
    if (input.startsWith('bad'))
      throw Object.assign(new Error(`No box ${input}`), { code: 'ENOBOX' })
    return input
  },
})
const report = job('report', { input: typed<string>(), run: ({ input }) => input })
const video = pipeline('video', { input: typed<string>() }).stage('cut', { run: () => 1 })

function items(names: readonly string[], tags: readonly string[] = []) {
  return names.map((name) => ({ input: name, options: { id: name, tags } }))
}

async function workOff(pawl: Pawl, ids: readonly string[]): Promise<void> {
  const worker = pawl.work([mail, video])
  await Promise.all(
    ids.map((id) =>
      pawl
        .handle(id)
        .result()
        .catch(() => undefined),
    ),
  )
  await worker.stop()
}

/** Only what is not 0. */
function left(of: object): unknown {
  return Object.fromEntries(Object.entries(of).filter(([, count]) => count !== 0))
}

function some({ states, groups }: Counts): unknown[] {
  return [left(states), ...groups.map(({ name, states: own }) => [name, left(own)])]
}

async function listed(pawl: Pawl, filter: Parameters<Pawl['list']>[0]): Promise<string[]> {
  return (await pawl.list(filter)).jobs.map(({ id }) => id)
}

/** Five mails of which two are bad, a pipeline, and then three reports that wait. */
async function fill(pawl: Pawl): Promise<void> {
  await pawl.submitMany(mail, items(['good 1', 'bad 2', 'good 3', 'bad 4', 'good 5'], ['red']))
  await pawl.submit(video, 'v', { id: 'video' })
  await workOff(pawl, ['good 1', 'bad 2', 'good 3', 'bad 4', 'good 5', 'video'])
  // The reports are of a later millisecond than what was done.
  const doneBy = Date.now()
  await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(doneBy + 1)
  await pawl.submitMany(report, items(['r 1', 'r 2'], ['red', 'blue']))
  await pawl.submit(report, 'r 3', { id: 'r 3', delay: '1h' })
  await pawl.upkeep()
}

describe.each(EVERY_ENGINE)('an operator %s', (_name, open) => {
  it('counts jobs by state, type, queue, tag and error, and sees the queues', async () => {
    const pawl = await open()
    await fill(pawl)
    await pawl.pause('mails')
    const all = { SUCCEEDED: 4, QUARANTINED: 2, QUEUED: 2, CREATED: 1 }
    expect(some(await pawl.counts())).toEqual([all])
    expect((await pawl.counts()).total).toBe(9)
    expect(some(await pawl.counts({ by: 'type' }))).toEqual([
      all,
      ['mail', { SUCCEEDED: 3, QUARANTINED: 2 }],
      ['report', { QUEUED: 2, CREATED: 1 }],
      ['video', { SUCCEEDED: 1 }],
    ])
    expect(some(await pawl.counts({ by: 'queue', type: 'mail' }))).toEqual([
      { SUCCEEDED: 3, QUARANTINED: 2 },
      ['mails', { SUCCEEDED: 3, QUARANTINED: 2 }],
    ])
    expect(some(await pawl.counts({ by: 'tag', limit: 1 }))).toEqual([all, ['blue', { QUEUED: 2 }]])
    const { next } = await pawl.counts({ by: 'tag', limit: 1 })
    expect(some(await pawl.counts({ by: 'tag', after: next as string }))).toEqual([
      all,
      ['red', { SUCCEEDED: 3, QUARANTINED: 2, QUEUED: 2 }],
    ])
    expect(some(await pawl.counts({ tag: 'red', type: 'report' }))).toEqual([{ QUEUED: 2 }])
    const errors = await pawl.counts({ by: 'error' })
    expect(errors.groups).toMatchObject([{ total: 2, sample: { code: 'ENOBOX', id: 'bad 4' } }])
    const sizes = async (filter: Parameters<Pawl['counts']>[0]): Promise<unknown> =>
      (await pawl.counts(filter)).groups.map(({ name, total }) => [name, total])
    expect(await sizes({ by: 'tag', largest: 'ALL', limit: 1 })).toEqual([['red', 7]])
    expect(await sizes({ by: 'type', largest: 'QUEUED' })).toEqual([['report', 3]])
    expect(await sizes({ by: 'error', largest: 'FAILED' })).toEqual([])
    const queues = await pawl.queues()
    expect(
      queues.map(({ name, pausedAt, states }) => [name, pausedAt !== null, states.QUEUED]),
    ).toEqual([
      ['default', false, 2],
      ['mails', true, 0],
    ])
  })

  it('lists jobs newest first, by error, by worker and by time', async () => {
    const pawl = await open()
    await fill(pawl)
    const newest = { order: 'newest' } as const
    expect(await listed(pawl, { ...newest, limit: 2 })).toEqual(['r 3', 'r 2'])
    const { next } = await pawl.list({ ...newest, limit: 2 })
    expect(await listed(pawl, { ...newest, limit: 2, after: next as number })).toEqual([
      'r 1',
      'video',
    ])
    const [error] = (await pawl.counts({ by: 'error' })).groups
    expect(await listed(pawl, { error: error?.name as string })).toEqual(['bad 2', 'bad 4'])
    expect(await listed(pawl, { state: 'SUCCEEDED', type: 'mail', ...newest })).toEqual([
      'good 5',
      'good 3',
      'good 1',
    ])
    const first = await pawl.get('r 1')
    const since = first?.submittedAt as Date
    expect(await listed(pawl, { submittedFrom: since })).toEqual(['r 1', 'r 2', 'r 3'])
    expect(await listed(pawl, { completedFrom: 0, completedBefore: since })).toEqual([
      'good 1',
      'good 3',
      'good 5',
      'video',
    ])
    expect(await listed(pawl, { worker: 'none' })).toEqual([])
    await expect(pawl.list({ state: 'DONE' as 'FAILED' })).rejects.toThrow(/is one of CREATED/)
  })

  it('does one thing to all jobs that a filter lets through, after a look at how many', async () => {
    const pawl = await open()
    await fill(pawl)
    const dry = await pawl.bulk('retry', { type: 'mail' }, { dryRun: true })
    expect(dry).toMatchObject({
      matched: 2,
      done: 0,
      samples: ['bad 2', 'bad 4'],
      isComplete: true,
    })
    expect(await pawl.bulk('retry', { type: 'mail' })).toMatchObject({
      matched: 2,
      done: 2,
      left: 0,
    })
    await workOff(pawl, ['bad 2', 'bad 4'])
    expect(await pawl.bulk('discard', { tag: 'red' }, { by: 'ann', reason: 'old' })).toMatchObject({
      done: 2,
    })
    expect((await pawl.get('bad 2'))?.state).toBe('FAILED')
    expect(await pawl.bulk('reschedule', { type: 'report' }, { queue: 'later' })).toMatchObject({
      done: 3,
    })
    expect(await listed(pawl, { queue: 'later' })).toEqual(['r 1', 'r 2', 'r 3'])
    const again = { name: 'after the fix' }
    expect(await pawl.bulk('rerun', { state: 'FAILED' }, again)).toMatchObject({ done: 2 })
    expect(await pawl.bulk('rerun', { state: 'FAILED' }, again)).toMatchObject({ done: 2 })
    expect((await pawl.counts({ type: 'mail' })).total).toBe(7)
    expect(await pawl.bulk('cancel', { all: true })).toMatchObject({ matched: 5, done: 5 })
    expect(some(await pawl.counts())).toEqual([{ SUCCEEDED: 4, FAILED: 7 }])
  })

  it('may stop in the middle, and goes on with the rest when it is asked again', async () => {
    const pawl = await open()
    await pawl.submitMany(report, items(Array.from({ length: 12 }, (_, i) => `r ${i}`)))
    const stop = new AbortController()
    const reports: number[] = []
    const stopped = await pawl.bulk(
      'cancel',
      { type: 'report' },
      {
        rate: { count: 500, per: '10s' },
        signal: stop.signal,
        onProgress: ({ done }) => {
          reports.push(done)
          if (done >= 5) stop.abort()
        },
      },
    )
    expect(stopped).toMatchObject({ done: 5, isComplete: false })
    expect(reports).toEqual([5])
    expect(await pawl.bulk('cancel', { type: 'report' })).toMatchObject({ done: 7, left: 0 })
  })
})
