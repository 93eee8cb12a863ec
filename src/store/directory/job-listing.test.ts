/** Lists of jobs in quarantine, which are in memory: what the filter leaves out is not read. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import { plain, policy, retry } from '../../../test/support/specs.ts'
import { errorFingerprint, fingerprintOf } from '../../kernel/index.ts'
import { LiveFile } from '../../log/index.ts'
import type { DirectoryStore, QueryOf } from '../index.ts'
import { openDirectory } from '../index.ts'

const COUNT = 60
const QUEUES = ['mail', 'media', 'billing']

function errorOf(i: number) {
  return { code: `Code${i % 4}`, message: 'no', type: 'RETRYABLE', stack: null } as const
}

/** Jobs in quarantine in three queues, of four errors, whose specs have left memory. */
async function opened(): Promise<DirectoryStore> {
  const store = await openDirectory('/store', {
    disk: new SimDisk(),
    clock: { now: () => 1_000 },
    own: async () => ({ release: async () => undefined }),
  })
  const once = { ...retry(), max: 0 }
  const specOf = (i: number) =>
    plain({ policy: policy({ queue: QUEUES[i % 3] as string, retry: once }) })
  await store.execute(
    Array.from({ length: COUNT }, (_, i) => {
      return { type: 'SubmitJob', job: `job ${i}`, spec: specOf(i) } as const
    }),
  )
  const channels = QUEUES.map((queue) => ({ queue, type: 'test', stage: null }))
  const claim = { worker: 'w', request: 1, channels, max: COUNT, started: true }
  const claimed = await store.claim(claim)
  await store.execute(
    claimed.map(({ job, stage, segment, lease }) => {
      const error = errorOf(Number(job.slice(4)))
      return { type: 'FailTask', job, stage, segment, lease, worker: 'w', error } as const
    }),
  )
  await store.checkpoint()
  return store
}

async function listed(store: DirectoryStore, filter: Partial<QueryOf<'jobs'>>): Promise<string[]> {
  const { jobs } = await store.query({ kind: 'jobs', limit: 1_000, ...filter })
  return jobs.map(({ id }) => id)
}

it('have those of a queue, a type and an error from either end, and read no others', async () => {
  const store = await opened()
  const spy = vi.spyOn(LiveFile.prototype, 'spec')
  onTestFinished(() => spy.mockRestore())
  const state = 'QUARANTINED'
  expect(await listed(store, { state, queue: 'none' })).toEqual([])
  expect(await listed(store, { state, type: 'none', newest: true })).toEqual([])
  expect(await listed(store, { state, error: 'none' })).toEqual([])
  expect(spy).not.toHaveBeenCalled()
  const all = Array.from({ length: COUNT }, (_, i) => i)
  const media = all.filter((i) => i % 3 === 1).map((i) => `job ${i}`)
  expect(await listed(store, { state, queue: 'media' })).toEqual(media)
  expect(spy.mock.calls.length).toBeLessThanOrEqual(media.length)
  expect(await listed(store, { state, queue: 'media', newest: true })).toEqual(media.toReversed())
  const error = fingerprintOf(errorOf(2))
  const ofError = all.filter((i) => i % 4 === 2).map((i) => `job ${i}`)
  expect(await listed(store, { error, newest: true })).toEqual(ofError.toReversed())
  const page = await store.query({ kind: 'jobs', error, newest: true, limit: 5 })
  const after = page.next as number
  expect(await listed(store, { error, newest: true, after })).toEqual(ofError.toReversed().slice(5))
  const view = await store.query({ kind: 'job', job: 'job 2' })
  expect(errorFingerprint(view?.job ?? { task: null, cancelled: null })).toBe(error)
  await store.close()
})
