import { describe, expect, it } from 'vitest'
import { DiskWrapper } from '../../../test/faults/damage/disk-wrapper.ts'
import { Bench, grown, range } from '../../../test/support/directory-bench.ts'
import { onRecord, plain } from '../../../test/support/specs.ts'
import type { Command } from '../../kernel/index.ts'
import type { Access, Disk, DiskFile } from '../../log/disk/disk.ts'
import { verifyDirectory } from '../offline/verify-directory.ts'

const own = async (): Promise<{ release: () => Promise<void> }> => ({
  release: async () => undefined,
})

function configure(concurrency: number): Command {
  return {
    type: 'ConfigureQueue',
    queue: 'q',
    concurrency,
    rate: null,
    ageingMs: null,
    ...onRecord,
  }
}

/** Tells when a segment is copied to the archive. */
class Archiving extends DiskWrapper {
  readonly #then: () => void

  constructor(disk: Disk, then: () => void) {
    super(disk)
    this.#then = then
  }

  override async open(path: string, access: Access): Promise<DiskFile> {
    if (path.startsWith('/archive/')) this.#then()
    return super.open(path, access)
  }
}

describe('what went wrong once', () => {
  it('a first group that no segment holds does not leave two segments of one name', async () => {
    const bench = await new Bench().open({ historyMs: 0 })
    const input = JSON.stringify('x'.repeat(30_000))
    const [answer] = await bench.store.execute([
      { type: 'SubmitJob', job: 'large', spec: plain({ input }) },
    ])
    expect(answer?.verdict).toBe('committed')
    for (const job of ['one', 'two', 'three']) {
      bench.now += 10
      await bench.submit(job)
      await bench.store.checkpoint()
    }
    await bench.submit('later')
    const again = await new Bench(bench.disk.crash('nothing')).open()
    expect(await again.finish(5)).toEqual(['large', 'one', 'two', 'three', 'later'])
  })

  it('a clock that gives fractions does not end up in the log', async () => {
    const bench = await new Bench().open()
    bench.now += 0.5
    await bench.submit('a')
    const [first] = await bench.store.query({ kind: 'history', job: 'a', limit: 1 })
    expect(first?.entry.at).toBe(1_000)
  })

  it('a checkpoint does not know what was decided after its marker', async () => {
    const first = await new Bench().open()
    await first.store.execute([configure(1)])
    await first.store.checkpoint()
    await first.store.close()
    const bench = await new Bench(first.disk).open()
    const made = bench.store.checkpoint()
    await bench.store.execute([configure(2)])
    await made
    await bench.store.close()
    const { problems } = await verifyDirectory('/store', { disk: bench.disk, own })
    expect(problems).toEqual([])
  })

  it('a finished job that changed is not found as it was in its old file', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(60))
    await bench.finish(60)
    await bench.store.checkpoint()
    const late = { type: 'ReleaseLease', job: 'job 1', stage: 0, segment: 0, lease: 1 } as const
    for (let i = 0; i < 3; i++) {
      await bench.store.execute([{ ...late, worker: 'w' }])
      await bench.store.checkpoint()
    }
    const history = await bench.store.query({ kind: 'history', job: 'job 1', limit: 10 })
    expect(history.filter(({ entry }) => entry.type === 'ReportRefused')).toHaveLength(1)
  })

  it('checkpoints without a log are refused, and stay', async () => {
    const bench = await new Bench().open()
    await bench.submit('a')
    await bench.store.checkpoint()
    await bench.store.close()
    for (const path of bench.disk.paths()) {
      if (/MARK|log-/.test(path)) await bench.disk.remove(path)
    }
    const before = bench.disk.paths()
    await expect(new Bench(bench.disk).open()).rejects.toMatchObject({ code: 'CorruptLog' })
    expect(bench.disk.paths()).toEqual(before)
  })

  it('a checkpoint that fails leaves nothing behind', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(20))
    const before = bench.disk.paths()
    bench.disk.capacity = bench.disk.used + 1_024
    for (let i = 0; i < 3; i++) await expect(bench.store.checkpoint()).rejects.toThrow('ENOSPC')
    expect(bench.disk.paths()).toEqual(before)
  })

  it('a call that is refused for want of room does not cost the spare segment', async () => {
    const bench = await new Bench().open()
    for (let i = 0; i < 10; i++) await bench.submit(`job ${i}`)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
    expect(bench.disk.paths()).toContain('/store/spare')
    bench.disk.capacity = bench.disk.used + 1_024
    const input = JSON.stringify('x'.repeat(50_000))
    const large: Command = { type: 'SubmitJob', job: 'large', spec: plain({ input }) }
    await expect(bench.store.execute([large])).rejects.toMatchObject({ code: 'DiskFull' })
    expect(bench.disk.paths()).toContain('/store/spare')
    expect(await bench.finish(1)).toEqual(['job 0'])
  })

  it('whatever fails while old segments go, the log has no hole', async () => {
    const options = { archive: '/archive', historyMs: 10 }
    const before = await grown(options)
    await before.store.checkpoint()
    await before.store.close()
    for (let call = 1; ; call++) {
      const bench = await new Bench(before.disk.clone()).open(options)
      bench.now = before.now
      await bench.submit('one more')
      const { calls } = bench.disk
      bench.disk.failAt(call, { code: 'EIO', forever: false })
      await bench.store.checkpoint().catch(() => undefined)
      const isDone = bench.disk.calls - calls < call
      bench.disk.heal()
      await bench.store.close().catch(() => undefined)
      const { problems } = await verifyDirectory('/store', { disk: bench.disk, own })
      expect(problems).toEqual([])
      if (isDone) break
    }
  })

  it('a backup that begins while a segment is archived has that segment', async () => {
    const options = { archive: '/archive', historyMs: 10 }
    const before = await grown(options)
    await before.store.checkpoint()
    await before.store.close()
    const bench = new Bench(before.disk.clone())
    bench.now = before.now
    const backups: Promise<unknown>[] = []
    const disk = new Archiving(bench.disk, () => {
      if (backups.length === 0) backups.push(bench.store.backup('/backup'))
    })
    await bench.open({ ...options, disk })
    await bench.store.checkpoint()
    expect(backups).toHaveLength(1)
    await backups[0]
    const { problems } = await verifyDirectory('/backup', { disk: bench.disk, own })
    expect(problems).toEqual([])
  })

  it('a checkpoint of another store is refused', async () => {
    const [one, other] = [await new Bench().open(), await new Bench().open()]
    for (const { store } of [one, other]) {
      await store.checkpoint()
      await store.close()
    }
    const foreign = other.disk.paths().filter((path) => path.includes('checkpoint-'))
    for (const path of foreign) one.disk.put(path, other.disk.bytesOf(path))
    const opening = new Bench(one.disk).open()
    await expect(opening).rejects.toMatchObject({ code: 'CorruptLog' })
  })

  it('a listing does not bring the payloads into memory', async () => {
    const bench = await new Bench().open()
    await bench.submit(...range(5))
    await bench.store.checkpoint()
    const reads: string[][] = []
    for (let i = 0; i < 2; i++) {
      // Another place in the file, so that the window has to move.
      await bench.store.checkpoint()
      bench.reads()
      await bench.store.query({ kind: 'jobs', limit: 10 })
      reads.push([...bench.reads()])
    }
    expect(reads).toEqual([['live'], ['live']])
  })

  it('a watch from a position that no entry has is refused, and not taken for damage', async () => {
    const bench = await new Bench().open()
    await bench.submit('a')
    const watch = bench.store.watch(11)[Symbol.asyncIterator]()
    await expect(watch.next()).rejects.toMatchObject({ code: 'NoSuchPosition' })
  })
})
