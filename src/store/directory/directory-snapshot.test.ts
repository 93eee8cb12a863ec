/**
 * Time travel in a directory that is open: beside its writer, from a checkpoint or from the beginning, as far
 * back as history is kept, and with few jobs in memory.
 */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../kernel/index.ts'
import { replay } from '../../kernel/index.ts'
import { filesOn, flip, Growing } from '../../../test/faults/damage/grown-store.ts'
import { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import type { Disk, DiskFile } from '../../log/index.ts'
import { Dice } from '../../../test/model/properties/dice.ts'
import { plain } from '../../../test/support/specs.ts'
import type { DirectoryStore } from './directory-store.ts'
import { openDirectory } from './open-directory.ts'
import type { Moment } from '../moment.ts'
import type { PositionedEntry } from '../store.ts'

async function idsAt(store: DirectoryStore, moment: Moment): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of (await store.at(moment)).jobs({})) ids.push(id)
  return ids
}

/** As far as it is kept. */
async function entriesOf(store: DirectoryStore): Promise<PositionedEntry[]> {
  await store.execute([{ type: 'PauseQueue', queue: 'the-end', by: 'test', reason: 'last' }])
  const entries: PositionedEntry[] = []
  for await (const one of store.watch(0)) {
    entries.push(one)
    if (one.entry.type === 'QueuePaused' && one.entry.queue === 'the-end') break
  }
  return entries
}

async function grownOpen(seed: number, historyMs: number): Promise<Growing> {
  const dice = new Dice(seed)
  const growing = new Growing(new SimDisk(), dice, historyMs)
  await growing.open()
  for (let step = 1; step <= 600; step++) {
    await growing.step()
    if (step % 60 === 0) await growing.store.checkpoint()
  }
  return growing
}

function submit(job: string): Command {
  return { type: 'SubmitJob', job, spec: plain() }
}

let filled = 0

/** More than a segment of log, long after what was before, and a checkpoint. */
async function fill(growing: Growing): Promise<void> {
  growing.now += 10_000
  filled += 1
  // One by one: a large batch would get a large segment.
  for (let n = 0; n < 150; n++) await growing.store.execute([submit(`more-${filled}-${n}`)])
  await growing.store.checkpoint()
}

/** The same disk, and how often something was read from it. */
function countingReads(disk: SimDisk): Disk & { reads: number } {
  const counting = {
    reads: 0,
    makeFolder: (path: string) => disk.makeFolder(path),
    list: (folder: string) => disk.list(folder),
    rename: (from: string, to: string) => disk.rename(from, to),
    remove: (path: string) => disk.remove(path),
    syncFolder: (path: string) => disk.syncFolder(path),
    open: async (...asked: Parameters<Disk['open']>): Promise<DiskFile> => {
      const file = await disk.open(...asked)
      return {
        size: () => file.size(),
        read: (into, at) => {
          counting.reads += 1
          return file.read(into, at)
        },
        readNow: (into, at) => file.readNow(into, at),
        write: (bytes, at) => file.write(bytes, at),
        writeNow: (bytes, at) => file.writeNow(bytes, at),
        sync: () => file.sync(),
        close: () => file.close(),
      }
    },
  }
  return counting
}

async function openSmall(disk: Disk, snapshotJobs: number): Promise<DirectoryStore> {
  return openDirectory('/store', {
    disk,
    own: async () => ({ release: async () => undefined }),
    clock: { now: () => 1_000 },
    segmentBytes: 64 * 1_024,
    checkpointBytes: Infinity,
    historyMs: Infinity,
    snapshotJobs,
  })
}

describe('a snapshot of a directory', () => {
  it('goes back to the oldest checkpoint where history was removed, and says how far', async () => {
    const whole = await grownOpen(4, Infinity)
    const short = await grownOpen(4, 100)
    const all = await entriesOf(whole.store)
    const kept = await entriesOf(short.store)
    expect(kept.length).toBeLessThan(all.length)
    const [first] = all
    const before = await short.store.at({ position: first?.position ?? 0 }).catch((error) => error)
    expect(before).toMatchObject({ code: 'BeforeHistory', kind: 'rejected' })
    const { oldestPosition, oldestTime } = before.details as Record<string, number>
    let [refused, answered] = [0, 0]
    for (const [i, { position, entry }] of all.entries()) {
      if (i % 7 !== 0) continue
      if (position < (oldestPosition ?? 0)) {
        await expect(short.store.at({ position })).rejects.toMatchObject({
          code: 'BeforeHistory',
          details: { position, oldestPosition, oldestTime },
        })
        refused += 1
        continue
      }
      answered += 1
      const past = all.slice(0, i + 1).map((one) => one.entry)
      expect(await idsAt(short.store, { position })).toEqual([...replay(past).jobs.keys()])
      const until = all.filter((one) => one.entry.at <= entry.at).map((one) => one.entry)
      const ids = [...replay(until).jobs.keys()]
      expect(await idsAt(short.store, { time: entry.at })).toEqual(ids)
    }
    expect(refused).toBeGreaterThan(3)
    expect(answered).toBeGreaterThan(3)
    await expect(short.store.at({ time: (oldestTime ?? 0) - 1 })).rejects.toThrow(/was removed/)
    await whole.store.close()
    await short.store.close()
  })

  it('answers the same while work and checkpoints go on, and keeps the files that it reads', async () => {
    const growing = await grownOpen(7, 100)
    const { store, disk } = growing
    const entries = await entriesOf(store)
    const { position = 0 } = entries.at(-1) ?? {}
    const expected = await idsAt(store, { position })
    const segments = filesOn(disk, 'log').length
    const reading: string[] = []
    const snapshot = await store.at({ position })
    for await (const { id } of snapshot.jobs({})) {
      reading.push(id)
      await fill(growing)
    }
    expect(reading).toEqual(expected)
    // None went while it was read; with the next checkpoint they do.
    const during = filesOn(disk, 'log').length
    expect(during).toBeGreaterThan(segments + 1)
    for (let i = 0; i < 3; i++) await fill(growing)
    expect(filesOn(disk, 'log').length).toBeLessThan(during)
    // What it needs is gone: it says so, whatever it could answer before.
    await expect(snapshot.jobs({})[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'BeforeHistory',
    })
    await store.close()
    expect(disk.openFiles).toBe(0)
  })

  it('lets files go when a list is left half-way', async () => {
    const growing = await grownOpen(7, 0)
    const { store, disk } = growing
    for await (const _ of (await store.at({ time: 1e12 })).jobs({})) break
    for (let i = 0; i < 6; i++) await fill(growing)
    expect(filesOn(disk, 'log').length).toBeLessThan(5)
    await store.close()
  })

  it('holds no more jobs than it was told, however many there are', async () => {
    const disk = countingReads(new SimDisk())
    const store = await openSmall(disk, 50)
    for (let i = 0; i < 20; i++) {
      await store.execute(Array.from({ length: 50 }, (_, n) => submit(`job-${i}-${n}`)))
      if (i === 9) await store.checkpoint()
    }
    const seen: string[] = []
    let [reads, most] = [disk.reads, 0]
    for await (const { id } of (await store.at({ time: 5_000 })).jobs({})) {
      seen.push(id)
      // Jobs are given out without another read until the window is through.
      if (disk.reads !== reads) most = 0
      reads = disk.reads
      most += 1
      expect(most).toBeLessThanOrEqual(50)
    }
    expect(seen).toEqual(
      Array.from({ length: 1_000 }, (_, n) => `job-${Math.floor(n / 50)}-${n % 50}`),
    )
    await store.close()
  })

  it('reports damage that it meets, and does not mind damage behind the moment', async () => {
    const growing = await grownOpen(9, Infinity)
    const { store, disk } = growing
    const entries = await entriesOf(store)
    const { position = 0 } = entries[Math.floor(entries.length / 8)] ?? {}
    const expected = await idsAt(store, { position })
    flip(disk, filesOn(disk, 'log').at(-1) as string, 4_100)
    expect(await idsAt(store, { position })).toEqual(expected)
    for (const path of filesOn(disk, 'live')) flip(disk, path, disk.bytesOf(path).length - 4)
    await expect(idsAt(store, { position: entries.at(-2)?.position ?? 0 })).rejects.toMatchObject({
      code: 'CorruptLog',
    })
    await store.close().catch(() => undefined)
  })
})
