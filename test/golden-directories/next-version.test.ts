/**
 * The next version of an entry, on whole stores. In a made-up version 2 of `JobReleased` a reason
 * says what it is about; one of version 1 is read by its own reader and upcast. A store that was
 * written in version 1 opens under version 2, and one that version 2 has written to is refused
 * by version 1.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Command, Entry } from '../../src/kernel/index.ts'
import { readJobReleased } from '../../src/log/format/job-entries.ts'
import type * as Versions from '../../src/log/format/versions.ts'
import { verifyDirectory } from '../../src/store/offline/verify-directory.ts'
import { verifySql } from '../../src/store/sql/verify/verify-database.ts'
import { dialectOf, openAt as openAtAddress } from '../sql/proof/addresses.ts'
import { DATABASE_NAMES, freshAddress } from '../sql/proof/stores.ts'
import { onRecord, plain } from '../support/specs.ts'
import type { Told } from './directory.ts'
import { ask, openAt } from './directory.ts'
import { copyTo, expectedOf, filesIn, goldenNames } from './golden-formats.ts'

/** What the code of the moment knows: set by `become`. */
const known = vi.hoisted(() => ({
  history: {} as Versions.History,
  versions: {} as Record<Entry['type'], number>,
}))

vi.mock('../../src/log/format/versions.ts', async (original) => {
  const real = await original<typeof Versions>()
  Object.assign(known.versions, real.CURRENT_VERSION)
  const knownUpcast: typeof real.upcast = (reader, code, version, interning) =>
    real.upcast(reader, code, version, interning, known.history)
  return { ...real, CURRENT_VERSION: known.versions, upcast: knownUpcast }
})

const WRITTEN_BEFORE = 'about the job: '

const VERSION_2: Versions.History = {
  JobReleased: [
    {
      name: 'job-released-says-what-its-reason-is-about',
      read: (reader, interning) => ({ ...readJobReleased(reader, interning) }),
      upcast: (entry) => ({ ...entry, reason: `${WRITTEN_BEFORE}${String(entry['reason'])}` }),
    },
  ],
}

function become(version: 1 | 2): void {
  known.history = version === 1 ? {} : VERSION_2
  known.versions.JobReleased = version
}

function upcast<T extends Entry>(entry: T): T {
  if (entry.type !== 'JobReleased') return entry
  return { ...entry, reason: `${WRITTEN_BEFORE}${entry.reason}` }
}

/** Without a lock, which would leave a file behind. */
const own = async () => ({ release: async () => undefined })

const NEWER = { code: 'NewerEntry', details: { type: 'JobReleased', found: 2, known: 1 } }

const heldAndReleased = (job: string): Command[] => [
  { type: 'SubmitJob', job, spec: plain({ held: true }) },
  { type: 'ReleaseJob', job, ...onRecord },
]

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-next-version-'))
  become(1)
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

describe('a directory that version 1 has written', () => {
  const [name] = goldenNames() as [string]
  const expected = expectedOf(name)
  const upToDate: Told = {
    ...expected,
    entries: expected.entries.map((one) => ({ ...one, entry: upcast(one.entry) })),
  }

  beforeEach(() => {
    copyTo(name, folder)
  })

  it('has an entry that the next version writes otherwise', () => {
    expect(upToDate.entries).not.toEqual(expected.entries)
  })

  it('opens under version 2 with its entries upcast, and nothing is rewritten', async () => {
    const before = filesIn(folder)
    become(2)
    expect(await ask(folder, expected.now)).toEqual(upToDate)
    const after = filesIn(folder)
    for (const [file, bytes] of before) {
      if (file.startsWith('log-')) expect(after.get(file)?.equals(bytes), file).toBe(true)
    }
    expect((await verifyDirectory(folder, { own })).problems).toEqual([])
  })

  it('opens under version 2 from its log alone', async () => {
    for (const file of readdirSync(folder)) {
      if (/^(?:checkpoint|live|finishedFile)-/.test(file)) rmSync(join(folder, file))
    }
    become(2)
    expect(await ask(folder, expected.now)).toEqual(upToDate)
  })

  it('goes on under version 2 with entries of its own, and is refused by version 1 then', async () => {
    become(2)
    const store = await openAt(folder, expected.now)
    await store.execute(heldAndReleased('new'))
    await store.close()
    const told = await ask(folder, expected.now)
    expect(told.entries.slice(0, upToDate.entries.length)).toEqual(upToDate.entries)
    const { entry } = told.entries.at(-1) as { entry: Entry }
    expect(entry).toMatchObject({ type: 'JobReleased', job: 'new', ...onRecord })
    become(1)
    const before = filesIn(folder)
    await expect(openAt(folder, expected.now)).rejects.toMatchObject(NEWER)
    await expect(verifyDirectory(folder, { own })).rejects.toMatchObject(NEWER)
    expect(filesIn(folder)).toEqual(before)
  })
})

describe.each(DATABASE_NAMES)('a store on %s that version 1 has written', (name) => {
  it('opens under version 2 with its entries upcast, and version 1 refuses what that writes', async () => {
    const address = await freshAddress(name)
    const written = await openAtAddress(address)
    await written.execute(heldAndReleased('a'))
    await written.close()

    become(2)
    const store = await openAtAddress(address)
    await store.execute(heldAndReleased('b'))
    const reasonOf = async (job: string): Promise<string | null> => {
      const history = await store.query({ kind: 'history', job, limit: 10 })
      const released = history.map(({ entry }) => entry).find(({ type }) => type === 'JobReleased')
      return released?.type === 'JobReleased' ? released.reason : null
    }
    expect(await reasonOf('a')).toBe(`${WRITTEN_BEFORE}${onRecord.reason}`)
    expect(await reasonOf('b')).toBe(onRecord.reason)
    await store.close()
    expect((await verifySql(dialectOf(address))).problems).toEqual([])

    become(1)
    await expect(openAtAddress(address)).rejects.toMatchObject(NEWER)
    await expect(verifySql(dialectOf(address))).rejects.toMatchObject(NEWER)
  })
})
