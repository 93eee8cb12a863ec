/**
 * Opens an engine: on a directory, on a database, or in memory.
 */
import { join } from 'node:path'
import type { ArtifactPlace, Duration, PolicyDefaults } from '../definition/index.ts'
import { checkedDefaults, InvalidDefinition, KnownOptions, toMs } from '../definition/index.ts'
import { realTiming } from '../store/clock.ts'
import type { DirectoryOptions, Retention, Store } from '../store/index.ts'
import {
  awakeClock,
  MemoryStore,
  openDirectory,
  openPostgres,
  openSqliteStore,
} from '../store/index.ts'
import { folderPlace, memoryPlace, noPlace } from '../worker/index.ts'
import type { JobInfo } from './client/job-info.ts'
import type { MaxWaiting } from './client/waiting-bounds.ts'
import { checkedMaxWaiting } from './client/waiting-bounds.ts'
import type { Notice, PawlParts } from './pawl.ts'
import { Pawl } from './pawl.ts'

interface RetentionOptions {
  /** How long after its end. */
  readonly age?: Duration
  /** How many at most, the newest. */
  readonly count?: number
}

export interface OpenOptions {
  /**
   * How long, and how many, jobs that are over stay readable. Default: 7 days, 1,000,000. Not in
   * memory, where nothing is forgotten.
   */
  readonly retention?: RetentionOptions & {
    /** Of single types of jobs. What a job said itself when it was submitted comes first. */
    readonly types?: { readonly [type: string]: RetentionOptions }
  }
  /**
   * Given jobs that are about to be forgotten, a few at a time, to be kept elsewhere. They are
   * forgotten when it has returned; if it fails they stay, and it is given them again. It may
   * see a job twice: if the process ends in between, or if several processes that have the database
   * open set it, since each of them hands over what is due. Not in memory.
   */
  readonly onForget?: (jobs: readonly JobInfo[]) => Promise<void> | void
  /**
   * How long the entries themselves are kept. Default 7 days; `'forever'` keeps them all. On databases:
   * those of jobs that are forgotten, and of schedules. Not in memory.
   */
  readonly history?: Duration | 'forever'
  /** A folder that old parts of the log are moved to, instead of being removed. For directories. */
  readonly archive?: string
  /**
   * Where files go that handlers write: a folder, or a place of your own. Default: `artifacts` in
   * the directory; beside a SQLite file, `-artifacts` behind its name; on PostgreSQL nowhere: a
   * handler that writes one fails; in memory, for an engine in memory.
   */
  readonly artifacts?: string | ArtifactPlace
  /** Of PostgreSQL: where the tables are. Made if it is not there. Default `'pawl'`. */
  readonly schema?: string
  /**
   * Policies of jobs and stages whose definitions say nothing of them, such as `{ quarantine: 'never' }`. They
   * are recorded with each job when it is submitted. Default: none.
   */
  readonly defaults?: PolicyDefaults
  /**
   * How many jobs may wait in a queue: submits of this engine's clients beyond that are refused with
   * `QueueFull`. A number for each queue, or numbers by the names of queues. It goes by a count that may be a
   * second old. Children, jobs of schedules, later stages and reruns are not bound. Default: any number.
   */
  readonly maxWaiting?: MaxWaiting
  /**
   * Whether processes on the store know of each other: which of them live, so that the jobs of a dead one
   * run again within seconds, and what their workers say. `false`: jobs of a dead process wait until their
   * leases have run out, and each process shows only its own workers. Default true. Not in memory.
   */
  readonly presence?: boolean
  /** How long jobs may wait that no worker takes, before a notice. Default 10 m. */
  readonly unservedAfter?: Duration
  /**
   * Whether each refused command is a notice of kind `'refused'`: of clients, operators, workers and
   * upkeep, which now and then asks for what another process has done. Default false. `metrics()`
   * counts them either way.
   */
  readonly noticeRefusals?: boolean
  /** Told of checkpoints, a torn tail, a stalled job and the like. */
  readonly onNotice?: (notice: Notice) => void
  /** Told of errors that no caller waits for. Default: written to stderr. */
  readonly onError?: (error: Error) => void
}

const OPEN_OPTIONS = new KnownOptions<OpenOptions>({
  retention: true,
  onForget: true,
  history: true,
  archive: true,
  artifacts: true,
  schema: true,
  defaults: true,
  maxWaiting: true,
  presence: true,
  unservedAfter: true,
  noticeRefusals: true,
  onNotice: true,
  onError: true,
})
const RULE_NAMES = { age: true, count: true } as const
const RETENTION_OPTIONS = new KnownOptions<Required<OpenOptions>['retention']>({
  ...RULE_NAMES,
  types: true,
})
const RULE_OPTIONS = new KnownOptions<RetentionOptions>(RULE_NAMES)

/**
 * `'memory:'` for one that is lost with its process, `'sqlite:jobs.db'`, `'postgres://…'`; anything
 * else is a directory.
 */
export async function open(location: string, options: OpenOptions = {}): Promise<Pawl> {
  assertLocation(location)
  OPEN_OPTIONS.assert(options, 'open()', `open('./data', { retention: { age: '30d' } })`)
  const retention = retentionOf(options)
  const { onForget, onNotice, noticeRefusals, unservedAfter } = options
  const own = {
    onForget,
    onNotice,
    noticeRefusals,
    unservedAfter,
    defaults: options.defaults === undefined ? undefined : checkedDefaults(options.defaults),
    maxWaiting:
      options.maxWaiting === undefined ? undefined : checkedMaxWaiting(options.maxWaiting),
    onError: options.onError ?? writeToStderr,
  }
  if (isDatabase(location)) {
    const parts = await openDatabase(location, options, retention)
    const artifacts = placeOf(options.artifacts) ?? parts.artifacts
    return new Pawl({ ...own, ...parts, artifacts, onClose: () => undefined })
  }
  if (options.schema !== undefined) {
    throw new InvalidDefinition('`schema` is an option of PostgreSQL only.')
  }
  if (location === 'memory:') assertOfMemory(options)
  const clock = awakeClock()
  const timing = realTiming(() => clock.now())
  const parts = { ...own, timing, onClose: () => clock.close() }
  if (location === 'memory:') {
    const artifacts = placeOf(options.artifacts) ?? memoryPlace()
    return new Pawl({ ...parts, artifacts, store: new MemoryStore(clock), backup: null })
  }
  try {
    const artifacts = placeOf(options.artifacts) ?? folderPlace(join(location, 'artifacts'))
    const store = await openDirectory(location, { ...directoryOptions(options), retention, clock })
    return new Pawl({ ...parts, artifacts, store, backup: (to, also) => store.backup(to, also) })
  } catch (error) {
    clock.close()
    throw error
  }
}

/** An option that does nothing is refused: the caller would rely on it. */
function assertOfMemory(options: OpenOptions): void {
  const { retention, onForget, history, archive, presence } = options
  if (presence !== undefined) {
    throw new InvalidDefinition(
      `open('memory:') takes no \`presence\`: no other process can have an engine in memory open.`,
    )
  }
  for (const [name, value] of Object.entries({ retention, onForget, history, archive })) {
    if (value === undefined) continue
    throw new InvalidDefinition(
      `open('memory:') takes no \`${name}\`: an engine in memory forgets nothing until its process ends. For one that lives long, open a directory.`,
    )
  }
}

function directoryOptions(options: OpenOptions): Omit<DirectoryOptions, 'clock'> {
  const { archive } = options
  return {
    presence: presenceOf(options),
    ...historyOf(options),
    ...(archive === undefined ? {} : { archive }),
    ...noticesOf(options),
  }
}

function historyOf({ history }: OpenOptions): Pick<DirectoryOptions, 'historyMs'> {
  if (history === undefined) return {}
  return { historyMs: history === 'forever' ? Infinity : toMs(history, 'history') }
}

function noticesOf({ onNotice }: OpenOptions): Pick<DirectoryOptions, 'onNotice'> {
  return onNotice === undefined ? {} : { onNotice }
}

function presenceOf({ presence = true }: OpenOptions): boolean {
  if (typeof presence === 'boolean') return presence
  throw new InvalidDefinition(`\`presence\` is true or false, not ${String(presence)}.`)
}

function retentionOf({ retention }: OpenOptions): Partial<Retention> {
  if (retention !== undefined) {
    RETENTION_OPTIONS.assert(retention, '`retention`', `retention: { age: '30d' }`)
  }
  const types = Object.entries(retention?.types ?? {}).map(([type, rule]) => {
    const what = `retention.types.${type}`
    RULE_OPTIONS.assert(rule, `\`${what}\``, `{ ${type}: { age: '30d' } }`)
    return [type, ruleOf(rule, what)] as const
  })
  return { ...ruleOf(retention ?? {}, 'retention'), types: Object.fromEntries(types) }
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

function placeOf(artifacts: OpenOptions['artifacts']): ArtifactPlace | undefined {
  return typeof artifacts === 'string' ? folderPlace(artifacts) : artifacts
}

/** A scheme, and not the letter of a drive. */
const SCHEME = /^([a-z][a-z0-9+.-]+):/i
const PLACES = `a directory such as './data', 'sqlite:jobs.db', 'postgres://…', or 'memory:'`
/** What is most likely meant by a scheme that is not known. */
const MEANT: readonly (readonly [scheme: RegExp, meant: string])[] = [
  [/^https?$/, `this version knows no servers; it keeps jobs in ${PLACES}`],
  [/^(?:pg|pgsql|po\w*gr\w*)$/, `write 'postgres://…', in small letters`],
  [/^(?:sq\w*lite\d?|better-sqlite3)$/, `write 'sqlite:jobs.db'`],
  [/^mem\w*$/, `write 'memory:'`],
  [/^(?:file|dir|directory|path)$/, `write the path alone, such as './data'`],
]

/**
 * A place that looks like a URL is one that is known: a directory of that name would be made without a
 * word, with the password in its name. No message shows more of it than its scheme.
 */
function assertLocation(location: unknown): void {
  if (typeof location !== 'string' || location === '') {
    throw new InvalidDefinition(`open() needs a place: ${PLACES}.`)
  }
  if (location.trim() !== location) {
    throw new InvalidDefinition(
      'The place that open() is given begins or ends with a blank or a line break: remove it.',
    )
  }
  const scheme = SCHEME.exec(location)?.[1]
  if (scheme === undefined || location === 'memory:') return
  if (location.startsWith('sqlite://')) {
    throw new InvalidDefinition(
      `open('sqlite://…'): write 'sqlite:jobs.db', or 'sqlite:/var/lib/jobs.db' for a path from the root.`,
    )
  }
  if (isDatabase(location)) return
  const meant = MEANT.find(([pattern]) => pattern.test(scheme.toLowerCase()))?.[1]
  throw new InvalidDefinition(
    `open('${scheme}:…'): ${meant ?? `there is no such store; jobs are kept in ${PLACES}`}. If a directory of that name is meant, write './' before it.`,
    { scheme },
  )
}

function writeToStderr(error: Error): void {
  console.error(`pawl: ${error.message}`)
}

const SQLITE = /^sqlite:/
const POSTGRES = /^postgres(?:ql)?:\/\//
/** What PostgreSQL takes for a name. */
const MOST_SCHEMA_BYTES = 63

export function isDatabase(location: string): boolean {
  return SQLITE.test(location) || POSTGRES.test(location)
}

type DatabaseParts = Pick<PawlParts, 'store' | 'timing' | 'now' | 'backup' | 'artifacts'>

/** What of an engine depends on the database. Throws `SqlFailed`, `NewerTables`. */
async function openDatabase(
  location: string,
  options: OpenOptions,
  retention: Partial<Retention>,
): Promise<DatabaseParts & { readonly artifacts: ArtifactPlace }> {
  assertOptions(location, options)
  const presence = presenceOf(options)
  const isSqlite = SQLITE.test(location)
  const path = location.replace(SQLITE, '')
  if (isSqlite) assertPath(path)
  const shared = { retention, presence, ...historyOf(options), ...noticesOf(options) }
  const store: Store & { now(): number } = isSqlite
    ? await openSqliteStore({ path, ...shared })
    : await openPostgres({ url: location, schema: schemaOf(options), ...shared })
  return {
    store,
    // Leases are measured by a monotonic clock.
    timing: realTiming(),
    now: () => store.now(),
    artifacts: isSqlite ? folderPlace(`${path}-artifacts`) : noPlace(NO_PLACE),
    backup: () => Promise.reject(new InvalidDefinition(NO_BACKUP)),
  }
}

const NO_PLACE =
  'There is no place for artifacts: processes on several machines may use the same database, so say where files go that all of them see: open(…, { artifacts }).'
const NO_BACKUP =
  'An engine on a database is backed up with the database, by the means that it has for that.'

function assertOptions(location: string, { archive, schema }: OpenOptions): void {
  if (archive !== undefined) {
    throw new InvalidDefinition(
      "open() of a database takes no `archive`: its entries are in the table `events`, not in files. To keep what is forgotten, copy it in `onForget`, or open it with `history: 'forever'`.",
    )
  }
  if (schema !== undefined && SQLITE.test(location)) {
    throw new InvalidDefinition('open() of a SQLite file takes no `schema`: it is one by itself.')
  }
}

function assertPath(path: string): void {
  if (path !== '' && !path.startsWith(':')) return
  throw new InvalidDefinition(
    `open('sqlite:${path}') needs the name of a file, such as 'sqlite:jobs.db'. For an engine in memory: open('memory:').`,
  )
}

function schemaOf({ schema = 'pawl' }: OpenOptions): string {
  const bytes = typeof schema === 'string' ? Buffer.byteLength(schema) : 0
  if (bytes >= 1 && bytes <= MOST_SCHEMA_BYTES && !schema.startsWith('pg_')) return schema
  throw new InvalidDefinition(
    `\`schema\` must be a name of 1 to ${MOST_SCHEMA_BYTES} bytes that does not begin with 'pg_'.`,
  )
}
