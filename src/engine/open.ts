/**
 * Opens an engine: on a directory, on a database, behind a server, or in memory.
 */
import { join } from 'node:path'
import type { ArtifactPlace } from '../definition/index.ts'
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
import { checkedMaxWaiting } from './client/waiting-bounds.ts'
import { withLogger } from './logger.ts'
import { isServer, openServer } from './open-server.ts'
import type { PawlParts } from './pawl-parts.ts'
import { Pawl } from './pawl.ts'
import type { OpenOptions, RetentionOptions } from './open-options.ts'
import {
  assertNoDatabaseOptions,
  DATABASE_OPTION_NAMES,
  migrateOf,
  postgresOptions,
} from './postgres-options.ts'

const OPEN_OPTIONS = new KnownOptions<OpenOptions>({
  retention: true,
  onForget: true,
  history: true,
  archive: true,
  artifacts: true,
  ...DATABASE_OPTION_NAMES,
  defaults: true,
  maxWaiting: true,
  presence: true,
  token: true,
  unservedAfter: true,
  noticeRefusals: true,
  logger: true,
  onNotice: true,
  onError: true,
})
const DATABASE_OPTIONS = ['schema', 'connection', 'waitFor', 'migrate'] as const
const RULE_NAMES = { age: true, count: true } as const
const RETENTION_OPTIONS = new KnownOptions<Required<OpenOptions>['retention']>({
  ...RULE_NAMES,
  types: true,
})
const RULE_OPTIONS = new KnownOptions<RetentionOptions>(RULE_NAMES)

/**
 * `'memory:'` for one that is lost with its process, `'sqlite:jobs.db'`, `'postgres://…'`, `'http://…'` of a server;
 * anything else is a directory.
 */
export async function open(location: string, given: OpenOptions = {}): Promise<Pawl> {
  assertLocation(location)
  OPEN_OPTIONS.assert(given, 'open()', `open('./data', { retention: { age: '30d' } })`)
  const options = withLogger(given)
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
  if (isServer(location)) {
    const parts = await openServer(location, options, presenceOf(options))
    const artifacts = placeOf(options.artifacts) ?? parts.artifacts
    return new Pawl({ ...own, ...parts, artifacts, onClose: () => undefined })
  }
  if (options.token !== undefined) throw new InvalidDefinition(NO_SERVER)
  if (isDatabase(location)) {
    const parts = await openDatabase(location, options, retention)
    const artifacts = placeOf(options.artifacts) ?? parts.artifacts
    return new Pawl({ ...own, ...parts, artifacts, onClose: () => undefined })
  }
  assertNoDatabaseOptions(
    options,
    DATABASE_OPTIONS,
    `open('${location === 'memory:' ? location : './data'}')`,
  )
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
const PLACES = `a directory such as './data', 'sqlite:jobs.db', 'postgres://…', 'http://…' of a server, or 'memory:'`
const NO_SERVER = "Only open('http://…') takes a `token`: it is for a server."
/** What is most likely meant by a scheme that is not known. */
const MEANT: readonly (readonly [scheme: RegExp, meant: string])[] = [
  [/^https?$/, `write 'http://host:port', in small letters`],
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
  if (isDatabase(location) || isServer(location)) return
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
  const migrate = migrateOf(options)
  const shared = { retention, presence, migrate, ...historyOf(options), ...noticesOf(options) }
  const store: Store & { now(): number } = isSqlite
    ? await openSqliteStore({ path, ...shared })
    : await openPostgres({ ...postgresOptions(location, options), ...shared })
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

function assertOptions(location: string, options: OpenOptions): void {
  const { archive } = options
  if (archive !== undefined) {
    throw new InvalidDefinition(
      "open() of a database takes no `archive`: its entries are in the table `events`, not in files. To keep what is forgotten, copy it in `onForget`, or open it with `history: 'forever'`.",
    )
  }
  if (!SQLITE.test(location)) return
  assertNoDatabaseOptions(options, ['schema', 'connection', 'waitFor'], 'open() of a SQLite file')
}

function assertPath(path: string): void {
  if (path !== '' && !path.startsWith(':')) return
  throw new InvalidDefinition(
    `open('sqlite:${path}') needs the name of a file, such as 'sqlite:jobs.db'. For an engine in memory: open('memory:').`,
  )
}
