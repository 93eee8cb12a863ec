import { describe, expect, it } from 'vitest'
import { Bench, range } from '../../../test/support/directory-bench.ts'
import type { Command } from '../../kernel/index.ts'
import type { Disk } from '../../log/index.ts'
import { GroupOutcome } from '../../log/writer/group.ts'
import { eventLoopTurn } from '../../log/index.ts'
import { verifyDirectory } from '../offline/verify-directory.ts'

const own = async (): Promise<{ release: () => Promise<void> }> => ({
  release: async () => undefined,
})

/** A report under the first lease of a job that is over. */
function late(job: string): Command {
  return { type: 'ReleaseLease', job, stage: 0, segment: 0, lease: 1, worker: 'w' }
}

function forget(bench: Bench, job: string): Command {
  bench.now += 1
  return { type: 'ForgetJob', job, endedBefore: bench.now }
}

/** One life of a job, within one stretch of the log. */
async function live(bench: Bench, job: string): Promise<void> {
  await bench.submit(job)
  expect(await bench.finish(1)).toEqual([job])
}

async function verified(bench: Bench): Promise<string[]> {
  const { jobs } = await bench.store.query({ kind: 'jobs', limit: 1_000 })
  await bench.store.close()
  const { problems } = await verifyDirectory('/store', { disk: bench.disk, own })
  expect(problems).toEqual([])
  const again = await new Bench(bench.disk).open()
  const reopened = await again.store.query({ kind: 'jobs', limit: 1_000 })
  expect(reopened.jobs.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id))
  return jobs.map(({ id }) => id)
}

describe('a job that began and ended since the last checkpoint', () => {
  it('is in the file of finished jobs as it was changed after its end', async () => {
    const bench = await new Bench().open()
    for (const job of range(5)) await live(bench, job)
    await bench.store.execute([late('job 2')])
    await bench.store.checkpoint()
    const view = await bench.store.query({ kind: 'job', job: 'job 2' })
    expect(view?.job.task?.leases[0]?.refused).toBe(true)
    expect(await verified(bench)).toEqual(range(5))
  })

  it('and was forgotten is in no file of finished jobs', async () => {
    const bench = await new Bench().open()
    for (const job of range(5)) await live(bench, job)
    await bench.store.execute([late('job 1'), forget(bench, 'job 1'), forget(bench, 'job 4')])
    await bench.store.checkpoint()
    expect(await verified(bench)).toEqual(['job 0', 'job 2', 'job 3'])
  })

  it('and whose id was used again is there once, as the newest', async () => {
    for (const lives of [2, 3, 4]) {
      const bench = await new Bench().open()
      for (let life = 1; life <= lives; life++) {
        await live(bench, 'again')
        await bench.store.execute([late('again')])
        if (life < lives) await bench.store.execute([forget(bench, 'again')])
      }
      await bench.store.checkpoint()
      const view = await bench.store.query({ kind: 'job', job: 'again' })
      expect(view?.job.task?.leases[0]?.refused).toBe(true)
      expect(view?.job.submittedAt).toBe(1_000 + lives - 1)
      expect(await verified(bench)).toEqual(['again'])
    }
  })

  it('and whose id was that of a job before the checkpoint is there once, as the newest', async () => {
    const bench = await new Bench().open()
    await live(bench, 'again')
    await bench.store.checkpoint()
    await bench.store.execute([forget(bench, 'again')])
    await live(bench, 'again')
    await bench.store.execute([late('again')])
    await bench.store.checkpoint()
    expect(await verified(bench)).toEqual(['again'])
  })
})

/** A disk on which a checkpoint's first file is created only after `before` was waited for. */
function delayed(disk: Disk, before: Promise<void>): Disk {
  return {
    makeFolder: (path) => disk.makeFolder(path),
    list: (folder) => disk.list(folder),
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    syncFolder: (path) => disk.syncFolder(path),
    async open(path, access) {
      if (access === 'create' && path.includes('/live-')) await before
      return disk.open(path, access)
    },
  }
}

function closedGate(): { gate: Promise<void>; goOn: () => void } {
  const opened = new GroupOutcome()
  return { gate: opened.promise, goOn: () => opened.resolve() }
}

describe('a checkpoint that is far behind', () => {
  it('lets new work wait, and nothing else', async () => {
    const bench = new Bench()
    const { gate, goOn } = closedGate()
    await bench.open({ checkpointBytes: 8_192, disk: delayed(bench.disk, gate) })
    await bench.submit(...range(16))
    // One is being made, and stands still. The log goes on, until it is four times as far.
    for (let i = 0; i < 4; i++) await bench.submit(...range(16, `more ${i}`))
    const order: string[] = []
    const waiting = bench.submit('late').finally(() => order.push('late'))
    expect(await bench.finish(4)).toHaveLength(4)
    for (let i = 0; i < 100; i++) await eventLoopTurn()
    order.push('goes on')
    goOn()
    await waiting
    expect(order).toEqual(['goes on', 'late'])
    expect(bench.notices.map(({ kind }) => kind)).toContain('checkpoint-made')
    expect(await verified(bench)).toContain('late')
  })

  it('and fails keeps no caller waiting', async () => {
    const bench = new Bench()
    const gate = Promise.reject(new Error('no more files'))
    gate.catch(() => undefined)
    await bench.open({ checkpointBytes: 8_192, disk: delayed(bench.disk, gate) })
    for (let i = 0; i < 12; i++) await bench.submit(...range(16, `more ${i}`))
    expect(bench.notices.map(({ kind }) => kind)).toContain('checkpoint-failed')
  })

  it('and is closed tells those who wait', async () => {
    const bench = new Bench()
    const { gate, goOn } = closedGate()
    await bench.open({ checkpointBytes: 8_192, disk: delayed(bench.disk, gate) })
    for (let i = 0; i < 5; i++) await bench.submit(...range(16, `more ${i}`))
    const waiting = bench.submit('late')
    const closing = bench.store.close()
    goOn()
    await expect(waiting).rejects.toMatchObject({ code: 'StoreClosed' })
    await closing
  })
})
