/**
 * Opens an engine: on a directory, or in memory.
 */
import type { Duration } from '../definition/index.ts'
import { InvalidDefinition, toMs } from '../definition/index.ts'
import type { DirectoryOptions, Notice } from '../store/index.ts'
import { awakeClock, MemoryStore, openDirectory } from '../store/index.ts'
import { realTiming } from '../worker/index.ts'
import { Pawl } from './pawl.ts'

export interface OpenOptions {
  /** How long, and how many, jobs that are over stay readable. Default: 7 days, 1,000,000. */
  readonly retention?: { readonly age?: Duration; readonly count?: number }
  /** How long the entries themselves are kept. Default 7 days; `'forever'` keeps them all. */
  readonly history?: Duration | 'forever'
  /** A folder that old parts of the log are moved to, instead of being removed. */
  readonly archive?: string
  /** Told what happens without being asked for: checkpoints, a torn tail, and the like. */
  readonly onNotice?: (notice: Notice) => void
  /** Told of errors that nobody waits for. Default: written to stderr. */
  readonly onError?: (error: Error) => void
}

/** `'memory:'` for one that is lost with its process; anything else is a directory. */
export async function open(location: string, options: OpenOptions = {}): Promise<Pawl> {
  assertLocation(location)
  const clock = awakeClock()
  const timing = realTiming(() => clock.now())
  const onError = options.onError ?? writeOut
  const parts = { timing, onError, onClose: () => clock.close() }
  if (location === 'memory:') {
    return new Pawl({ ...parts, store: new MemoryStore(clock), backup: null })
  }
  try {
    const store = await openDirectory(location, { ...directoryOptions(options), clock })
    return new Pawl({ ...parts, store, backup: (to) => store.backup(to) })
  } catch (error) {
    clock.close()
    throw error
  }
}

function directoryOptions({
  retention,
  history,
  archive,
  onNotice,
}: OpenOptions): Omit<DirectoryOptions, 'clock'> {
  const age = retention?.age
  return {
    retention: {
      ...(age === undefined ? {} : { ageMs: toMs(age, 'retention.age') }),
      ...(retention?.count === undefined ? {} : { count: retention.count }),
    },
    ...(history === undefined
      ? {}
      : { historyMs: history === 'forever' ? Infinity : toMs(history, 'history') }),
    ...(archive === undefined ? {} : { archive }),
    ...(onNotice === undefined ? {} : { onNotice }),
  }
}

const ELSEWHERE = /^(?:sqlite|postgres|postgresql|https?):/

function assertLocation(location: unknown): void {
  if (typeof location !== 'string' || location === '') {
    throw new InvalidDefinition(`open() needs a place: a directory such as './data', or 'memory:'.`)
  }
  if (!ELSEWHERE.test(location)) return
  throw new InvalidDefinition(
    `open('${location}'): this version keeps jobs in a directory ('./data') or in memory ('memory:').`,
  )
}

function writeOut(error: Error): void {
  console.error(`pawl: ${error.message}`)
}
