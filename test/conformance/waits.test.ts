/**
 * What a worker gets with a lease of a task that waited, on every store: its waits and how they ended, messages
 * that nothing took, how far its streams came, and which version recorded it.
 */
import { describe, expect, it } from 'vitest'
import type { Command, WaitSpec } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { plain } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { claim, reportOf, setUp, STORES } from './bench.ts'

const NOTHING = { schema: null, ask: null, dueAt: null, callee: null }
const approval: WaitSpec = { name: 'ask', message: 'approval', delayMs: 5_000, ...NOTHING }
const nap: WaitSpec = { name: 'nap', message: null, delayMs: 100, ...NOTHING }

function send(id: string, value: string, name = 'approval'): Command {
  const to = { job: 'a', stage: 0, segment: 0 }
  return { type: 'SendMessage', ...to, id, name, value, checked: null, by: 'ada', reason: 'why' }
}

function suspend(lease: Claimed, needs: 'any' | 'all', waits: readonly WaitSpec[]): Command {
  const report = { ...reportOf(lease), needs, waits, unfit: [], definitionVersion: 3 }
  return { type: 'SuspendExecution', ...report }
}

async function next({ store }: Bench, request: number): Promise<Claimed | undefined> {
  const [lease] = await store.claim(claim({ request }))
  return lease
}

describe.each(Object.keys(STORES))('of waits, the %s store', (kind) => {
  it('gives nothing of them with the lease of a task that never waited', async () => {
    const bench = await setUp(kind)
    await bench.send({ type: 'SubmitJob', job: 'a', spec: plain() })
    const lease = await next(bench, 1)
    expect(lease).toMatchObject({ waiting: null, streams: [], recordedBy: 0 })
  })

  it('gives the record with the next lease, which comes when a wait has ended', async () => {
    const bench = await setUp(kind)
    await bench.send({ type: 'SubmitJob', job: 'a', spec: plain() })
    const first = (await next(bench, 1)) as Claimed
    const values = { name: 'log', offset: 0, values: ['1', '2'] }
    await bench.send({ type: 'AppendStream', ...reportOf(first), ...values })
    await bench.send(send('other', '7', 'note'))
    expect(await bench.send(suspend(first, 'any', [approval, nap]))).toMatchObject({
      verdict: 'committed',
    })
    expect(await next(bench, 2)).toBeUndefined()
    expect((await bench.store.query({ kind: 'job', job: 'a' }))?.state).toBe('SUSPENDED')
    const page = await bench.store.query({ kind: 'jobs', state: 'SUSPENDED', limit: 10 })
    expect(page.jobs.map(({ id }) => id)).toEqual(['a'])
    await bench.send(send('m', '"yes"'))
    const second = (await next(bench, 3)) as Claimed
    expect(second.waiting).toMatchObject({
      waits: [
        { name: 'ask', endedBy: 'message', value: '"yes"', until: 6_000 },
        { name: 'nap', endedAt: null, until: 1_100 },
      ],
      messages: [{ id: 'other', name: 'note', value: '7', state: 'KEPT' }],
    })
    expect(second).toMatchObject({ attempt: 2, recordedBy: 3, streams: [{ name: 'log', next: 2 }] })
  })

  it('grants a task again at the time of its wait, which that grant ends', async () => {
    const bench = await setUp(kind)
    await bench.send({ type: 'SubmitJob', job: 'a', spec: plain() })
    await bench.send(suspend((await next(bench, 1)) as Claimed, 'all', [nap]))
    bench.clock.time += 99
    expect(await next(bench, 2)).toBeUndefined()
    bench.clock.time += 1
    const lease = await next(bench, 3)
    expect(lease?.waiting?.waits).toMatchObject([{ name: 'nap', endedBy: 'time', value: null }])
  })
})
