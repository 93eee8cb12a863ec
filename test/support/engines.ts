/**
 * Engines to test with: the same tests for each place that jobs can be kept in.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { OpenOptions, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import { serve } from '../../src/server/index.ts'
import { IS_LONG } from './campaign.ts'
import { freshSchema } from './postgres.ts'
import { freshFile } from './sqlite.ts'

export type OpenEngine = (options?: OpenOptions) => Promise<Pawl>

/** Closed, and its files removed, when the test is over. */
async function opened(location: string, options: OpenOptions): Promise<Pawl> {
  const pawl = await open(location, options)
  onTestFinished(() => pawl.close())
  return pawl
}

export async function temporaryFolder(): Promise<string> {
  const { folder, remove } = await removedFolder()
  onTestFinished(remove)
  return folder
}

/** For several tests, which remove it themselves. */
export async function removedFolder(): Promise<{
  readonly folder: string
  readonly remove: () => Promise<void>
}> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-'))
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

type Engines = readonly [name: string, open: OpenEngine][]

/** Those whose authority is in their own process. */
export const OWN_ENGINES: Engines = [
  ['in memory', (options = {}) => opened('memory:', options)],
  ['on a directory', async (options = {}) => opened(await temporaryFolder(), options)],
]

const DATABASES: Engines = [
  ['on SQLite', async (options = {}) => opened(`sqlite:${await freshFile()}`, options)],
  [
    'on PostgreSQL',
    async (options = {}) => {
      const { url, schema } = await freshSchema()
      return opened(url, { artifacts: await temporaryFolder(), ...options, schema })
    },
  ],
]

/** Said where the server opens its store; all else where its client does. */
const OF_HOME = ['retention', 'onForget', 'history', 'archive'] as const

const BEHIND_A_SERVER: Engines = [
  [
    'behind a server',
    async (options = {}) => {
      const home: Record<string, unknown> = {}
      const own: Record<string, unknown> = { artifacts: await temporaryFolder(), ...options }
      for (const name of OF_HOME) {
        if (options[name] !== undefined) home[name] = options[name]
        delete own[name]
      }
      const engine = await opened(await temporaryFolder(), home)
      const server = await serve(engine, { port: 0 })
      onTestFinished(() => server.close())
      return opened(server.url, own)
    },
  ],
]

const IS_ALL = process.env['PAWL_ENGINES'] === 'all'

/**
 * For the few tests that are worth it on each: on databases all of them take minutes. Those behind a server only with
 * `npm run test:long`: its store is one of the conformance suite.
 */
export const EVERY_ENGINE: Engines = [
  ...OWN_ENGINES,
  ...DATABASES,
  ...(IS_LONG || IS_ALL ? BEHIND_A_SERVER : []),
]

/** `npm run test:long` has every one. */
export const ENGINES: Engines = IS_ALL ? EVERY_ENGINE : OWN_ENGINES

/** A promise that is settled from outside. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
} {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
