/** What becomes of old segments when the directory has an archive. */
import { describe, expect, it } from 'vitest'
import { SECTOR } from '../../../test/faults/sim/sim-disk.ts'
import { Bench, grown } from '../../../test/support/directory-bench.ts'
import type { SegmentHead } from '../../log/format/format.ts'
import {
  decodeSegmentHead,
  encodeSegmentHead,
  FORMAT,
  readGroupHead,
  SEGMENT_HEAD,
} from '../../log/format/format.ts'

const OPTIONS = { archive: '/archive', historyMs: 10 }

function archived({ disk }: Bench): string[] {
  return disk.paths().filter((path) => path.startsWith('/archive/'))
}

/** The same store once more, on a disk of its own. */
async function reopened({ disk, now }: Bench): Promise<Bench> {
  const bench = new Bench(disk.clone())
  bench.now = now
  return bench.open(OPTIONS)
}

/** The calls of the next checkpoint, if nothing fails. */
async function callsOf(before: Bench): Promise<readonly string[]> {
  const { disk, store } = await reopened(before)
  const { calls } = disk
  await store.checkpoint()
  return disk.trace.slice(calls)
}

/** Which call of the next checkpoint begins to copy a segment. */
async function firstCopy(before: Bench): Promise<number> {
  return (await callsOf(before)).findIndex((line) => /^open log-.* to create$/.test(line))
}

/** Closed, and its next checkpoint archives segments. The first of them is given, too. */
async function atArchive(): Promise<{ before: Bench; first: string; bytes: Buffer }> {
  const before = await grown(OPTIONS)
  await before.store.checkpoint()
  await before.store.close()
  const path = before.segments()[0] as string
  const bytes = before.disk.bytesOf(path)
  return { before, first: path.replace('/store/', '/archive/'), bytes }
}

function refused(message: string): unknown {
  return expect.objectContaining({
    kind: 'tidying-failed',
    error: expect.objectContaining({
      code: 'ArchiveInUse',
      message: expect.stringContaining(message) as string,
    }) as Error,
  })
}

describe('old segments', () => {
  it('are in the archive before they go', async () => {
    const bench = await grown({ archive: '/archive' })
    const bytes = new Map(bench.segments().map((path) => [path, bench.disk.bytesOf(path)]))
    for (let i = 0; i < 2; i++) await bench.store.checkpoint()
    const gone = [...bytes.keys()].filter((path) => !bench.segments().includes(path))
    expect(gone.length).toBeGreaterThan(0)
    for (const path of gone) {
      const copy = bench.disk.bytesOf(path.replace('/store/', '/archive/'))
      expect(copy.equals(bytes.get(path) as Buffer)).toBe(true)
    }
  })

  it('are there as a whole or not at all, whichever call fails, and nothing of a try that failed stays', async () => {
    const { before } = await atArchive()
    for (let call = await firstCopy(before); ; call++) {
      const bench = await reopened(before)
      bench.disk.failAt(call, { code: 'EIO', forever: true })
      await bench.store.checkpoint().catch(() => undefined)
      const whole = archived(bench).filter((path) => /log-[0-9a-f]+$/.test(path))
      for (const path of whole) {
        const bytes = before.disk.bytesOf(path.replace('/archive/', '/store/'))
        expect(bench.disk.bytesOf(path).equals(bytes), `${path} after call ${call}`).toBe(true)
      }
      bench.disk.heal()
      await bench.store.close().catch(() => undefined)
      const again = new Bench(bench.disk.crash('everything'))
      again.now = before.now
      await again.open(OPTIONS)
      for (let i = 0; i < 2; i++) await again.store.checkpoint()
      expect(again.notices.map(({ kind }) => kind)).not.toContain('tidying-failed')
      for (const path of archived(again)) expect(path).toMatch(/log-[0-9a-f]+$/)
      // The same goes for those that follow.
      if (whole.length > 1) break
    }
  })
})

describe('an archive that has the segments of another store', () => {
  it('keeps them: nothing is replaced, the segments stay, and a notice says why', async () => {
    const first = await grown({ archive: '/archive' })
    for (let i = 0; i < 2; i++) await first.store.checkpoint()
    const paths = archived(first)
    expect(paths.length).toBeGreaterThan(0)
    const second = await grown({ archive: '/archive' })
    for (const path of paths) second.disk.put(path, first.disk.bytesOf(path))
    const before = second.segments()
    for (let i = 0; i < 2; i++) await second.store.checkpoint()
    for (const path of paths) {
      expect(second.disk.bytesOf(path).equals(first.disk.bytesOf(path))).toBe(true)
    }
    expect(second.segments()).toEqual(before)
    expect(second.notices).toContainEqual(refused('of another store'))
  })
})

/** A store and its copy, which go on apart from each other; the copy meets the archive of the first. */
async function apart(name: string): Promise<{ first: Bench; copy: Bench }> {
  const before = await grown(OPTIONS)
  await before.store.close()
  const [first, copy] = [new Bench(before.disk.clone()), new Bench(before.disk.clone())]
  await goOn(first, before.now, 'first')
  await goOn(copy, before.now, name)
  for (let i = 0; i < 2; i++) await first.store.checkpoint()
  for (const path of archived(first)) copy.disk.put(path, first.disk.bytesOf(path))
  return { first, copy }
}

async function goOn(bench: Bench, now: number, name: string): Promise<void> {
  bench.now = now
  await bench.open(OPTIONS)
  for (let i = 0; i < 60; i++) {
    await bench.submit(`${name} ${i}`)
    bench.now += 100
  }
}

describe('an archive that two copies of one store share', () => {
  it('keeps what came first where they differ: the segment of the other stays, and a notice says why', async () => {
    const { first, copy } = await apart('other')
    const before = new Map(copy.segments().map((path) => [path, copy.disk.bytesOf(path)]))
    for (let i = 0; i < 2; i++) await copy.store.checkpoint()
    for (const path of archived(first)) {
      expect(copy.disk.bytesOf(path).equals(first.disk.bytesOf(path)), path).toBe(true)
    }
    // What both have went. What differs is in the directory still.
    const gone = [...before.keys()].filter((path) => !copy.segments().includes(path))
    expect(gone.length).toBeGreaterThan(0)
    for (const path of gone) {
      const kept = copy.disk.bytesOf(path.replace('/store/', '/archive/'))
      expect(kept.equals(before.get(path) as Buffer), path).toBe(true)
    }
    expect(copy.notices).toContainEqual(refused('of another copy of this store'))
  })

  it('is not written to again for what both have', async () => {
    const { copy } = await apart('first')
    const before = copy.segments().length
    const { trace } = copy.disk
    const from = trace.length
    for (let i = 0; i < 2; i++) await copy.store.checkpoint()
    expect(copy.segments().length).toBeLessThan(before)
    expect(copy.notices.map(({ kind }) => kind)).not.toContain('tidying-failed')
    expect(trace.slice(from).filter((line) => /^open log-.* to create$/.test(line))).toEqual([])
  })
})

/** Zeros from `from` to `to`. */
function blanked(bytes: Buffer, from: number, to = bytes.length): Buffer {
  return Buffer.from(bytes).fill(0, from, to)
}

/** With another head, whose checksum is right. */
function rehead(bytes: Buffer, changes: Partial<SegmentHead>): Buffer {
  const copy = Buffer.from(bytes)
  copy.set(encodeSegmentHead({ ...(decodeSegmentHead(copy) as SegmentHead), ...changes }))
  return copy
}

/** Where the second group begins. */
function secondGroupAt(bytes: Buffer): number {
  return SEGMENT_HEAD + (readGroupHead(bytes, SEGMENT_HEAD)?.bytes as number)
}

const OTHER_STORE = 'ab'.repeat(16)
/** In the middle of a group. */
const MIDDLE = SEGMENT_HEAD + 11 * SECTOR

function asides(bench: Bench): string[] {
  return archived(bench).filter((path) => path.endsWith('.aside'))
}

function hasBytes(bench: Bench, path: string, bytes: Buffer): boolean {
  return bench.disk.paths().includes(path) && bench.disk.bytesOf(path).equals(bytes)
}

describe('a file in the archive that has the name of a segment, and is no whole one,', () => {
  it.each<[what: string, left: (whole: Buffer) => Buffer]>([
    ['an empty one', () => Buffer.alloc(0)],
    ['a part of a head', (whole) => whole.subarray(0, 40)],
    ['a head', (whole) => whole.subarray(0, SEGMENT_HEAD)],
    ['a half', (whole) => whole.subarray(0, whole.length / 2)],
    ['all but the last byte, which is a zero', (whole) => whole.subarray(0, -1)],
    ['a half, and zeros to the end', (whole) => blanked(whole, MIDDLE)],
    ['all but a sector', (whole) => blanked(whole, MIDDLE, MIDDLE + SECTOR)],
    ['all but the head', (whole) => blanked(whole, 0, SECTOR)],
    ['something else', () => Buffer.from('notes of somebody')],
    [
      'a part of one of another store',
      (whole) => rehead(whole, { storeId: OTHER_STORE }).subarray(0, MIDDLE),
    ],
  ])('is put aside, and the segment takes its place: %s', async (_what, left) => {
    const { before, first, bytes } = await atArchive()
    before.disk.put(first, left(bytes))
    const bench = await reopened(before)
    await bench.store.checkpoint()
    expect(bench.notices.map(({ kind }) => kind)).not.toContain('tidying-failed')
    expect(bench.disk.bytesOf(first).equals(bytes)).toBe(true)
    expect(bench.segments()).not.toContain(first.replace('/archive/', '/store/'))
    const [aside, ...others] = asides(bench) as [string, ...string[]]
    expect(others).toEqual([])
    expect(bench.disk.bytesOf(aside).equals(left(bytes))).toBe(true)
    expect(bench.notices).toContainEqual({ kind: 'archive-damaged', keptIn: aside })
  })

  it('is there, under one name or the other, wherever the power goes, and so is the segment', async () => {
    const { before, first, bytes } = await atArchive()
    const left = bytes.subarray(0, MIDDLE)
    before.disk.put(first, left)
    const calls = await callsOf(before)
    const from = calls.findIndex((line) => /^rename log-.*aside$/.test(line))
    const end = from + calls.slice(from).findIndex((line) => line === 'syncFolder /store')
    // Behind the last one, too.
    for (let call = from + 1; call <= end + 2; call++) {
      const lost = await reopened(before)
      lost.disk.crashAt(call)
      await lost.store.checkpoint().catch(() => undefined)
      for (const survival of ['nothing', 'everything', call] as const) {
        const at = `call ${call}: ${calls[call - 1]}`
        const bench = new Bench(lost.disk.crash(survival))
        bench.now = before.now
        const kept = [first, ...asides(bench)].filter((path) => hasBytes(bench, path, left))
        expect(kept, at).toHaveLength(1)
        const whole = [first, first.replace('/archive/', '/store/')]
        expect(
          whole.some((path) => hasBytes(bench, path, bytes)),
          at,
        ).toBe(true)
        await bench.open(OPTIONS)
        await bench.store.checkpoint()
        expect(hasBytes(bench, first, bytes), at).toBe(true)
        expect(asides(bench).some((path) => hasBytes(bench, path, left))).toBe(true)
      }
    }
  })
})

describe('a whole segment in the archive that is another one stays where it is:', () => {
  it.each<[what: string, other: (whole: Buffer) => Buffer, message: string]>([
    [
      'of another store',
      (whole) => rehead(whole, { storeId: OTHER_STORE }),
      'is of another store (abab',
    ],
    [
      'of a copy that went on in another file sooner',
      (whole) => blanked(whole, secondGroupAt(whole)),
      'of another copy of this store',
    ],
    [
      'of a format that is not known here',
      (whole) => rehead(blanked(whole, MIDDLE), { format: FORMAT + 1 }),
      'of another copy of this store',
    ],
  ])('%s', async (_what, other, message) => {
    const { before, first, bytes } = await atArchive()
    before.disk.put(first, other(bytes))
    const bench = await reopened(before)
    const segments = bench.segments()
    await bench.store.checkpoint()
    expect(bench.disk.bytesOf(first).equals(other(bytes))).toBe(true)
    expect(bench.segments()).toEqual(segments)
    expect(asides(bench)).toEqual([])
    expect(bench.notices).toContainEqual(refused(message))
  })
})

describe('a segment that is in the archive already', () => {
  it('is durable there before it goes, even if its writer did not wait for that', async () => {
    const { before, first, bytes } = await atArchive()
    const bench = await reopened(before)
    await bench.disk.makeFolder('/archive')
    const file = await bench.disk.open(first, 'create')
    await file.write(bytes, 0)
    await file.close()
    await bench.store.checkpoint()
    expect(bench.segments()).not.toContain(first.replace('/archive/', '/store/'))
    expect(bench.disk.crash('nothing').bytesOf(first).equals(bytes)).toBe(true)
  })

  it('leaves no file open, whichever call fails while the two are compared', async () => {
    const { before, first, bytes } = await atArchive()
    before.disk.put(first, bytes)
    const calls = await callsOf(before)
    const from = calls.findIndex((line) => line.startsWith('list /archive'))
    const end = from + calls.slice(from).findIndex((line) => line.startsWith('remove log-'))
    expect(calls.slice(from, end).filter((line) => line.startsWith('open log-')).length).toBe(3)
    for (let call = from; call < end; call++) {
      const bench = await reopened(before)
      bench.disk.failAt(call + 1, { code: 'EIO', forever: false })
      await bench.store.checkpoint()
      expect(bench.notices.map(({ kind }) => kind)).toContain('tidying-failed')
      await bench.store.close()
      expect(bench.disk.openFiles, calls[call]).toBe(0)
    }
  })
})
