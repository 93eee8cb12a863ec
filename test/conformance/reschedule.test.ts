/** Waiting tasks that are given another time, priority or queue, on every store. */
import { describe, expect, it } from 'vitest'
import type { CommandOf, JobSpec } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { failure, onRecord, pipeline, plain, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { CHANNEL, claim, commit, reportOf, setUp, STORES } from './bench.ts'

function reschedule(
  job: string,
  changes: Partial<CommandOf<'RescheduleTask'>>,
): CommandOf<'RescheduleTask'> {
  const address = { job, stage: 0, segment: 0, attempt: 0 }
  const same = { dueAt: null, priority: null, toQueue: null }
  return { type: 'RescheduleTask', ...address, ...same, ...onRecord, ...changes }
}

async function submitAll({ send, clock }: Bench, jobs: Record<string, JobSpec>): Promise<void> {
  for (const [job, spec] of Object.entries(jobs)) {
    await send({ type: 'SubmitJob', job, spec })
    clock.time += 1
  }
}

async function claimed({ store }: Bench, request: number, queue = 'default'): Promise<string[]> {
  const channels = [{ ...CHANNEL, queue }]
  const leases = await store.claim(claim({ request, max: 9, channels }))
  return leases.map(({ job }) => job)
}

async function queueView(
  { store }: Bench,
  queue: string,
): Promise<{ readonly ready: number; readonly held: number }> {
  return store.query({ kind: 'queue', queue })
}

describe.each(Object.keys(STORES))('of tasks that are rescheduled, the %s store', (kind) => {
  it('grants one earlier, one later, and says who asked for it', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await submitAll(bench, { a: plain(), b: plain({ delayMs: 5_000 }) })
    const later = reschedule('a', { dueAt: clock.time + 100 })
    expect((await send(later)).verdict).toBe('committed')
    expect((await send(reschedule('b', { dueAt: clock.time }))).verdict).toBe('committed')
    expect(await claimed(bench, 1)).toEqual(['b'])
    // Sent again, it is as it was asked to be.
    expect((await send(later)).verdict).toBe('committed')
    clock.time += 100
    expect(await claimed(bench, 2)).toEqual(['a'])
    const history = await store.query({ kind: 'history', job: 'a', limit: 9 })
    expect(history?.map(({ entry }) => entry.type)).toEqual([
      'JobSubmitted',
      'TaskRescheduled',
      'LeaseGranted',
    ])
    expect(history?.[1]?.entry).toMatchObject(onRecord)
  })

  it('grants by the new priority', async () => {
    const bench = await setUp(kind)
    await submitAll(bench, { a: plain(), b: plain(), c: plain({ priority: 1 }) })
    await bench.send(reschedule('b', { priority: 5 }))
    await bench.send(reschedule('c', { priority: -1 }))
    expect(await claimed(bench, 1)).toEqual(['b', 'a', 'c'])
  })

  it('grants from the new queue, and counts it there', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await submitAll(bench, { a: plain(), b: plain() })
    await send({ type: 'PauseQueue', queue: 'default', ...onRecord })
    await send(reschedule('a', { toQueue: 'other' }))
    expect((await queueView(bench, 'default')).ready).toBe(1)
    expect((await queueView(bench, 'other')).ready).toBe(1)
    expect(await claimed(bench, 1)).toEqual([])
    expect(await claimed(bench, 2, 'other')).toEqual(['a'])
    expect((await queueView(bench, 'other')).held).toBe(1)
    const [lost] = (await store.claim(
      claim({ request: 2, channels: [{ ...CHANNEL, queue: 'other' }] }),
    )) as [Claimed]
    await send({ type: 'FailTask', ...reportOf(lost), error: failure(), delayMs: 0 })
    await send(reschedule('a', { attempt: 1, toQueue: 'third', dueAt: clock.time }))
    expect(await claimed(bench, 3, 'third')).toEqual(['a'])
    expect((await queueView(bench, 'other')).held).toBe(0)
  })

  it('lists it once, whether it was due or not, and whatever is left where it was', async () => {
    const bench = await setUp(kind)
    const { send, clock } = bench
    await submitAll(bench, { a: plain(), b: plain(), c: plain(), d: plain({ delayMs: 50 }) })
    await send(reschedule('a', { priority: 5 }))
    await send(reschedule('b', { dueAt: clock.time + 20 }))
    await send(reschedule('d', { priority: 3 }))
    expect((await queueView(bench, 'default')).ready).toBe(2)
    expect(await claimed(bench, 1)).toEqual(['a', 'c'])
    expect(await queueView(bench, 'default')).toMatchObject({ ready: 0, held: 2 })
    clock.time += 100
    expect((await queueView(bench, 'default')).ready).toBe(2)
    expect(await claimed(bench, 2)).toEqual(['d', 'b'])
    expect(await queueView(bench, 'default')).toMatchObject({ ready: 0, held: 4 })
    expect(await claimed(bench, 3)).toEqual([])
  })

  it('moves the start-by time with the due time, and stops what is late by that', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await submitAll(bench, { a: plain({ startWithinMs: 10 }) })
    await send(reschedule('a', { dueAt: clock.time + 100 }))
    clock.time += 50
    expect(await store.query({ kind: 'upkeep', limit: 9 })).toEqual([])
    clock.time += 61
    expect(await store.query({ kind: 'upkeep', limit: 9 })).toMatchObject([{ type: 'StopTask' }])
  })

  it('refuses what is leased, what was seen at another attempt, and what ends', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await submitAll(bench, { a: plain(), p: pipeline([stage('one')]) })
    await store.execute(await store.query({ kind: 'upkeep', limit: 9 }))
    const [leased] = (await store.claim(claim())) as [Claimed]
    const codes = async (...commands: CommandOf<'RescheduleTask'>[]): Promise<unknown[]> =>
      (await store.execute(commands)).map(({ rejection }) => rejection?.code)
    expect(
      await codes(reschedule('a', { attempt: 1, dueAt: 5 }), reschedule('a', { dueAt: 5 })),
    ).toEqual(['TaskNotWaiting', 'TaskChanged'])
    await send(commit(leased))
    await send({ type: 'CancelJob', job: 'p', ...onRecord })
    expect(await codes(reschedule('p', { dueAt: 5 }))).toEqual(['JobEnding'])
  })
})
