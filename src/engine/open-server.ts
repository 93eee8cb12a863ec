/**
 * Opens an engine whose store is behind a server: `open('http://…', { token })`. The server does the upkeep, keeps the
 * retention and fires the schedules; this engine submits, asks, operates and works.
 */
import { InvalidDefinition, shown } from '../definition/index.ts'
import { realTiming, withoutTimers } from '../store/clock.ts'
import { noPlace } from '../worker/index.ts'
import type { OpenOptions } from './open-options.ts'
import type { PawlParts } from './pawl-parts.ts'

const SERVER = /^https?:\/\//

export function isServer(location: string): boolean {
  return SERVER.test(location)
}

/** They are said where the server opens its store. */
const OF_THE_SERVER = [
  'retention',
  'onForget',
  'history',
  'archive',
  'schema',
  'connection',
  'waitFor',
  'migrate',
] as const satisfies readonly (keyof OpenOptions)[]

const NO_PLACE =
  'There is no place for artifacts: workers behind a server may be on any machine, so say where files go that all of them see: open(…, { artifacts }).'
const NO_BACKUP = 'A store behind a server is backed up where the server opens it.'

type RemoteEngineParts = Pick<
  PawlParts,
  'store' | 'timing' | 'upkeepTiming' | 'presenceTiming' | 'now' | 'backup'
> &
  Required<Pick<PawlParts, 'artifacts'>>

/** Throws `ServerUnreachable`, and `ServerRefused` for a token that the server does not know. */
export async function openServer(
  location: string,
  options: OpenOptions,
  presence: boolean,
): Promise<RemoteEngineParts> {
  assertOptions(location, options)
  // Loaded only here: most programs have no server.
  const { openHttp } = await import('../store/http/open-http.ts')
  const store = await openHttp({ url: location, token: options.token, presence })
  const timing = realTiming()
  return {
    store,
    timing,
    upkeepTiming: withoutTimers(timing),
    presenceTiming: timing,
    now: () => store.now(),
    artifacts: noPlace(NO_PLACE),
    backup: () => Promise.reject(new InvalidDefinition(NO_BACKUP)),
  }
}

/** No message shows more of the place than its scheme, and nothing shows the token. */
function assertOptions(location: string, options: OpenOptions): void {
  const { token } = options
  for (const name of OF_THE_SERVER) {
    if (options[name] === undefined) continue
    throw new InvalidDefinition(
      `open('http://…') takes no \`${name}\`: it is said where the server opens its store.`,
    )
  }
  if (token !== undefined && (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))) {
    const given = typeof token === 'string' ? 'a text with blanks, or an empty one' : shown(token)
    throw new InvalidDefinition(`\`token\` is a text without blanks, not ${given}.`)
  }
  const url = URL.canParse(location) ? new URL(location) : null
  if (url === null || url.search !== '' || url.hash !== '') {
    throw new InvalidDefinition(
      `open('http://…') needs the address of a server, such as 'http://127.0.0.1:7295', without a query.`,
    )
  }
  if (url.username === '' && url.password === '') return
  throw new InvalidDefinition(
    `open('http://…') takes no user and password in the address: write open('http://…', { token }).`,
  )
}
