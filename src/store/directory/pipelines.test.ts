import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import { pipeline, stage } from '../../../test/support/specs.ts'
import { LiveFile, FinishedFile } from '../../log/index.ts'
import type { Disk } from '../../log/index.ts'
import type { Claimed, DirectoryStore, OutputsPage, QueryOf } from '../index.ts'
import { openDirectory } from '../index.ts'

/** How often a spec was read since it was last asked. */
function reads(): () => number {
  const spy = vi.spyOn(LiveFile.prototype, 'spec')
  onTestFinished(() => spy.mockRestore())
  return () => {
    const { length } = spy.mock.calls
    spy.mockClear()
    return length
  }
}

const SEGMENTS = 200
const CHANNELS = ['first', 'many'].map((name) => ({ queue: 'default', type: 'test', stage: name }))
const input = JSON.stringify(Array.from({ length: SEGMENTS }, (_, i) => i))
const spec = pipeline([stage('first'), stage('many', { after: ['first'], each: 'input' })], {
  input,
})

function opened(disk: Disk): Promise<DirectoryStore> {
  return openDirectory('/store', {
    disk,
    clock: { now: () => 1_000 },
    own: async () => ({ release: async () => undefined }),
  })
}

async function take(store: DirectoryStore, request: number, max: number): Promise<number> {
  await store.execute(await store.query({ kind: 'upkeep', limit: 10 }))
  const leases = await store.claim({
    worker: 'w',
    request,
    channels: CHANNELS,
    max,
    started: true,
  })
  await store.execute(
    leases.map(({ job, stage: index, segment, lease }: Claimed) => ({
      type: 'CommitExecution',
      job,
      stage: index,
      segment,
      lease,
      worker: 'w',
      output: '1',
      effects: [],
    })),
  )
  return leases.length
}

describe('a pipeline whose spec has left memory', () => {
  it('reads it a few times, and not once for each of its segments', async () => {
    const disk = new SimDisk()
    const count = reads()
    const store = await opened(disk)
    await store.execute([{ type: 'SubmitJob', job: 'p', spec }])
    await store.checkpoint()
    // Until its first task is taken it is only looked at.
    expect(await take(store, 1, 1)).toBe(1)
    expect(count()).toBeLessThan(20)
    expect(await take(store, 2, SEGMENTS / 2)).toBe(SEGMENTS / 2)
    expect(count()).toBe(0)
    await store.checkpoint()
    await store.close()
    const again = await opened(disk)
    count()
    expect(await take(again, 3, SEGMENTS)).toBe(SEGMENTS / 2)
    expect(count()).toBeLessThan(20)
    const outcome = await again.query({ kind: 'outcome', job: 'p' })
    expect(outcome?.state).toBe('SUCCEEDED')
    await again.close()
  })

  it('reads it a few times when a stage of many segments opens', async () => {
    const disk = new SimDisk()
    const count = reads()
    const wide = pipeline([stage('many', { each: 'input' })], { input })
    const store = await opened(disk)
    await store.execute([{ type: 'SubmitJob', job: 'p', spec: wide }])
    await store.checkpoint()
    await store.execute([{ type: 'OpenStage', job: 'p', stage: 0 }])
    expect(count()).toBeLessThan(30)
    await store.close()
  })

  it('keeps it through a checkpoint while a segment is in hand', async () => {
    const count = reads()
    const store = await opened(new SimDisk())
    await store.execute([{ type: 'SubmitJob', job: 'p', spec }])
    await store.execute(await store.query({ kind: 'upkeep', limit: 10 }))
    const [leased] = await store.claim({
      worker: 'w',
      request: 1,
      channels: CHANNELS,
      max: 1,
      started: true,
    })
    await store.checkpoint()
    await store.query({ kind: 'input', job: leased?.job ?? '' })
    expect(count()).toBe(0)
    await store.close()
  })

  it('that is over is read from its file once while somebody goes through its outputs', async () => {
    const disk = new SimDisk()
    const store = await opened(disk)
    await store.execute([{ type: 'SubmitJob', job: 'p', spec }])
    await take(store, 1, 1)
    await take(store, 2, SEGMENTS)
    await store.checkpoint()
    await store.checkpoint()
    const spy = vi.spyOn(FinishedFile.prototype, 'read')
    onTestFinished(() => spy.mockRestore())
    let pages = 0
    for (let after: number | null = -1; after !== null; pages++) {
      const query: QueryOf<'outputs'> = { kind: 'outputs', job: 'p', stage: 1, after, limit: 10 }
      const page: OutputsPage | null = await store.query(query)
      after = page?.next ?? null
    }
    expect(pages).toBe(SEGMENTS / 10)
    expect(spy).toHaveBeenCalledTimes(1)
    await store.close()
  })

  it('that is over is read from its file once for all that is asked about it, until it changes', async () => {
    const store = await opened(new SimDisk())
    await store.execute([{ type: 'SubmitJob', job: 'p', spec }])
    await take(store, 1, 1)
    await take(store, 2, SEGMENTS)
    await store.checkpoint()
    await store.checkpoint()
    const spy = vi.spyOn(FinishedFile.prototype, 'read')
    onTestFinished(() => spy.mockRestore())
    const view = await store.query({ kind: 'overview', job: 'p' })
    expect((await store.query({ kind: 'outcome', job: 'p' }))?.state).toBe('SUCCEEDED')
    expect(await store.query({ kind: 'history', job: 'p', limit: 10 })).toHaveLength(10)
    expect(view?.job.erased).toBe(null)
    expect(spy).toHaveBeenCalledTimes(1)
    await store.execute([{ type: 'EraseJob', job: 'p', by: 'ada', reason: 'asked' }])
    const erased = await store.query({ kind: 'overview', job: 'p' })
    expect(erased?.job.erased).toMatchObject({ by: 'ada' })
    await store.close()
  })

  it('is not looked at by upkeep after a restart if there is nothing to do about it', async () => {
    const disk = new SimDisk()
    const count = reads()
    const store = await opened(disk)
    const jobs = Array.from({ length: 20 }, (_, i) => `job ${i}`)
    for (const job of jobs) await store.execute([{ type: 'SubmitJob', job, spec }])
    await store.execute(await store.query({ kind: 'upkeep', limit: 100 }))
    await store.execute([{ type: 'SubmitJob', job: 'new', spec }])
    await store.checkpoint()
    await store.close()
    const again = await opened(disk)
    count()
    const due = await again.query({ kind: 'upkeep', limit: 10 })
    expect(due).toEqual([{ type: 'OpenStage', job: 'new', stage: 0 }])
    // Only of the one that has something to open.
    expect(count()).toBeLessThan(20)
    await again.close()
  })
})
