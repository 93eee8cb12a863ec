/**
 * The simulation catches mistakes: small protocols that forget something lose what they
 * acknowledged, and the ones that do all that is needed do not.
 */
import { describe, expect, it } from 'vitest'
import { replaceFile, writeAll } from '../../../src/log/disk/disk.ts'
import { everyCrash } from './every-crash.ts'
import { SECTOR, SimDisk } from './sim-disk.ts'

const OLD = 'o'.repeat(3 * SECTOR + 40)
const NEW = 'n'.repeat(3 * SECTOR + 47)
const PATH = '/d/state'

function start(): SimDisk {
  const disk = new SimDisk()
  disk.put(PATH, Buffer.from(OLD))
  return disk
}

/** `old`, `new`, `gone`, or what else. */
function seen(disk: SimDisk): string {
  if (!disk.paths().includes(PATH)) return 'gone'
  const text = disk.bytesOf(PATH).toString()
  if (text === OLD) return 'old'
  if (text === NEW) return 'new'
  return text === '' ? 'empty' : 'partial'
}

interface Findings {
  /** What a power loss left that came before the story was through. */
  readonly before: ReadonlySet<string>
  /** And after it, when the new content was acknowledged. */
  readonly after: ReadonlySet<string>
  readonly calls: number
}

async function findings(story: (disk: SimDisk) => Promise<void>): Promise<Findings> {
  const before = new Set<string>()
  const after = new Set<string>()
  let calls = 0
  for await (const { call, disk, isDone } of everyCrash(start(), story)) {
    calls = call - 1
    for (const outcome of disk.outcomes(2000)) (isDone ? after : before).add(seen(outcome))
  }
  return { before, after, calls }
}

async function overwrite(disk: SimDisk, steps: { sync: boolean }): Promise<void> {
  const file = await disk.open(PATH, 'write')
  await writeAll(file, Buffer.from(NEW), 0)
  if (steps.sync) await file.sync()
  await file.close()
}

async function replace(disk: SimDisk, steps: { sync: boolean; folder: boolean }): Promise<void> {
  const file = await disk.open(`${PATH}.new`, 'create')
  await writeAll(file, Buffer.from(NEW), 0)
  if (steps.sync) await file.sync()
  await file.close()
  await disk.rename(`${PATH}.new`, PATH)
  if (steps.folder) await disk.syncFolder('/d')
}

function rightly(disk: SimDisk): Promise<void> {
  return replaceFile(disk, PATH, Buffer.from(NEW))
}

describe('a protocol that forgets', () => {
  it('the sync loses what it acknowledged', async () => {
    const { after } = await findings((disk) => overwrite(disk, { sync: false }))
    expect(after).toEqual(new Set(['old', 'new', 'partial']))
  })

  it('that a write in place can be torn has neither old nor new', async () => {
    const { before, after } = await findings((disk) => overwrite(disk, { sync: true }))
    expect(before).toEqual(new Set(['old', 'new', 'partial']))
    expect(after).toEqual(new Set(['new']))
  })

  it('the sync of the folder loses the rename that it acknowledged', async () => {
    const { before, after } = await findings((disk) => replace(disk, { sync: true, folder: false }))
    expect(before).toEqual(new Set(['old', 'new']))
    expect(after).toEqual(new Set(['old', 'new']))
  })

  it('the sync of the file has a name for bytes that are not there', async () => {
    const { after } = await findings((disk) => replace(disk, { sync: false, folder: true }))
    expect(after).toEqual(new Set(['new', 'empty', 'partial']))
  })

  it('to check a sync, and tries again, loses what it acknowledged', async () => {
    const disk = start()
    const file = await disk.open(PATH, 'write')
    await writeAll(file, Buffer.from(NEW), 0)
    disk.failAt(1, { code: 'EIO', forever: false })
    await file.sync().catch(() => file.sync())
    expect(new Set([...disk.outcomes(2000)].map(seen))).toContain('old')
  })
})

describe('a protocol that forgets nothing', () => {
  it('has the old or the new content, whole, wherever the power goes', async () => {
    const { before, after, calls } = await findings(rightly)
    expect(before).toEqual(new Set(['old', 'new']))
    expect(after).toEqual(new Set(['new']))
    expect(calls).toBe(7)
  })

  it('also if it is done again by who comes after, and the power goes again', async () => {
    for await (const { disk } of everyCrash(start(), rightly)) {
      for (const outcome of disk.outcomes(20)) {
        for await (const second of everyCrash(outcome, rightly)) {
          const found = [...second.disk.outcomes(100)].map(seen)
          const allowed = second.isDone ? ['new'] : ['old', 'new']
          expect(allowed).toEqual(expect.arrayContaining(found))
        }
      }
    }
  })

  it('has the old or the new content, whole, whichever call fails', async () => {
    for (const code of ['EIO', 'ENOSPC', 'EMFILE'] as const) {
      for (const forever of [false, true]) {
        for (let k = 1; k <= 7; k++) {
          const disk = start()
          disk.failAt(k, { code, forever })
          const replaced = rightly(disk)
          await expect(replaced).rejects.toMatchObject({ code })
          const found = [...disk.outcomes(2000)].map(seen)
          expect(['old', 'new']).toEqual(expect.arrayContaining(found))
          expect(disk.openFiles).toBe(0)
        }
      }
    }
  })

  it('gets through if writes are short', async () => {
    const disk = start()
    for (let k = 1; k <= 5; k++) disk.failAt(k, { short: true })
    await rightly(disk)
    expect(new Set([...disk.outcomes(2000)].map(seen))).toEqual(new Set(['new']))
    expect(disk.calls).toBeGreaterThan(7)
  })

  it('keeps a record that was written through, and any part of the one that was not', async () => {
    const disk = new SimDisk()
    disk.put('/d/log', Buffer.alloc(8 * SECTOR))
    const acknowledged: number[] = []
    const story = async (on: SimDisk): Promise<void> => {
      acknowledged.length = 0
      const log = await on.open('/d/log', 'write-through')
      for (let i = 0; i < 4; i++) {
        await writeAll(log, Buffer.alloc(2 * SECTOR, 65 + i), 2 * i * SECTOR)
        acknowledged.push(i)
      }
    }
    const torn = new Set<number>()
    for await (const crash of everyCrash(disk, story)) {
      for (const outcome of crash.disk.outcomes(100)) {
        const bytes = outcome.bytesOf('/d/log')
        const isWhole = (i: number): boolean =>
          bytes.subarray(2 * i * SECTOR, 2 * (i + 1) * SECTOR).every((byte) => byte === 65 + i)
        expect(acknowledged.every(isWhole)).toBe(true)
        if (!crash.isDone && !isWhole(acknowledged.length)) torn.add(acknowledged.length)
      }
    }
    expect(torn).toEqual(new Set([0, 1, 2, 3]))
  })
})
