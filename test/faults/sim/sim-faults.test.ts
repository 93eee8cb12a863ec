/**
 * How calls of the simulated disk are counted and fail, how room runs out, and how disks are
 * copied and damaged.
 */
import { describe, expect, it } from 'vitest'
import type { Access, DiskFile } from '../../../src/log/disk/disk.ts'
import { writeAll } from '../../../src/log/disk/disk.ts'
import { SECTOR, SimDisk } from './sim-disk.ts'
import type { SimOptions } from './sim-disk.ts'

const NEW = Buffer.alloc(4 * SECTOR, 'n')

async function withFile(
  access: Access = 'write',
  options: SimOptions = {},
): Promise<{ disk: SimDisk; file: DiskFile }> {
  const disk = new SimDisk(options)
  disk.put('/d/a', Buffer.alloc(4 * SECTOR, 'o'))
  return { disk, file: await disk.open('/d/a', access) }
}

/** Which of the four sectors are new. */
function newOnes(disk: SimDisk): string {
  const bytes = disk.bytesOf('/d/a')
  return [0, 1, 2, 3].map((i) => String.fromCodePoint(bytes[i * SECTOR] as number)).join('')
}

const left = (disk: SimDisk): Set<string> => new Set([...disk.outcomes(64)].map(newOnes))

describe('calls', () => {
  it('are counted, and told if asked for', async () => {
    const disk = new SimDisk({ tracing: true })
    await disk.makeFolder('/d')
    const file = await disk.open('/d/log-00', 'create')
    await file.write(Buffer.alloc(512), 4096)
    file.writeNow(Buffer.alloc(3), 0)
    await file.read(Buffer.alloc(10), 0)
    file.readNow(Buffer.alloc(1), 5)
    await file.size()
    disk.failAt(1, { code: 'EIO', forever: false })
    await expect(file.sync()).rejects.toThrow('EIO')
    await file.close()
    await disk.rename('/d/log-00', '/d/b')
    await disk.list('/d')
    await disk.remove('/d/b')
    await disk.syncFolder('/d')
    expect(disk.trace).toEqual([
      'mkdir /d',
      'open log-00 to create',
      'write log-00 at 4096 +512',
      'write log-00 at 0 +3',
      'read log-00 at 0 +10',
      'read log-00 at 5 +1',
      'fstat log-00',
      'sync log-00: EIO',
      'close log-00',
      'rename log-00 to b',
      'list /d',
      'remove b',
      'syncFolder /d',
    ])
    expect(disk.calls).toBe(13)
    expect(disk.openFiles).toBe(0)
  })
})

describe('a fault', () => {
  it('strikes once, at its call, as an error of the system', async () => {
    const { disk, file } = await withFile()
    disk.failAt(2, { code: 'EMFILE', forever: false })
    await file.size()
    const error = await disk.open('/d/a', 'read').catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ code: 'EMFILE', errno: -24, syscall: 'open' })
    await disk.open('/d/a', 'read')
    expect(disk.openFiles).toBe(2)
  })

  it('or for ever, until the disk is healed', async () => {
    const { disk, file } = await withFile()
    disk.failAt(2, { code: 'EIO', forever: true })
    await file.size()
    for (let i = 0; i < 3; i++) await expect(file.size()).rejects.toMatchObject({ code: 'EIO' })
    expect(() => file.readNow(Buffer.alloc(1), 0)).toThrow('EIO')
    disk.heal()
    expect(await file.size()).toBe(4 * SECTOR)
  })

  it('makes no change of names, and closes what it should close', async () => {
    const { disk, file } = await withFile()
    disk.failAt(1, { code: 'EIO', forever: true })
    await expect(disk.remove('/d/a')).rejects.toThrow('EIO')
    await expect(disk.rename('/d/a', '/d/b')).rejects.toThrow('EIO')
    await expect(disk.open('/d/c', 'create')).rejects.toThrow('EIO')
    await expect(file.close()).rejects.toThrow('EIO')
    expect(disk.paths()).toEqual(['/d/a'])
    expect(disk.openFiles).toBe(0)
  })

  it('of a write leaves none, some or all of its sectors, by the seed', async () => {
    const found = new Set<string>()
    for (let seed = 0; seed < 60; seed++) {
      const { disk, file } = await withFile('write', { seed })
      disk.failAt(1, { code: 'EIO', forever: false })
      await expect(file.write(NEW, 0)).rejects.toThrow('EIO')
      found.add(newOnes(disk))
      expect(newOnes(disk.crash('nothing'))).toBe('oooo')
    }
    expect([...found]).toEqual(expect.arrayContaining(['oooo', 'nnnn']))
    expect(found.size).toBeGreaterThan(6)
  })

  it('of a short write leaves a part, at least a byte', async () => {
    const counts = new Set<number>()
    for (let seed = 0; seed < 40; seed++) {
      const { disk, file } = await withFile('write-through', { seed })
      disk.failAt(1, { short: true })
      const count = await file.write(NEW, 0)
      counts.add(count)
      const bytes = disk.crash('nothing').bytesOf('/d/a').toString()
      expect(bytes).toBe('n'.repeat(count) + 'o'.repeat(4 * SECTOR - count))
      disk.failAt(1, { short: true })
      expect(await file.write(Buffer.from('x'), 0)).toBe(1)
      disk.failAt(1, { short: true })
      await writeAll(file, NEW, 0)
      expect(newOnes(disk.crash('nothing'))).toBe('nnnn')
    }
    expect(Math.min(...counts)).toBeGreaterThan(0)
    expect(Math.max(...counts)).toBeLessThan(4 * SECTOR)
    expect(counts.size).toBeGreaterThan(20)
  })
})

describe('a sync that failed', () => {
  it('leaves open what is durable, and a later one does not mend it', async () => {
    const { disk, file } = await withFile()
    await file.write(NEW.subarray(0, 2 * SECTOR), 0)
    disk.failAt(1, { code: 'EIO', forever: false })
    await expect(file.sync()).rejects.toThrow('EIO')
    expect(newOnes(disk)).toBe('nnoo')
    await file.sync()
    expect(left(disk)).toEqual(new Set(['oooo', 'nooo', 'onoo', 'nnoo']))
    // Writing it again does.
    await file.write(NEW.subarray(0, SECTOR), 0)
    await file.sync()
    expect(left(disk)).toEqual(new Set(['nooo', 'nnoo']))
  })

  it('leaves the size open too, until something is written that needs it', async () => {
    const { disk, file } = await withFile()
    const sizes = (): Set<number> =>
      new Set([...disk.outcomes(9)].map((one) => one.bytesOf('/d/a').length))
    await file.write(NEW.subarray(0, 1), 9 * SECTOR - 1)
    disk.failAt(1, { code: 'ENOSPC', forever: false })
    await expect(file.sync()).rejects.toThrow('ENOSPC')
    await file.sync()
    expect(sizes()).toEqual(new Set([4 * SECTOR, 9 * SECTOR]))
    await file.write(NEW.subarray(0, 1), 5 * SECTOR)
    await file.sync()
    expect(sizes()).toEqual(new Set([9 * SECTOR]))
  })

  it('is the same for a folder', async () => {
    const { disk } = await withFile()
    const paths = (): string[] => [...disk.outcomes(9)].map((one) => one.paths().join(' '))
    await disk.rename('/d/a', '/d/b')
    disk.failAt(1, { code: 'EIO', forever: false })
    await expect(disk.syncFolder('/d')).rejects.toThrow('EIO')
    await disk.syncFolder('/d')
    expect(paths()).toEqual(['/d/a', '/d/b'])
    await disk.rename('/d/b', '/d/c')
    await disk.syncFolder('/d')
    expect(paths()).toEqual(['/d/c'])
  })

  it('is the same for a write through', async () => {
    const found = new Set<string>()
    for (let seed = 0; seed < 30; seed++) {
      const { disk, file } = await withFile('write-through', { seed })
      disk.failAt(1, { code: 'EIO', forever: false })
      await expect(file.write(NEW, 0)).rejects.toThrow('EIO')
      await file.sync()
      expect(left(disk)).toContain('oooo')
      for (const one of left(disk)) found.add(one)
    }
    expect(found).toContain('nnnn')
  })
})

describe('room', () => {
  it('is needed for new sectors only', async () => {
    const { disk, file } = await withFile('write', { capacity: 5 * SECTOR })
    expect(disk.used).toBe(4 * SECTOR)
    await file.write(NEW, 0)
    await file.write(NEW.subarray(0, 1), 4 * SECTOR)
    await file.write(NEW.subarray(0, 1), 5 * SECTOR - 1)
    const full = file.write(NEW.subarray(0, 1), 5 * SECTOR)
    await expect(full).rejects.toMatchObject({ code: 'ENOSPC' })
    await file.write(NEW, 0)
    disk.capacity = 6 * SECTOR
    await file.write(NEW.subarray(0, 1), 5 * SECTOR)
    expect(disk.used).toBe(6 * SECTOR)
  })

  it('is needed for a hole when it is filled', async () => {
    const { disk, file } = await withFile('write', { capacity: 6 * SECTOR })
    await file.write(NEW.subarray(0, 1), 99 * SECTOR)
    expect(disk.used).toBe(5 * SECTOR)
    await expect(file.write(NEW, 50 * SECTOR)).rejects.toThrow('ENOSPC')
    disk.capacity = 9 * SECTOR
    await file.write(NEW, 50 * SECTOR)
    expect(disk.used).toBe(9 * SECTOR)
  })

  it('comes back with a file that has no name and no handle any more', async () => {
    const { disk, file } = await withFile('write', { capacity: 4 * SECTOR })
    await disk.remove('/d/a')
    expect(disk.used).toBe(4 * SECTOR)
    await file.close()
    expect(disk.used).toBe(0)
    const other = await disk.open('/d/b', 'create')
    await other.write(NEW, 0)
    // The removal may not survive. Even then what is allocated can be overwritten.
    const back = [...disk.outcomes(999)].find((one) => one.used > one.capacity)
    const again = await back?.open('/d/a', 'write')
    await again?.write(NEW, 0)
    expect(back?.paths()).toEqual(['/d/a', '/d/b'])
  })

  it('that lacks for a part leaves no more written than there was room for', async () => {
    for (let seed = 0; seed < 30; seed++) {
      const { disk, file } = await withFile('write', { capacity: 6 * SECTOR, seed })
      await expect(file.write(NEW, 3 * SECTOR)).rejects.toThrow('ENOSPC')
      expect(disk.used).toBeLessThanOrEqual(6 * SECTOR)
    }
  })
})

describe('copies', () => {
  it('are independent, durable and without pending faults', async () => {
    const { disk, file } = await withFile()
    await file.write(NEW, 0)
    await disk.rename('/d/a', '/d/b')
    await disk.rename('/d/b', '/d/a')
    disk.failAt(1, { code: 'EIO', forever: true })
    const copy = disk.clone()
    expect(left(copy)).toEqual(new Set(['nnnn']))
    disk.heal()
    const other = await copy.open('/d/a', 'write')
    await other.write(Buffer.alloc(SECTOR, 'x'), 0)
    await file.write(Buffer.alloc(SECTOR, 'y'), SECTOR)
    expect([newOnes(disk), newOnes(copy)]).toEqual(['nynn', 'xnnn'])
  })

  it('can be damaged', async () => {
    const { disk, file } = await withFile()
    await file.write(NEW, 0)
    const bytes = disk.bytesOf('/d/a')
    bytes[SECTOR] = 0x21
    expect(newOnes(disk)).toBe('nnnn')
    disk.put('/d/a', bytes)
    disk.put('/e/f/new', Buffer.from('x'))
    expect(left(disk)).toEqual(new Set(['n!nn']))
    const seen = Buffer.alloc(1)
    file.readNow(seen, SECTOR)
    expect(seen.toString()).toBe('!')
    expect(disk.crash('nothing').paths()).toEqual(['/d/a', '/e/f/new'])
    expect(await disk.list('/e')).toEqual(['f'])
    expect(() => disk.bytesOf('/d/none')).toThrow('ENOENT')
    disk.patch('/d/a', 3 * SECTOR, Buffer.from('?'))
    expect(left(disk)).toEqual(new Set(['n!n?']))
    await disk.remove('/d/a')
    disk.put('/d/a', bytes)
    expect(left(disk)).toEqual(new Set(['n!nn']))
    disk.put('/d/a', Buffer.from('short'))
    await file.sync()
    expect(disk.crash('nothing').bytesOf('/d/a').toString()).toBe('short')
  })

  it('are quick: ten thousand of a disk with some files, each damaged', () => {
    const disk = new SimDisk()
    for (const name of ['a', 'b', 'c', 'd']) disk.put(`/d/${name}`, Buffer.alloc(65_536, name))
    const begun = performance.now()
    for (let i = 0; i < 10_000; i++) disk.clone().patch('/d/b', i, Buffer.from('damage'))
    expect(performance.now() - begun).toBeLessThan(5000)
  })
})
