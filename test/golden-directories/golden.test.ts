/**
 * A store that was written once can be read for ever. Each golden directory is opened by the
 * code of today, with and without its checkpoints, and must say what it said then. And what the
 * code of today writes is compared with the newest one, byte for byte: the format cannot change
 * unnoticed.
 *
 * After a change that is meant, and that raised the format or the version of an entry,
 * `UPDATE_GOLDEN=1 npx vitest run test/golden-directories` adds a directory. Until 0.1.0 is
 * released there is one, which is removed and added again instead: see the README here.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { FORMAT } from '../../src/log/format/format.ts'
import { NewerFormat } from '../../src/log/index.ts'
import { CHECKPOINT_FORMAT } from '../../src/log/checkpoint/manifest.ts'
import type { StoreNotice } from '../../src/store/index.ts'
import { ask, openAt, tellStory } from './directory.ts'
import {
  addGolden,
  copyTo,
  currentName,
  expectedOf,
  filesIn,
  filesOf,
  goldenNames,
  HERE,
} from './golden-formats.ts'

// The id is all that a store draws at random.
vi.mock('../../src/store/random.ts', () => ({
  newSessionName: (kind: string): string => `${kind}-session`,
  newStoreId: () => '0123456789abcdef'.repeat(2),
  newCopierName: () => 'copier',
}))

const CURRENT = currentName()
const UPDATE = process.env['UPDATE_GOLDEN'] === '1'

let folder = ''
const newFolder = (): string => mkdtempSync(join(tmpdir(), 'pawl-golden-'))
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

// Before the directories are listed, so that one that was just added is tested too.
if (UPDATE && !existsSync(join(HERE, CURRENT))) {
  const scratch = newFolder()
  await addGolden(join(HERE, CURRENT), scratch)
  rmSync(scratch, { recursive: true })
}

const CHECKPOINT_PART = /^(?:checkpoint|live|finished)-/

describe.each(goldenNames())('%s', (name) => {
  const expected = expectedOf(name)

  beforeEach(() => {
    copyTo(name, folder)
  })

  it('opens as a store that has the same jobs, queues, schedules, histories and entries', async () => {
    expect(await ask(folder, expected.now)).toEqual(expected)
  })

  it('was read from its newest checkpoint and the few entries behind it', async () => {
    const store = await openAt(folder, expected.now)
    const newest = [...filesOf(name).keys()].findLast((file) => file.startsWith('checkpoint-'))
    expect(store.opening.checkpoint).toBe(Number.parseInt(newest?.slice(-16) ?? '', 16))
    expect(store.opening.entries).toBeGreaterThan(0)
    expect(store.opening.entries).toBeLessThan(expected.entries.length)
    await store.close()
  })

  it('is the same from its older checkpoint, when the newest is damaged', async () => {
    const newest = readdirSync(folder).findLast((file) => file.startsWith('live-')) as string
    spoil(join(folder, newest), 70)
    const notices: StoreNotice[] = []
    const onNotice = (notice: StoreNotice): void => void notices.push(notice)
    expect(await ask(folder, expected.now, { onNotice })).toEqual(expected)
    expect(notices.map(({ kind }) => kind)).toEqual(['checkpoint-damaged'])
  })

  it('is the same when the indexes of its files of finished jobs are damaged', async () => {
    const finishedFiles = readdirSync(folder).filter((file) => file.startsWith('finished-'))
    for (const file of finishedFiles)
      spoil(join(folder, file), readFileSync(join(folder, file)).length - 1)
    const notices: StoreNotice[] = []
    const onNotice = (notice: StoreNotice): void => void notices.push(notice)
    expect(await ask(folder, expected.now, { onNotice })).toEqual(expected)
    const rebuilt = finishedFiles.map((file) => ({
      kind: 'finished-index-rebuilt',
      file: join(folder, file),
    }))
    expect(notices).toEqual(rebuilt)
    // The thread that makes checkpoints reads them too.
    const store = await openAt(folder, expected.now)
    await store.checkpoint()
    await store.checkpoint()
    await store.close()
    expect(readdirSync(folder).filter((file) => finishedFiles.includes(file))).toEqual([])
    expect(await ask(folder, expected.now)).toEqual(expected)
  })

  it('is the same from its log alone', async () => {
    for (const file of readdirSync(folder)) {
      if (CHECKPOINT_PART.test(file)) rmSync(join(folder, file))
    }
    expect(await ask(folder, expected.now)).toEqual(expected)
    const store = await openAt(folder, expected.now)
    expect(store.opening).toEqual({
      checkpoint: null,
      entries: expected.entries.length,
      torn: null,
    })
    await store.close()
  })

  it('goes on: a checkpoint can be made of it, and says the same', async () => {
    const store = await openAt(folder, expected.now)
    await store.checkpoint()
    await store.close()
    expect(await ask(folder, expected.now)).toEqual(expected)
  })

  it('has what it should have: segments, files of finished jobs, and every type of entry', () => {
    const files = [...filesOf(name).keys()].map((file) => file.split('-')[0])
    expect(files.filter((file) => file === 'log').length).toBeGreaterThanOrEqual(3)
    expect(files.filter((file) => file === 'checkpoint')).toHaveLength(2)
    expect(files.filter((file) => file === 'live')).toHaveLength(2)
    expect(files.filter((file) => file === 'finished')).toHaveLength(2)
    expect(new Set(expected.entries.map(({ entry }) => entry.type)).size).toBeGreaterThanOrEqual(28)
  })
})

describe('what the code of today writes', () => {
  it('is byte for byte what stands in the newest golden directory', async () => {
    expect(goldenNames(), 'run with UPDATE_GOLDEN=1 to add it').toContain(CURRENT)
    await tellStory(folder)
    const written = filesIn(folder)
    const golden = filesOf(CURRENT)
    expect([...written.keys()]).toEqual([...golden.keys()])
    for (const [file, bytes] of written) {
      const same = bytes.equals(golden.get(file) as Buffer)
      expect(same, `${file} differs: write as before, or see the README here`).toBe(true)
    }
  })

  it('is the same the second time', async () => {
    const once = join(folder, 'once')
    const twice = join(folder, 'twice')
    await tellStory(once)
    await tellStory(twice)
    expect(filesIn(twice)).toEqual(filesIn(once))
  })

  it('is never written over a golden directory that is there', async () => {
    const before = filesOf(CURRENT)
    await expect(addGolden(join(HERE, CURRENT), folder)).rejects.toThrow(/never written again/)
    expect(filesOf(CURRENT)).toEqual(before)
  })
})

describe('a newer format', () => {
  let segment = ''
  let manifest = ''

  beforeAll(() => {
    const files = [...filesOf(CURRENT).keys()]
    segment = files.findLast((file) => file.startsWith('log-')) as string
    manifest = files.findLast((file) => file.startsWith('checkpoint-')) as string
  })

  beforeEach(() => {
    copyTo(CURRENT, folder)
  })

  it('of a segment is refused, with its name and both numbers', async () => {
    const path = join(folder, segment)
    const bytes = readFileSync(path)
    bytes.writeUInt32LE(FORMAT + 1, 8)
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60)
    writeFileSync(path, bytes)
    await refused(path, FORMAT)
  })

  it('of a manifest is refused, with its name and both numbers', async () => {
    const path = join(folder, manifest)
    const bytes = readFileSync(path)
    bytes.writeUInt32LE(CHECKPOINT_FORMAT + 1, 8)
    bytes.writeUInt32LE(crc32(bytes.subarray(16), crc32(bytes.subarray(0, 12))), 12)
    writeFileSync(path, bytes)
    await refused(path, CHECKPOINT_FORMAT)
  })

  it('is not believed when the checksum says that the number is damage', async () => {
    const path = join(folder, segment)
    const bytes = readFileSync(path)
    bytes.writeUInt32LE(FORMAT + 1, 8)
    writeFileSync(path, bytes)
    await expect(openAt(folder, 0)).rejects.toMatchObject({ code: 'CorruptLog' })
  })
})

/** With the file and both numbers, and before anything was changed. */
async function refused(path: string, known: number): Promise<void> {
  const before = filesIn(folder)
  const error: unknown = await openAt(folder, 0).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(NewerFormat)
  expect((error as NewerFormat).details).toEqual({ file: path, found: known + 1, known })
  expect((error as NewerFormat).message).toContain(`${path} has format ${known + 1}`)
  expect(filesIn(folder), 'nothing was changed').toEqual(before)
}

/** Turns one bit. */
function spoil(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(path, bytes)
}
