import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/engines.ts'
import type { ArtifactPlace } from '../../definition/index.ts'
import { ArtifactMissing } from './stored-artifact.ts'
import { folderPlace, memoryPlace } from './places.ts'

const PLACES: readonly [string, () => Promise<ArtifactPlace>][] = [
  ['in memory', async () => memoryPlace()],
  ['in a folder', async () => folderPlace(await temporaryFolder())],
]

async function* parts(...texts: readonly string[]): AsyncGenerator<Uint8Array, void, void> {
  for (const text of texts) yield Buffer.from(text)
}

async function* broken(): AsyncGenerator<Uint8Array, void, void> {
  yield Buffer.from('half')
  throw new Error('the source is gone')
}

async function textAt(place: ArtifactPlace, path: string): Promise<string> {
  let text = ''
  for await (const part of place.read(path)) text += Buffer.from(part).toString()
  return text
}

describe.each(PLACES)('a place %s', (_, make) => {
  it('gives back what was written, whole, and its size', async () => {
    const place = await make()
    await place.write('ab/job/a.txt', parts('one ', 'two'))
    expect(await textAt(place, 'ab/job/a.txt')).toBe('one two')
    expect(await place.size('ab/job/a.txt')).toBe(7)
    await place.write('ab/job/a.txt', parts('new'))
    expect(await textAt(place, 'ab/job/a.txt')).toBe('new')
    await place.write('ab/job/empty', parts())
    expect(await place.size('ab/job/empty')).toBe(0)
  })

  it('has nothing of a write that was cut short, and keeps what was there', async () => {
    const place = await make()
    await expect(place.write('ab/job/new', broken())).rejects.toThrow('the source is gone')
    expect(await place.size('ab/job/new')).toBeNull()
    await place.write('ab/job/old', parts('whole'))
    await expect(place.write('ab/job/old', broken())).rejects.toThrow('the source is gone')
    expect(await textAt(place, 'ab/job/old')).toBe('whole')
  })

  it('says what is not there', async () => {
    const place = await make()
    expect(await place.size('ab/nothing')).toBeNull()
    await expect(textAt(place, 'ab/nothing')).rejects.toThrow(ArtifactMissing)
    await place.write('ab/file', parts('x'))
    expect(await place.size('ab/file/beneath')).toBeNull()
    await expect(textAt(place, 'ab/file/beneath')).rejects.toThrow(ArtifactMissing)
  })

  it('lists what is beneath a folder, page by page, and removes it', async () => {
    const place = await make()
    for (const path of ['aa/j1/x', 'aa/j1/y', 'aa/j2/x', 'aa/j10/x', 'bb/j3/x']) {
      await place.write(path, parts(path))
    }
    expect(await place.list('', '', 9)).toEqual(['aa', 'bb'])
    expect(await place.list('aa', '', 2)).toEqual(['j1', 'j10'])
    expect(await place.list('aa', 'j10', 2)).toEqual(['j2'])
    expect(await place.list('cc', '', 2)).toEqual([])
    await place.remove('aa/j1')
    await place.remove('aa/j1')
    expect(await place.list('aa', '', 9)).toEqual(['j10', 'j2'])
    expect(await place.size('aa/j10/x')).toBe(8)
  })
})

describe('a folder', () => {
  it('has no file that is half written under its own name, at any moment', async () => {
    const root = await temporaryFolder()
    const place = folderPlace(root)
    const seen: (number | null)[] = []
    async function* watched(): AsyncGenerator<Uint8Array, void, void> {
      for (const text of ['one', 'two', 'three']) {
        yield Buffer.from(text)
        seen.push(await place.size('ab/job/a'))
      }
    }
    await place.write('ab/job/a', watched())
    await expect(place.write('ab/job/b', broken())).rejects.toThrow('the source is gone')
    expect(seen).toEqual([null, null, null])
    expect(await readdir(join(root, 'tmp'))).toEqual([])
    expect(await readFile(place.localPath?.('ab/job/a') ?? '', 'utf8')).toBe('onetwothree')
  })

  it('is tidied of what was left long ago, and of nothing else', async () => {
    const root = await temporaryFolder()
    const place = folderPlace(root)
    await place.tidy?.(Date.now())
    await place.write('ab/job/a', parts('x'))
    const old = join(root, 'tmp', 'old')
    await writeFile(old, 'half')
    await utimes(old, 1, 1)
    // A removal that was cut short leaves a folder.
    await mkdir(join(root, 'tmp', 'removed', 'v1'), { recursive: true })
    await utimes(join(root, 'tmp', 'removed'), 1, 1)
    await writeFile(join(root, 'tmp', 'young'), 'half')
    await place.tidy?.(1_000_000)
    expect(await readdir(join(root, 'tmp'))).toEqual(['young'])
    expect(await place.list('', '', 9)).toEqual(['ab'])
  })

  it('removes all at once: if it is cut short, nothing is left under its own name', async () => {
    const root = await temporaryFolder()
    const place = folderPlace(root)
    const folder = join(root, 'ab', 'job')
    await mkdir(folder, { recursive: true })
    const names = Array.from({ length: 500 }, (__, i) => `file-${i}`)
    for (const name of names) await writeFile(join(folder, name), 'x')
    const running = { removals: 1 }
    const removing = place.remove('ab/job').finally(() => (running.removals = 0))
    const seen = new Set<number>()
    while (running.removals > 0) seen.add((await readdir(folder).catch(() => [])).length)
    await removing
    expect([...seen].filter((count) => count > 0 && count < 500)).toEqual([])
    expect(await readdir(join(root, 'ab'))).toEqual([])
    expect(await readdir(join(root, 'tmp'))).toEqual([])
  })

  it('lists nothing that is no path, such as what the system put there', async () => {
    const root = await temporaryFolder()
    const place = folderPlace(root)
    await mkdir(join(root, 'lost+found'))
    await writeFile(join(root, 'a note'), 'mine')
    await place.write('ab/job/a', parts('x'))
    expect(await place.list('', '', 9)).toEqual(['ab'])
  })

  it.each(['../outside', 'ab/../../outside', '/etc/passwd', 'a//b', '', 'a\\b', 'a/b\0'])(
    'is not left by a reference: %j is no path',
    async (path) => {
      const place = folderPlace(await temporaryFolder())
      await expect(place.size(path)).rejects.toThrow('is no path of an artifact')
      await expect(place.write(path, parts('x'))).rejects.toThrow('is no path of an artifact')
    },
  )
})
