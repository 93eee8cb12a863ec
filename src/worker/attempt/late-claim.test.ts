/** Claims whose answers took longer than a lease: nothing is begun BEFORE the store says that the lease holds. */
import { expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../../test/support/engines.ts'
import type { HookedStore } from '../../../test/support/hooked-store.ts'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import type { Handle } from '../../index.ts'
import { job } from '../../index.ts'
import type { Command } from '../../kernel/index.ts'
import { realTiming } from '../../store/clock.ts'
import type { Worker } from '../loop/worker.ts'

const LEASE_MS = 30_000

interface Scene {
  readonly store: HookedStore
  readonly worker: Worker
  readonly handle: Handle
  /** Times of the handler's attempts. */
  readonly runs: number[]
  /** The store has got an extension, and waits for `answer`. */
  readonly asked: Promise<void>
  readonly answer: (error?: Error) => void
}

/** A worker with a lease that it was granted, by its own measure, too long ago. */
async function lateClaim(): Promise<Scene> {
  let now = 0
  const { pawl, store } = hookedEngine({ timing: { ...realTiming(), now: () => now } })
  onTestFinished(() => pawl.close())
  const runs: number[] = []
  const late = job('late', {
    lease: LEASE_MS,
    run: ({ job: { attempt } }) => void runs.push(attempt),
  })
  const handle = await pawl.submit(late)
  const claim = store.claim.bind(store)
  store.claim = async (request) => {
    const claimed = await claim(request)
    if (claimed.length > 0) now += 2 * LEASE_MS
    return claimed
  }
  const asked = deferred()
  const answer = deferred()
  store.beforeExecute = async (commands) => {
    if (!commands.some(isExtension)) return
    asked.resolve()
    await answer.promise
  }
  const worker = pawl.work([late], { poll: '1h', shutdown: 1 })
  const settle = (error?: Error): void => {
    if (error === undefined) answer.resolve()
    else answer.reject(error)
  }
  return { store, worker, handle, runs, asked: asked.promise, answer: settle }
}

function isExtension({ type }: Command): boolean {
  return type === 'ExtendLease'
}

it('a late claim is begun once the store has extended its lease, and not before', async () => {
  const { handle, runs, asked, answer } = await lateClaim()
  await asked
  await new Promise((resolve) => setImmediate(resolve))
  expect(runs).toEqual([])
  answer()
  await handle.result()
  expect(runs).toEqual([1])
})

it('a late claim whose lease was taken away meanwhile is not begun', async () => {
  const { handle, worker, store, runs, asked, answer } = await lateClaim()
  await asked
  store.claim = async () => []
  const at = { job: handle.id, stage: 0, segment: 0, lease: 1 }
  await store.execute([{ type: 'RevokeLease', ...at, by: 'ops', reason: 'test' }])
  answer()
  await expect.poll(() => worker.running).toBe(0)
  expect(runs).toEqual([])
})

it('a late claim that the store cannot confirm is not begun, and its lease runs out', async () => {
  const { handle, worker, runs, asked, answer } = await lateClaim()
  await asked
  answer(new Error('away again'))
  await expect.poll(() => worker.running).toBe(0)
  expect(runs).toEqual([])
  expect(await handle.state()).toBe('RUNNING')
})

it('a late claim is given back by a worker that must end before the store has answered', async () => {
  const { handle, worker, runs, asked, answer } = await lateClaim()
  await asked
  const stopping = worker.stop()
  // AFTER the time that the worker has to stop.
  setTimeout(answer, 20)
  await stopping
  expect(runs).toEqual([])
  expect(await handle.state()).toBe('QUEUED')
})
