/**
 * The reader and files that go away under it.
 */
import { describe, expect, it } from 'vitest'
import { DiskWrapper, FileWrapper } from '../../../test/faults/damage/disk-wrapper.ts'
import type { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import { Bench, range } from '../../../test/support/directory-bench.ts'
import { plain } from '../../../test/support/specs.ts'
import type { Command } from '../../kernel/index.ts'
import type { Access, DiskFile } from '../disk/disk.ts'
import { LogReader } from './log-reader.ts'
import type { Segment } from './segments.ts'
import { listSegments } from './segments.ts'

const large = (job: string, bytes: number): Command => ({
  type: 'SubmitJob',
  job,
  spec: plain({ input: JSON.stringify('x'.repeat(bytes)) }),
})

async function seenFrom(bench: Bench, from: number, count: number): Promise<string[]> {
  const seen: string[] = []
  for await (const { entry } of bench.store.watch(from)) {
    seen.push('job' in entry ? entry.job : entry.type)
    if (seen.length === count) break
  }
  return seen
}

describe('a segment that is dropped', () => {
  it('leaves no handle behind, however many there are', async () => {
    const bench = await new Bench().open({ historyMs: 0 })
    const extra: number[] = []
    let dropped = 0
    for (let round = 0; round < 12; round++) {
      for (const id of range(16, `round ${round}`)) await bench.submit(id)
      bench.now += 100
      const [first] = bench.segments()
      for (let i = 0; i < 4; i++) await bench.finish(4)
      // Every segment is opened to be read.
      const { jobs } = await bench.store.query({ kind: 'jobs', limit: 1_000 })
      for (const { id } of jobs) {
        await bench.store.query({ kind: 'history', job: id, limit: 100 })
      }
      await bench.store.checkpoint()
      bench.now += 100
      if (bench.segments()[0] !== first) dropped += 1
      const checkpoint = bench.disk.paths().filter((path) => /\/(?:live|finished)-/.test(path))
      extra.push(bench.disk.openFiles - bench.segments().length - checkpoint.length)
    }
    expect(dropped).toBeGreaterThan(8)
    // The mark, and the segment that is written to.
    expect(Math.max(...extra)).toBeLessThanOrEqual(2)
    await bench.store.close()
    expect(bench.disk.openFiles).toBe(0)
  })

  it('is read to the end by a reader that has begun, and closed then', async () => {
    const bench = await new Bench().open({ segmentBytes: 400_000 })
    // Larger than what is read at once, so that it takes a second look.
    await bench.store.execute([large('large', 150_000)])
    await bench.store.close()
    const { disk } = bench
    const [segment] = (await listSegments(disk, '/store')) as [Segment]
    let segments = [segment]
    const dropping = new Dropping(disk, async () => {
      if (segments.length === 0) return
      segments = []
      await reader.drop(segment)
      await disk.remove(segment.path)
    })
    const reader: LogReader = new LogReader(dropping, () => segments)
    const { entries } = await reader.from(0, 40_000)
    expect(entries.map(({ entry }) => entry.type)).toEqual(['JobSubmitted'])
    expect(segments).toEqual([])
    expect(disk.openFiles).toBe(0)
    await expect(reader.from(0, 40_000)).rejects.toMatchObject({ code: 'NoSuchPosition' })
  })

  it('keeps its name until the readers that are opening it have it open', async () => {
    const bench = await new Bench().open()
    await bench.submit('a')
    await bench.store.close()
    const { disk } = bench
    const [segment] = (await listSegments(disk, '/store')) as [Segment]
    let segments = [segment]
    const slow = new SlowToOpen(disk)
    const reader = new LogReader(slow, () => segments)
    const read = reader.from(0, 100)
    segments = []
    await reader.drop(segment)
    await disk.remove(segment.path)
    expect((await read).entries).toHaveLength(1)
    expect(disk.openFiles).toBe(0)
  })
})

describe('a segment that is replaced by a larger one of the same name', () => {
  it('is not read from the old file', async () => {
    const bench = await new Bench().open()
    // Opened to be read while nothing is in it.
    await expect(seenFrom(bench, 8, 1)).rejects.toMatchObject({ code: 'NoSuchPosition' })
    await bench.store.execute([large('large', 30_000)])
    expect(bench.segments()).toHaveLength(1)
    await bench.submit('b')
    const history = await bench.store.query({ kind: 'history', job: 'large', limit: 10 })
    expect(history).toHaveLength(1)
    expect(await seenFrom(bench, 0, 2)).toEqual(['large', 'b'])
    await bench.store.close()
    expect(bench.disk.openFiles).toBe(0)
  })
})

const OWN = { job: 'long', stage: 0, segment: 0, lease: 1, worker: 'w' }

function step(name: string, bytes = 10): Command {
  const value = JSON.stringify('x'.repeat(bytes))
  return { type: 'RecordStep', ...OWN, name, value, definitionVersion: 1 }
}

describe('a walk along the entries of a job', () => {
  it('reads those that stand close together at once, over segments and past a large one', async () => {
    const bench = await new Bench().open()
    await bench.submit('long')
    const channel = { queue: 'default', type: 'test', stage: null }
    await bench.store.claim({ worker: 'w', request: 1, channels: [channel], max: 1, started: true })
    for (let i = 0; i < 400; i++) {
      await bench.store.execute([step(`step ${i}`, i === 200 ? 100_000 : 10)])
      // Others stand between them.
      if (i % 10 === 0) await bench.submit(`other ${i}`)
    }
    expect(bench.segments().length).toBeGreaterThan(4)
    bench.reads()
    const before = bench.disk.trace.length
    const [first] = await bench.store.query({ kind: 'history', job: 'long', limit: 1 })
    expect(first?.entry.type).toBe('JobSubmitted')
    const reads = bench.disk.trace.slice(before).filter((line) => line.startsWith('read'))
    expect(reads.length).toBeLessThan(30)
    const all = await bench.store.query({ kind: 'history', job: 'long', limit: 1_000 })
    const newest = await bench.store.query({
      kind: 'history',
      job: 'long',
      limit: 1_000,
      newest: true,
    })
    expect(newest).toEqual(all)
    const names = all.flatMap(({ entry }) => ('name' in entry ? [entry.name] : []))
    expect(names).toEqual(range(400, 'step'))
    await bench.store.close()
  })
})

/** Something happens after the first read of a file. */
class Dropping extends DiskWrapper {
  readonly #then: () => Promise<void>

  constructor(disk: SimDisk, then: () => Promise<void>) {
    super(disk)
    this.#then = then
  }

  override async open(path: string, access: Access): Promise<DiskFile> {
    return new DroppingFile(await super.open(path, access), this.#then)
  }
}

class DroppingFile extends FileWrapper {
  readonly #then: () => Promise<void>

  constructor(inner: DiskFile, then: () => Promise<void>) {
    super(inner)
    this.#then = then
  }

  override async read(into: Uint8Array, at: number): Promise<number> {
    const count = await super.read(into, at)
    await this.#then()
    return count
  }
}

/** Files are opened when the event loop comes round, as on a real disk. */
class SlowToOpen extends DiskWrapper {
  override async open(path: string, access: Access): Promise<DiskFile> {
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
    return super.open(path, access)
  }
}
