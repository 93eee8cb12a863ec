/** What every store grants a worker beyond its places, and what it does not. */
import { describe, expect, it } from 'vitest'
import type { JobSpec } from '../../src/kernel/index.ts'
import type { Claimed } from '../../src/store/index.ts'
import { BadRequest } from '../../src/store/index.ts'
import { onRecord, pipeline, plain, promise, stage } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { claim, commit, reportOf, setUp, STORES } from './bench.ts'

const LIMIT = { key: 'k', concurrency: 9, rate: null }

/** None of these may be claimed ahead, though a worker with a place gets them. */
const NOT_AHEAD: Readonly<Record<string, JobSpec>> = {
  'has a limit': plain({}, { limits: [LIMIT] }),
  'is in a group': plain({ group: 'g' }),
  'has a time to start by': plain({ startWithinMs: 60_000 }),
}

async function submitAll({ send, clock }: Bench, jobs: Record<string, JobSpec>): Promise<void> {
  for (const [job, spec] of Object.entries(jobs)) {
    await send({ type: 'SubmitJob', job, spec })
    // They wait in this order.
    clock.time += 1
  }
}

function shown(claimed: readonly Claimed[]): string[] {
  return claimed.map(({ job, isStarted }) => `${job} ${isStarted ? 'started' : 'ahead'}`)
}

describe.each(Object.keys(STORES))('ahead of its places, the %s store', (kind) => {
  it('grants what waits in the worker without the start, behind what has a place', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await submitAll(bench, { a: plain(), b: plain(), c: plain(), d: plain() })
    const claimed = await store.claim(claim({ max: 1, ahead: 2 }))
    expect(shown(claimed)).toEqual(['a started', 'b ahead', 'c ahead'])
    // Asking again gets the same.
    expect(shown(await store.claim(claim({ max: 1, ahead: 2 })))).toEqual(shown(claimed))
    for (const one of claimed) expect((await send(commit(one))).verdict).toBe('committed')
    const entries = await store.query({ kind: 'history', job: 'b', limit: 9 })
    expect(entries?.map(({ entry }) => entry.type)).toEqual([
      'JobSubmitted',
      'LeaseGranted',
      'ExecutionCommitted',
    ])
  })

  it('grants nothing but ahead to a worker without places', async () => {
    const bench = await setUp(kind)
    await submitAll(bench, { a: plain(), b: plain() })
    expect(shown(await bench.store.claim(claim({ max: 0, ahead: 5 })))).toEqual([
      'a ahead',
      'b ahead',
    ])
  })

  it('grants ahead what a stage consists of', async () => {
    const bench = await setUp(kind)
    const { store } = bench
    const spec = pipeline([stage('many', { each: 'input' })], { input: '[1,2,3]' })
    await submitAll(bench, { p: spec })
    await store.execute(await store.query({ kind: 'upkeep', limit: 100 }))
    const channels = [{ queue: 'default', type: 'test', stage: 'many' }]
    const claimed = await store.claim(claim({ channels, max: 1, ahead: 5 }))
    expect(claimed.map(({ segment, isStarted }) => [segment, isStarted])).toEqual([
      [0, true],
      [1, false],
      [2, false],
    ])
  })

  it.each(Object.keys(NOT_AHEAD))(
    'stops at a task that %s, and passes it over for none',
    async (why) => {
      const bench = await setUp(kind)
      const { store } = bench
      const spec = NOT_AHEAD[why] as JobSpec
      // In this order, whichever group has its turn.
      const c = { ...spec, priority: -1 }
      await submitAll(bench, { a: plain(), b: plain(), c, d: plain({ priority: -2 }) })
      const first = await store.claim(claim({ max: 1, ahead: 5 }))
      expect(shown(first)).toEqual(['a started', 'b ahead'])
      expect(await store.claim(claim({ request: 2, max: 0, ahead: 5 }))).toEqual([])
      const third = await store.claim(claim({ request: 3, max: 1, ahead: 5 }))
      expect(shown(third)).toEqual(['c started', 'd ahead'])
    },
  )

  it('grants nothing ahead of a queue with limits of its own', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    const own = { queue: 'default', rate: null, ageingMs: null, ...onRecord }
    await send({ type: 'ConfigureQueue', ...own, concurrency: 9 })
    await submitAll(bench, { a: plain(), b: plain() })
    expect(shown(await store.claim(claim({ max: 1, ahead: 5 })))).toEqual(['a started'])
    await send({ type: 'ConfigureQueue', ...own, concurrency: null })
    expect(shown(await store.claim(claim({ request: 2, max: 0, ahead: 5 })))).toEqual(['b ahead'])
  })

  it('grants a task whose last lease was lost only where there is a place', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await submitAll(bench, { a: plain() })
    const [lost] = (await store.claim(claim({ max: 0, ahead: 1 }))) as [Claimed]
    const { job, stage: at, segment, lease } = lost
    await send({ type: 'RevokeLease', job, stage: at, segment, lease, ...onRecord })
    expect(await store.claim(claim({ request: 2, max: 0, ahead: 5 }))).toEqual([])
    expect(shown(await store.claim(claim({ request: 3, max: 1, ahead: 5 })))).toEqual(['a started'])
  })

  it('grants what resumes a commit only where there is a place', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await submitAll(bench, { a: plain() })
    const [leased] = (await store.claim(claim())) as [Claimed]
    await send({ ...commit(leased), effects: [promise()] } as ReturnType<typeof commit>)
    await send({ type: 'ReleaseLease', ...reportOf(leased) })
    expect(await store.claim(claim({ request: 2, max: 0, ahead: 5 }))).toEqual([])
    expect(shown(await store.claim(claim({ request: 3, max: 1, ahead: 5 })))).toEqual(['a started'])
  })

  it('takes back what was claimed ahead and lost, for nothing the first time', async () => {
    const bench = await setUp(kind)
    const { store, clock } = bench
    await submitAll(bench, { a: plain({}, { leaseMs: 100 }) })
    for (const [request, retries] of [0, 1, 2].entries()) {
      // A task that was lost is not claimed ahead again.
      const asked = request === 0 ? { max: 0, ahead: 1 } : { max: 1, started: false }
      expect(await store.claim(claim({ request: request + 1, ...asked }))).toHaveLength(1)
      clock.time += 100
      await store.execute(await store.query({ kind: 'upkeep', limit: 100 }))
      const view = await store.query({ kind: 'job', job: 'a' })
      expect(view?.job.task).toMatchObject({ state: 'WAITING', retries })
    }
  })

  it('refuses a claim for what is no number ahead', async () => {
    const { store } = await setUp(kind)
    for (const ahead of [-1, 0.5, Number.NaN]) {
      await expect(store.claim(claim({ ahead }))).rejects.toThrow(BadRequest)
    }
  })
})
