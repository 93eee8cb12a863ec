/**
 * Those who wait for jobs that others end: they hear of it by news, or find it out by themselves.
 */
import { describe, expect, it } from 'vitest'
import type { Query } from '../../store/index.ts'
import { MemoryStore } from '../../store/index.ts'
import { plain } from '../../../test/support/specs.ts'
import { Results } from './results.ts'
import type { Timing } from '../../store/clock.ts'

/** Time that only a test moves. */
class Alone extends MemoryStore {
  readonly asked: Query[] = []

  constructor() {
    super({ now: () => 0 })
  }

  override query(query: never): never {
    this.asked.push(query)
    return super.query(query) as never
  }
}

/** One that others change, too. */
class Elsewhere extends Alone {
  onNews(): () => void {
    return () => undefined
  }
}

interface Planned {
  readonly ms: number
  readonly call: () => void
  readonly kept: boolean
}

function setUp(store: Alone = new Elsewhere()): {
  store: Alone
  results: Results
  planned: Set<Planned>
} {
  const planned = new Set<Planned>()
  const timing: Timing = {
    now: () => 0,
    steadyNow: () => 0,
    soon: (call) => call(),
    after(ms, call, kept = false) {
      const one = { ms, call, kept }
      planned.add(one)
      return { cancel: () => void planned.delete(one) }
    },
  }
  return { store, results: new Results(store, timing), planned }
}

async function submit(store: Alone, ...jobs: readonly string[]): Promise<void> {
  await store.execute(jobs.map((job) => ({ type: 'SubmitJob', job, spec: plain() }) as const))
}

async function cancel(store: Alone, job: string): Promise<void> {
  await store.execute([{ type: 'CancelJob', job, by: 'ann', reason: 'enough' }])
}

describe('calls that wait for jobs of a shared store', () => {
  it('are told by news, all with one question', async () => {
    const { store, results, planned } = setUp()
    await submit(store, 'a', 'b', 'c')
    const waiters = ['a', 'b', 'c'].map((job) => results.waitFor(job))
    await expect.poll(() => store.asked.length).toBe(3)
    await cancel(store, 'a')
    await cancel(store, 'c')
    results.onNews()
    expect(await waiters[0]?.outcome).toMatchObject({ state: 'FAILED' })
    expect(await waiters[2]?.outcome).toMatchObject({ state: 'FAILED' })
    expect(store.asked.slice(3)).toEqual([{ kind: 'ended', jobs: ['a', 'b', 'c'] }])
    expect([...planned].map(({ kept }) => kept)).toEqual([true])
  })

  it('find out by themselves if there are no news, and keep the process alive so long', async () => {
    const { store, results, planned } = setUp()
    await submit(store, 'a')
    const waiter = results.waitFor('a')
    await expect.poll(() => store.asked.length).toBe(1)
    await cancel(store, 'a')
    const [plan] = planned
    expect(plan).toMatchObject({ ms: 1_000, kept: true })
    plan?.call()
    expect(await waiter.outcome).toMatchObject({ state: 'FAILED' })
    expect(planned.size).toBe(0)
  })

  it('who does not wait any longer keeps nothing alive', async () => {
    const { store, results, planned } = setUp()
    await submit(store, 'a')
    results.stopWaiting('a', results.waitFor('a'))
    expect(planned.size).toBe(0)
    results.onNews()
    expect(store.asked.filter(({ kind }) => kind === 'ended')).toEqual([])
  })

  it('fail if the store does', async () => {
    const { store, results } = setUp()
    await submit(store, 'a')
    const waiter = results.waitFor('a')
    await expect.poll(() => store.asked.length).toBe(1)
    await store.close()
    results.onNews()
    await expect(waiter.outcome).rejects.toMatchObject({ code: 'StoreClosed' })
  })

  it('ask nothing about a job that was just submitted here, until something happens to it', async () => {
    const { store, results } = setUp()
    const commands = ['a', 'b', 'c'].map(
      (job) => ({ type: 'SubmitJob', job, spec: plain() }) as const,
    )
    const since = results.submitting()
    results.answered(commands, await store.execute(commands))
    for (const command of commands.slice(0, 2)) results.noteNew(since, command)
    results.submitted()
    const waiter = results.waitFor('a')
    expect(store.asked).toEqual([])
    // Its id was not made here: it may have been there before.
    results.waitFor('c')
    await expect.poll(() => store.asked).toEqual([{ kind: 'outcome', job: 'c' }])
    await cancel(store, 'a')
    results.onNews()
    expect(await waiter.outcome).toMatchObject({ state: 'FAILED' })
    // Another process did something.
    results.waitFor('b')
    await expect.poll(() => store.asked).toContainEqual({ kind: 'outcome', job: 'b' })
  })

  it('ask about one that something was done to before they began to wait', async () => {
    const { store, results } = setUp()
    const submitting = [{ type: 'SubmitJob', job: 'a', spec: plain() }] as const
    const cancelling = [{ type: 'CancelJob', job: 'a', by: 'ann', reason: 'enough' }] as const
    const since = results.submitting()
    results.answered(submitting, await store.execute(submitting))
    results.noteNew(since, submitting[0])
    results.submitted()
    results.answered(cancelling, await store.execute(cancelling))
    expect(await results.waitFor('a').outcome).toMatchObject({ state: 'FAILED' })
  })

  it('ask about one that was done something to here before the answer to its submit came', async () => {
    const { store, results } = setUp()
    const submitting = [{ type: 'SubmitJob', job: 'a', spec: plain() }] as const
    const cancelling = [{ type: 'CancelJob', job: 'a', by: 'ann', reason: 'enough' }] as const
    const since = results.submitting()
    const answers = await store.execute(submitting)
    results.answered(cancelling, await store.execute(cancelling))
    results.answered(submitting, answers)
    results.noteNew(since, submitting[0])
    results.submitted()
    expect(await results.waitFor('a').outcome).toMatchObject({ state: 'FAILED' })
  })

  it('ask about one that others may have ended before the answer to its submit came', async () => {
    const { store, results } = setUp()
    const submitting = [{ type: 'SubmitJob', job: 'a', spec: plain() }] as const
    const since = results.submitting()
    const answers = await store.execute(submitting)
    await cancel(store, 'a')
    results.onNews()
    results.answered(submitting, answers)
    results.noteNew(since, submitting[0])
    results.submitted()
    const waiter = results.waitFor('a')
    expect(store.asked).toEqual([{ kind: 'outcome', job: 'a' }])
    expect(await waiter.outcome).toMatchObject({ state: 'FAILED' })
  })
})

describe('calls that wait for jobs of a store of one process', () => {
  it('ask nothing about one that was just submitted, and are told by its commit', async () => {
    const { store, results } = setUp(new Alone())
    const submitting = [{ type: 'SubmitJob', job: 'a', spec: plain() }] as const
    const since = results.submitting()
    results.answered(submitting, await store.execute(submitting))
    results.noteNew(since, submitting[0])
    results.submitted()
    const waiter = results.waitFor('a')
    const [claimed] = await store.claim({
      worker: 'w',
      request: 1,
      channels: [{ queue: plain().policy?.queue ?? '', type: plain().type, stage: null }],
      max: 1,
      started: true,
    })
    const address = { job: 'a', stage: 0, segment: 0, lease: claimed?.lease ?? 0, worker: 'w' }
    const commit = [{ type: 'CommitExecution', ...address, output: '"done"', effects: [] }] as const
    results.answered(commit, await store.execute(commit))
    expect(await waiter.outcome).toMatchObject({ state: 'SUCCEEDED', output: '"done"' })
    expect(store.asked).toEqual([])
  })
})
