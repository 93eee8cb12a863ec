/** What becomes of old segments when the directory has an archive. */
import { describe, expect, it } from 'vitest'
import { Bench, grown } from '../../test/support/directory-bench.ts'

const OPTIONS = { archive: '/archive', historyMs: 10 }

function archived({ disk }: Bench): string[] {
  return disk.paths().filter((path) => path.startsWith('/archive/'))
}

/** Which call of the next checkpoint begins to copy a segment. */
async function firstCopy({ disk, now }: Bench): Promise<number> {
  const bench = new Bench(disk.clone())
  bench.now = now
  await bench.open(OPTIONS)
  const { calls } = bench.disk
  await bench.store.checkpoint()
  return bench.disk.trace.slice(calls).findIndex((line) => /^open log-.* to create$/.test(line))
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
    const before = await grown(OPTIONS)
    await before.store.checkpoint()
    await before.store.close()
    for (let call = await firstCopy(before); ; call++) {
      const bench = new Bench(before.disk.clone())
      bench.now = before.now
      await bench.open(OPTIONS)
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
