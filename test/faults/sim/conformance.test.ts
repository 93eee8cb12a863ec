/**
 * The simulated disk and the real one behave alike as long as nothing fails.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readUpTo, replaceFile, writeAll } from '../../../src/log/disk/disk.ts'
import type { Access, Disk, DiskFile } from '../../../src/log/disk/disk.ts'
import { realDisk } from '../../../src/log/disk/real-disk.ts'
import { Dice } from '../../model/properties/dice.ts'
import { SimDisk } from './sim-disk.ts'

const temporary = mkdtempSync(join(tmpdir(), 'pawl-disk-'))
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

let folders = 0

/** A disk and an empty folder on it. */
async function fresh(kind: 'simulated' | 'real'): Promise<{ disk: Disk; root: string }> {
  const disk = kind === 'real' ? realDisk : new SimDisk()
  folders += 1
  const root = kind === 'real' ? `${temporary}/${folders}` : `/data/${folders}`
  await disk.makeFolder(root)
  return { disk, root }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}

/** What came of it: the value, or the code of the error. */
async function resultOf(action: () => Promise<unknown>): Promise<unknown> {
  try {
    return await action()
  } catch (error) {
    return `failed with ${codeOf(error)}`
  }
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

describe.each(['simulated', 'real'] as const)('the %s disk', (kind) => {
  it('reads what was written, with zeros where nothing was', async () => {
    const { disk, root } = await fresh(kind)
    const file = await disk.open(`${root}/a`, 'create')
    expect(await file.size()).toBe(0)
    expect(await file.read(Buffer.alloc(4), 0)).toBe(0)
    expect(await file.write(Buffer.from('hello'), 700)).toBe(5)
    expect(file.writeNow(Buffer.from('J'), 700)).toBe(1)
    expect(await file.size()).toBe(705)
    expect(text(await readUpTo(file, 698, 100))).toBe('\0\0Jello')
    const two = Buffer.alloc(2)
    expect(file.readNow(two, 703)).toBe(2)
    expect(text(two)).toBe('lo')
    expect(file.readNow(two, 704)).toBe(1)
    expect(file.readNow(two, 9000)).toBe(0)
    expect(await file.write(Buffer.alloc(0), 9000)).toBe(0)
    expect(await file.size()).toBe(705)
    await file.close()
  })

  it('opens only what is there, and creates only what is not', async () => {
    const { disk, root } = await fresh(kind)
    for (const access of ['read', 'write', 'write-through'] as const) {
      await expect(disk.open(`${root}/a`, access)).rejects.toMatchObject({ code: 'ENOENT' })
    }
    await (await disk.open(`${root}/a`, 'create')).close()
    await expect(disk.open(`${root}/a`, 'create')).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(disk.open(root, 'create')).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(disk.open(root, 'write')).rejects.toMatchObject({ code: 'EISDIR' })
    const elsewhere = disk.open(`${root}/none/a`, 'create')
    await expect(elsewhere).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(disk.open(`${root}/a/b`, 'create')).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it('refuses to write what was opened to read, and anything after a close', async () => {
    const { disk, root } = await fresh(kind)
    await (await disk.open(`${root}/a`, 'create')).close()
    const file = await disk.open(`${root}/a`, 'read')
    await expect(file.write(Buffer.from('x'), 0)).rejects.toMatchObject({ code: 'EBADF' })
    expect(() => file.writeNow(Buffer.from('x'), 0)).toThrow('EBADF')
    await file.sync()
    await file.close()
    await file.close()
    await expect(file.size()).rejects.toMatchObject({ code: 'EBADF' })
    await expect(file.read(Buffer.alloc(1), 0)).rejects.toMatchObject({ code: 'EBADF' })
    await expect(file.write(Buffer.alloc(1), 0)).rejects.toMatchObject({ code: 'EBADF' })
    await expect(file.sync()).rejects.toMatchObject({ code: 'EBADF' })
    expect(() => file.readNow(Buffer.alloc(1), 0)).toThrow()
    expect(() => file.writeNow(Buffer.alloc(1), 0)).toThrow()
  })

  it('lists files and folders, sorted, and nothing where there is no folder', async () => {
    const { disk, root } = await fresh(kind)
    await disk.makeFolder(`${root}/f/deep`)
    await disk.makeFolder(`${root}/f`)
    for (const name of ['b', 'B', 'a10', 'a9']) {
      await (await disk.open(`${root}/${name}`, 'create')).close()
    }
    expect(await disk.list(root)).toEqual(['B', 'a10', 'a9', 'b', 'f'])
    expect(await disk.list(`${root}/f/`)).toEqual(['deep'])
    expect(await disk.list(`${root}/none`)).toEqual([])
    await expect(disk.list(`${root}/b`)).rejects.toMatchObject({ code: 'ENOTDIR' })
    await expect(disk.makeFolder(`${root}/b`)).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(disk.makeFolder(`${root}/b/c`)).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it('renames over what is there, and an open file keeps its content', async () => {
    const { disk, root } = await fresh(kind)
    await replaceFile(disk, `${root}/a`, Buffer.from('old'))
    const old = await disk.open(`${root}/a`, 'read')
    await replaceFile(disk, `${root}/a`, Buffer.from('new one'))
    const file = await disk.open(`${root}/a`, 'read')
    expect(text(await readUpTo(old, 0, 100))).toBe('old')
    expect(text(await readUpTo(file, 0, 100))).toBe('new one')
    await disk.rename(`${root}/a`, `${root}/a`)
    expect(await disk.list(root)).toEqual(['a'])
    const missing = disk.rename(`${root}/none`, `${root}/a`)
    await expect(missing).rejects.toMatchObject({ code: 'ENOENT' })
    const nowhere = disk.rename(`${root}/a`, `${root}/none/a`)
    await expect(nowhere).rejects.toMatchObject({ code: 'ENOENT' })
    await disk.makeFolder(`${root}/f`)
    await expect(disk.rename(`${root}/a`, `${root}/f`)).rejects.toMatchObject({ code: 'EISDIR' })
    await Promise.all([old.close(), file.close()])
  })

  it('removes what is there and what is not, but no folder', async () => {
    const { disk, root } = await fresh(kind)
    const file = await disk.open(`${root}/a`, 'create')
    await disk.remove(`${root}/a`)
    await disk.remove(`${root}/a`)
    expect(await disk.list(root)).toEqual([])
    await writeAll(file, Buffer.from('still here'), 0)
    expect(text(await readUpTo(file, 0, 100))).toBe('still here')
    await file.close()
    await expect(disk.remove(root)).rejects.toMatchObject({ code: 'ERR_FS_EISDIR' })
    await expect(disk.syncFolder(`${root}/none`)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

const ACCESSES: readonly Access[] = ['read', 'write', 'write-through', 'create', 'create']

/** A story of its seed, told on one disk; the result is all that the disk answered. */
async function told(disk: Disk, root: string, seed: number): Promise<unknown[]> {
  const dice = new Dice(seed)
  const files: DiskFile[] = []
  const heard: unknown[] = []
  const bytes = (): Buffer => Buffer.alloc(dice.below(1300), 97 + dice.below(26))
  for (let step = 0; step < 60; step++) {
    const path = `${root}/${dice.pick(['a', 'b', 'f/c'])}`
    const other = `${root}/${dice.pick(['a', 'b', 'f/c'])}`
    const access = dice.pick(ACCESSES)
    const at = dice.below(2600)
    const kind = dice.below(17)
    const file = files.length === 0 ? null : dice.pick(files)
    const result = await resultOf(async () => {
      if (kind < 4 || file === null) {
        files.push(await disk.open(path, access))
        return 'open'
      }
      if (kind < 9) return file.write(bytes(), at)
      if (kind < 10) {
        // Fails if the file is closed, for which Node's own writeSync has another code.
        await file.size()
        return file.writeNow(bytes(), at)
      }
      if (kind < 11) return file.sync()
      if (kind < 13) return text(await readUpTo(file, at, dice.below(2000)))
      if (kind < 14) return disk.rename(path, other)
      if (kind < 15) return disk.remove(path)
      if (kind < 16) return disk.list(dice.pick([root, `${root}/f`]))
      return file.close()
    })
    heard.push(result)
  }
  for (const file of files) {
    heard.push(await resultOf(async () => text(await readUpTo(file, 0, 9000))))
    await file.close()
  }
  return heard
}

describe('any story', () => {
  it('is the same on both disks', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const [one, other] = [await fresh('simulated'), await fresh('real')]
      await Promise.all([one, other].map(({ disk, root }) => disk.makeFolder(`${root}/f`)))
      const simulated = await told(one.disk, one.root, seed)
      expect(simulated, `seed ${seed}`).toEqual(await told(other.disk, other.root, seed))
    }
  })
})
