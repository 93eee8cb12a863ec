/**
 * The rules of the simulated disk: what a power loss leaves, how calls fail, how room runs out.
 */
import { describe, expect, it } from 'vitest'
import type { Access, DiskFile } from '../../../src/log/disk/disk.ts'
import { Dice } from '../../model/properties/dice.ts'
import { PowerLost, SECTOR, SimDisk } from './sim-disk.ts'

/** So many sectors, each full of one letter. */
const sectors = (letters: string): Buffer =>
  Buffer.concat(letters.split('').map((letter) => Buffer.alloc(SECTOR, letter)))

/** The first letter of each sector, a dot for zeros. */
function lettersOf(disk: SimDisk, path = '/d/a'): string {
  if (!disk.paths().includes(path)) return 'gone'
  const bytes = disk.bytesOf(path)
  const firsts = Array.from({ length: Math.ceil(bytes.length / SECTOR) }, (_, i) => {
    return String.fromCodePoint(bytes[i * SECTOR] as number)
  })
  return firsts.join('').replaceAll('\0', '.')
}

/** What a power loss may leave, each once, sorted. */
function left(disk: SimDisk, path = '/d/a'): string[] {
  const all = [...disk.outcomes(4096)].map((outcome) => lettersOf(outcome, path))
  return [...new Set(all)].toSorted()
}

/** A disk with a durable file, and a handle of it. */
async function withFile(
  letters: string,
  access: Access = 'write',
): Promise<{ disk: SimDisk; file: DiskFile }> {
  const disk = new SimDisk()
  disk.put('/d/a', sectors(letters))
  return { disk, file: await disk.open('/d/a', access) }
}

describe('a fingerprint', () => {
  it('is another one as soon as the running system sees anything else', async () => {
    const { disk, file } = await withFile('ab')
    const looks = [disk.fingerprint()]
    const look = (): number => looks.push(disk.fingerprint())
    await file.write(Buffer.from('x'), SECTOR)
    look()
    await file.write(Buffer.from('y'), 2 * SECTOR)
    look()
    await file.write(Buffer.from('\0'), 2 * SECTOR + 1)
    look()
    await file.write(Buffer.from('z'), 9 * SECTOR)
    look()
    await disk.makeFolder('/e')
    look()
    await disk.rename('/d/a', '/e/a')
    look()
    disk.put('/d/a', Buffer.alloc(0))
    look()
    await disk.remove('/d/a')
    disk.capacity = 100_000
    look()
    expect(new Set(looks).size).toBe(looks.length)
  })

  it('is the same whatever of it is durable, and for a copy', async () => {
    const { disk, file } = await withFile('ab')
    await file.write(sectors('c'), 0)
    const look = disk.fingerprint()
    await file.sync()
    expect([disk.fingerprint(), disk.clone().fingerprint()]).toEqual([look, look])
    expect(disk.crash('everything').fingerprint()).toBe(look)
  })
})

describe('content after a power loss', () => {
  it('is old or new, sector by sector, until it is synced', async () => {
    const { disk, file } = await withFile('aaa')
    await file.write(sectors('bb'), 0)
    expect(lettersOf(disk)).toBe('bba')
    expect(left(disk)).toEqual(['aaa', 'aba', 'baa', 'bba'])
    expect(lettersOf(disk.crash('nothing'))).toBe('aaa')
    expect(lettersOf(disk.crash('everything'))).toBe('bba')
    await file.sync()
    expect(left(disk)).toEqual(['bba'])
  })

  it('may be any version that a sector went through', async () => {
    const { disk, file } = await withFile('a')
    await file.write(sectors('b'), 0)
    file.writeNow(sectors('c'), 0)
    expect(left(disk)).toEqual(['a', 'b', 'c'])
  })

  it('has whole sectors, however little of one was written', async () => {
    const { disk, file } = await withFile('a')
    await file.write(Buffer.from('xyz'), 10)
    const found = [...disk.outcomes(10)].map((one) => one.bytesOf('/d/a').toString('latin1', 9, 14))
    expect(found.toSorted()).toEqual(['aaaaa', 'axyza'])
  })

  it('has the old size or a later one, with zeros where sectors did not survive', async () => {
    const { disk, file } = await withFile('a')
    await file.write(sectors('bc'), SECTOR)
    expect(left(disk)).toEqual(['a', 'a..', 'a.c', 'ab.', 'abc'])
    await file.write(sectors('e'), 4 * SECTOR)
    await file.sync()
    expect(left(disk)).toEqual(['abc.e'])
  })

  it('is durable at once if it was written through, but nothing else is', async () => {
    const { disk, file } = await withFile('aaa', 'write-through')
    const other = await disk.open('/d/a', 'write')
    await other.write(sectors('x'), 2 * SECTOR)
    await file.write(sectors('b'), 0)
    expect(left(disk)).toEqual(['baa', 'bax'])
    await file.write(sectors('c'), 3 * SECTOR)
    expect(left(disk)).toEqual(['baac', 'baxc'])
    // The port does not promise it of this one.
    file.writeNow(sectors('y'), 0)
    expect(left(disk)).toEqual(['baac', 'baxc', 'yaac', 'yaxc'])
  })

  it('has a size that covers what was written through', async () => {
    const { disk, file } = await withFile('', 'write-through')
    file.writeNow(sectors('a'), 2 * SECTOR)
    expect(left(disk)).toEqual(['', '...', '..a'])
    await file.write(sectors('b'), SECTOR)
    expect(left(disk)).toEqual(['.b.', '.ba'])
  })

  it('can be asked for at any time without a change to the disk', async () => {
    const { disk, file } = await withFile('ab')
    await file.write(sectors('c'), 0)
    const before = disk.calls
    const lost = disk.crash('nothing')
    const again = await lost.open('/d/a', 'write')
    await again.write(sectors('z'), 0)
    expect([lettersOf(disk), lettersOf(lost)]).toEqual(['cb', 'zb'])
    expect([disk.calls, lost.calls]).toEqual([before, 2])
    await file.sync()
    expect(left(disk)).toEqual(['cb'])
  })
})

describe('names after a power loss', () => {
  it('a file is gone if its creation did not survive, synced or not', async () => {
    const disk = new SimDisk()
    await disk.makeFolder('/d')
    const file = await disk.open('/d/a', 'create')
    await file.write(sectors('a'), 0)
    await file.sync()
    expect(left(disk)).toEqual(['a', 'gone'])
    await disk.syncFolder('/d')
    expect(left(disk)).toEqual(['a'])
  })

  it('a removed file comes back with its durable content', async () => {
    const { disk, file } = await withFile('a')
    await file.write(sectors('b'), 0)
    await disk.remove('/d/a')
    expect(lettersOf(disk)).toBe('gone')
    expect(left(disk)).toEqual(['a', 'b', 'gone'])
    await disk.syncFolder('/d')
    expect(left(disk)).toEqual(['gone'])
  })

  it('a rename has both its names or neither', async () => {
    const { disk } = await withFile('a')
    disk.put('/d/b', sectors('b'))
    await disk.rename('/d/b', '/d/a')
    const found = [...disk.outcomes(10)].map((one) => `${lettersOf(one)} ${lettersOf(one, '/d/b')}`)
    expect(found).toEqual(['a b', 'b gone'])
  })

  it('any of several changes survive, but those of one name in their order', async () => {
    const { disk } = await withFile('a')
    await disk.rename('/d/a', '/d/b')
    await (await disk.open('/d/a', 'create')).close()
    await (await disk.open('/d/c', 'create')).close()
    const found = [...disk.outcomes(10)].map((one) => one.paths().join(' '))
    expect(found.toSorted()).toEqual(
      ['/d/a', '/d/a /d/b', '/d/a /d/b /d/c', '/d/a /d/c', '/d/b', '/d/b /d/c'].toSorted(),
    )
    // The file that was renamed is somewhere, always.
    for (const one of disk.outcomes(10)) {
      expect([lettersOf(one), lettersOf(one, '/d/b')]).toContain('a')
    }
  })

  it('a rename between two folders needs both synced', async () => {
    const { disk } = await withFile('a')
    await disk.makeFolder('/e')
    await disk.rename('/d/a', '/e/a')
    await disk.syncFolder('/e')
    expect(left(disk)).toEqual(['a', 'gone'])
    await disk.syncFolder('/d')
    expect(left(disk)).toEqual(['gone'])
    expect(left(disk, '/e/a')).toEqual(['a'])
  })

  it('a folder is there at once, unless the power went while it was made', async () => {
    const disk = new SimDisk()
    await disk.makeFolder('/d')
    expect(await disk.crash('nothing').list('/')).toEqual(['d'])
    disk.crashAt(1)
    await expect(disk.makeFolder('/d/e/f')).rejects.toThrow(PowerLost)
    const found = await Promise.all([...disk.outcomes(10)].map((one) => one.list('/d/e')))
    expect(found).toEqual([[], [], ['f']])
  })
})

describe('the power goes during a call', () => {
  it('which never returns, nor does any other', async () => {
    const { disk, file } = await withFile('a')
    disk.crashAt(2)
    await file.size()
    await expect(file.size()).rejects.toThrow(PowerLost)
    expect(disk.isLost).toBe(true)
    expect(() => file.readNow(Buffer.alloc(1), 0)).toThrow(PowerLost)
    await expect(file.close()).rejects.toThrow(PowerLost)
    await expect(disk.list('/d')).rejects.toThrow(PowerLost)
    expect(disk.calls).toBe(3)
    disk.heal()
    await expect(disk.list('/d')).rejects.toThrow(PowerLost)
  })

  it.each(['write', 'write-through'] as const)('%s leaves any of its sectors', async (access) => {
    const { disk, file } = await withFile('ab', access)
    disk.crashAt(1)
    await expect(file.write(sectors('xy'), 0)).rejects.toThrow(PowerLost)
    expect(left(disk)).toEqual(['ab', 'ay', 'xb', 'xy'])
  })

  it('a sync leaves any part of what was not synced', async () => {
    const { disk, file } = await withFile('ab')
    await file.write(sectors('xy'), 0)
    disk.crashAt(1)
    await expect(file.sync()).rejects.toThrow(PowerLost)
    expect(left(disk)).toEqual(['ab', 'ay', 'xb', 'xy'])
  })

  it('a change of names survives or not', async () => {
    const { disk } = await withFile('a')
    disk.crashAt(1)
    await expect(disk.remove('/d/a')).rejects.toThrow(PowerLost)
    expect(left(disk)).toEqual(['a', 'gone'])
    const folder = (await withFile('a')).disk
    await folder.remove('/d/a')
    folder.crashAt(1)
    await expect(folder.syncFolder('/d')).rejects.toThrow(PowerLost)
    expect(left(folder)).toEqual(['a', 'gone'])
  })

  it('or between two calls', async () => {
    const { disk, file } = await withFile('a')
    disk.cut()
    await expect(file.size()).rejects.toThrow(PowerLost)
  })
})

describe('outcomes', () => {
  it('are all there are, if they are few enough, and each once', async () => {
    const { disk, file } = await withFile('aaaa')
    await file.write(sectors('bbbb'), 0)
    await file.write(sectors('c'), 0)
    expect(disk.doubts).toBe(4)
    const found = [...disk.outcomes(24)].map((one) => lettersOf(one))
    expect(found).toHaveLength(24)
    expect(new Set(found).size).toBe(24)
  })

  it('do not tell apart what became of a file that is gone', async () => {
    const disk = new SimDisk()
    await disk.makeFolder('/d')
    const file = await disk.open('/d/a', 'create')
    await file.write(sectors('ab'), 0)
    expect([...disk.outcomes(16)]).toHaveLength(9)
  })

  it('are a sample with the extremes, if they are too many', async () => {
    const { disk, file } = await withFile('a'.repeat(20))
    await file.write(sectors('b'.repeat(20)), 0)
    const found = [...disk.outcomes(500)].map((one) => lettersOf(one))
    expect(found).toHaveLength(500)
    const [none, all] = ['a'.repeat(20), 'b'.repeat(20)]
    for (let i = 0; i < 20; i++) {
      expect(found).toContain(`${none.slice(0, i)}b${none.slice(i + 1)}`)
      expect(found).toContain(`${all.slice(0, i)}a${all.slice(i + 1)}`)
      expect(found).toContain(all.slice(0, i) + none.slice(i))
    }
    expect(new Set(found).size).toBeGreaterThan(200)
    expect([...disk.outcomes(500)].map((one) => lettersOf(one))).toEqual(found)
    expect([...disk.outcomes(500, 2)].map((one) => lettersOf(one))).not.toEqual(found)
    expect([...disk.outcomes(1)]).toHaveLength(42)
  })

  it('by a seed are among them, the same for the same seed', async () => {
    const { disk, file } = await withFile('abc')
    await file.write(sectors('xyz'), 0)
    const found = Array.from({ length: 60 }, (_, seed) => lettersOf(disk.crash(seed)))
    expect([...new Set(found)].toSorted()).toEqual(left(disk))
    expect(found).toEqual(found.map((_, seed) => lettersOf(disk.crash(seed))))
  })
})

/** What each sector of a file may hold, told naively: the versions since the last sync. */
function possible(versions: readonly ReadonlySet<string>[], found: string): boolean {
  return found.split('').every((letter, i) => (versions[i] as ReadonlySet<string>).has(letter))
}

describe('any story of writes and syncs', () => {
  it('leaves only what some version of each sector held', async () => {
    for (let seed = 1; seed <= 80; seed++) {
      const dice = new Dice(seed)
      const { disk, file } = await withFile('aaaaaa')
      let versions = 'aaaaaa'.split('').map((letter) => new Set([letter]))
      for (let step = 0; step < 12; step++) {
        const letters = dice.pick(['b', 'cd', 'efg', 'hijk'])
        const at = dice.below(7 - letters.length)
        if (dice.chance(25)) {
          await file.sync()
          versions = lettersOf(disk)
            .split('')
            .map((letter) => new Set([letter]))
        } else {
          await file.write(sectors(letters), at * SECTOR)
          for (const [i, letter] of letters.split('').entries()) versions[at + i]?.add(letter)
        }
        expect(lettersOf(disk.crash('everything'))).toBe(lettersOf(disk))
        const found = [...disk.outcomes(64)].map((one) => lettersOf(one))
        expect(found.filter((one) => !possible(versions, one))).toEqual([])
        const seen = versions.map((_, i) => new Set(found.map((one) => one[i])))
        // Of the versions in between a sample may miss some.
        if (disk.doubts <= 2) expect(seen).toEqual(versions)
      }
    }
  })

  it('keeps what was written through or synced, whatever is written and fails around it', async () => {
    for (let seed = 1; seed <= 120; seed++) {
      const dice = new Dice(seed)
      const { disk, file } = await withFile('abcd')
      const through = await disk.open('/d/a', 'write-through')
      let hasFailed = false
      for (let step = 0; step < 25; step++) {
        const at = dice.below(5 * SECTOR)
        const bytes = Buffer.alloc(1 + dice.below(2 * SECTOR), 101 + dice.below(20))
        const kind = dice.below(8)
        if (kind < 3) await file.write(bytes, at)
        else if (kind < 5) file.writeNow(bytes, at)
        else if (kind < 6) {
          await through.write(bytes, at)
          const found = [...disk.outcomes(40, seed)].map((one) => one.bytesOf('/d/a'))
          const isThere = (one: Buffer): boolean =>
            one.subarray(at, at + bytes.length).equals(bytes)
          expect(found.every(isThere), `seed ${seed}`).toBe(true)
        } else if (kind < 7 || hasFailed) {
          await file.sync()
          if (!hasFailed) expect(disk.doubts, `seed ${seed}`).toBe(0)
        } else {
          disk.failAt(1, { code: 'EIO', forever: false })
          await expect(file.sync()).rejects.toThrow('EIO')
          hasFailed = true
        }
        const all = disk.crash('everything').bytesOf('/d/a')
        expect(all.equals(disk.bytesOf('/d/a')), `seed ${seed}`).toBe(true)
      }
    }
  })
})
