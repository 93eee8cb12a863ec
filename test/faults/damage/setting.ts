/**
 * The store that is to be damaged: in a folder of a simulated disk, with small segments, a
 * clock that the test turns, and always the same id, so that every run writes the same bytes.
 */
import { vi } from 'vitest'
import { segmentBase } from '../../../src/log/format/format.ts'
import type { Disk, Torn } from '../../../src/log/index.ts'
import { decodeEntry, Interning, readLog, MARKER_CODE } from '../../../src/log/index.ts'
import type { DirectoryOptions } from '../../../src/store/directory/open-directory.ts'
import { openDirectory } from '../../../src/store/directory/open-directory.ts'
import type { PositionedEntry, Store } from '../../../src/store/store.ts'
import type { SimDisk } from '../sim/sim-disk.ts'
import { IS_LONG } from '../../support/campaign.ts'

vi.mock('../../../src/store/random.ts', () => ({
  newSessionName: (kind: string): string => `${kind}-session`,
  newStoreId: () => '0123456789abcdef'.repeat(2),
  newCopierName: () => 'copier',
}))

export const FOLDER = '/store'
const ARCHIVE = '/archive'
/** The smallest there are: a head of 4 KiB, and 12 KiB for groups. */
export const SEGMENT_BYTES = 16_384
export const RESERVE_BYTES = 1_024

/** Whether campaigns go through everything, and not through a sample. */
if (IS_LONG) vi.setConfig({ testTimeout: 4 * 3_600_000 })

export class TestClock {
  time = 1_700_000_000_000
  now(): number {
    return this.time
  }
}

/** What the tests use of a store in a directory. */
export interface Opened extends Store {
  readonly opening?: { readonly torn: Torn | null }
  backup(folder: string): Promise<unknown>
  checkpoint(): Promise<void>
}

/** How a store is opened; a test that plants a bug gives another one. */
export type Opener = (disk: Disk, clock?: TestClock) => Promise<Opened>

let owners = 0

/** How many stores are owned by somebody who has not let go. */
export function ownersLeft(): number {
  return owners
}

type OpenDirectory = typeof openDirectory

export function openerOf(
  open: OpenDirectory,
  options: DirectoryOptions = {},
  folder = FOLDER,
): Opener {
  return (disk, clock = new TestClock()) =>
    open(folder, {
      // By the next act a job that is over has been kept for long enough.
      retention: { ageMs: 500 },
      ...options,
      disk,
      clock,
      own: async () => {
        owners += 1
        return {
          release: async () => {
            owners -= 1
          },
        }
      },
      segmentBytes: SEGMENT_BYTES,
      reserveBytes: RESERVE_BYTES,
    })
}

export const openStore: Opener = openerOf(openDirectory)

/** A checkpoint after every few groups, while the story goes on. */
export const openWithCheckpoints: Opener = openerOf(openDirectory, { checkpointBytes: 1_024 })

/** The same, and no segment stays longer than it must: it goes to the archive. */
export const openWithoutHistory: Opener = openerOf(openDirectory, {
  checkpointBytes: 1_024,
  historyMs: 0,
  archive: ARCHIVE,
})

/** A disk on which the segments in the archive stand where they came from. */
function withArchive(disk: SimDisk): SimDisk {
  const archived = disk.paths().filter((path) => path.startsWith(`${ARCHIVE}/`))
  if (archived.length === 0) return disk
  const whole = disk.clone()
  const present = new Set(disk.paths())
  for (const path of archived) {
    const name = path.slice(ARCHIVE.length + 1)
    // Until it is gone, the segment itself counts: its copy may be half done.
    if (segmentBase(name) === null || present.has(`${FOLDER}/${name}`)) continue
    whole.put(`${FOLDER}/${name}`, disk.bytesOf(path))
  }
  return whole
}

/** Every entry that the log on a disk has or had, in order. Changes nothing. */
export async function entriesOn(disk: SimDisk): Promise<PositionedEntry[]> {
  const seen: PositionedEntry[] = []
  const interning = new Interning()
  await readLog(
    withArchive(disk),
    FOLDER,
    0,
    ({ code, length, version }, position, bytes, body) => {
      if (code === MARKER_CODE) return
      seen.push(decodeEntry(bytes, body, length, code, version, position, interning))
    },
  )
  return seen
}

/** The name of an error of ours, the code of one of the system, or what it says. */
export function nameOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}

/** More turns of the event loop than anything here needs that is not stuck. */
const MOST_TURNS = 20_000

/** What a promise comes to; one that never comes to anything is rejected with `hangs`. */
export async function settled<T>(
  promise: Promise<T>,
  what: string,
): Promise<PromiseSettledResult<T>> {
  let result: PromiseSettledResult<T> | null = null
  void promise.then(
    (value) => (result = { status: 'fulfilled', value }),
    (reason: unknown) => (result = { status: 'rejected', reason }),
  )
  for (let turns = 0; turns < MOST_TURNS; turns++) {
    // oxlint-disable-next-line no-await-in-loop -- waiting is the point
    await turn()
    if (result !== null) return result
  }
  return { status: 'rejected', reason: new Error(`hangs (${what})`) }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
