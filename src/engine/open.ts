/**
 * Opens an engine: on a directory, or in memory.
 */
import { join } from 'node:path'
import type { ArtifactPlace, Duration } from '../definition/index.ts'
import { InvalidDefinition, toMs } from '../definition/index.ts'
import type { DirectoryOptions } from '../store/index.ts'
import { awakeClock, MemoryStore, openDirectory } from '../store/index.ts'
import { folderPlace, memoryPlace, realTiming } from '../worker/index.ts'
import type { JobInfo } from './job-info.ts'
import type { Notice } from './notice.ts'
import { Pawl } from './pawl.ts'

export interface RetentionOptions {
  /** How long after its end. */
  readonly age?: Duration
  /** How many at most, the newest. */
  readonly count?: number
}

export interface OpenOptions {
  /** How long, and how many, jobs that are over stay readable. Default: 7 days, 1,000,000. */
  readonly retention?: RetentionOptions & {
    /** Of single types of jobs. What a job said itself when it was submitted comes first. */
    readonly types?: { readonly [type: string]: RetentionOptions }
  }
  /**
   * Given jobs that are about to be forgotten, a few at a time, to be kept elsewhere. They are
   * forgotten when it has returned; if it fails they stay, and it is given them again. It may
   * see a job twice, if the process ends in between.
   */
  readonly onForget?: (jobs: readonly JobInfo[]) => Promise<void> | void
  /** How long the entries themselves are kept. Default 7 days; `'forever'` keeps them all. */
  readonly history?: Duration | 'forever'
  /** A folder that old parts of the log are moved to, instead of being removed. */
  readonly archive?: string
  /**
   * Where files go that handlers write: a folder, or a place of your own. Default: `artifacts` in
   * the directory; in memory, for an engine in memory.
   */
  readonly artifacts?: string | ArtifactPlace
  /** How long jobs may wait that no worker of this process takes, before it is told. Default 10 m. */
  readonly unservedAfter?: Duration
  /** Told what happens without being asked for: checkpoints, a torn tail, a stalled job. */
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
  const { onForget, onNotice, unservedAfter } = options
  const own = { onForget, onNotice, unservedAfter }
  const artifacts = placeOf(location, options.artifacts)
  const parts = { ...own, timing, onError, artifacts, onClose: () => clock.close() }
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
  const types = Object.entries(retention?.types ?? {}).map(([type, rule]) => {
    return [type, ruleOf(rule, `retention.types.${type}`)] as const
  })
  return {
    retention: { ...ruleOf(retention ?? {}, 'retention'), types: Object.fromEntries(types) },
    ...(history === undefined
      ? {}
      : { historyMs: history === 'forever' ? Infinity : toMs(history, 'history') }),
    ...(archive === undefined ? {} : { archive }),
    ...(onNotice === undefined ? {} : { onNotice }),
  }
}

function ruleOf(
  { age, count }: RetentionOptions,
  what: string,
): { ageMs?: number; count?: number } {
  if (count !== undefined && !(Number.isInteger(count) && count >= 0)) {
    throw new InvalidDefinition(`${what}.count must be a whole number from 0, not ${count}.`)
  }
  return {
    ...(age === undefined ? {} : { ageMs: toMs(age, `${what}.age`) }),
    ...(count === undefined ? {} : { count }),
  }
}

function placeOf(location: string, given: OpenOptions['artifacts']): ArtifactPlace {
  if (given !== undefined) return typeof given === 'string' ? folderPlace(given) : given
  return location === 'memory:' ? memoryPlace() : folderPlace(join(location, 'artifacts'))
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
