/**
 * The queues that are measured beside each other, what each needs, and whether this machine has it.
 * Servers are started when the first queue needs them.
 */
import { pathToFileURL } from 'node:url'
import { buildFiles } from '../compare/build.ts'
import type { Scratch } from '../log/scratch.ts'
import { behindServers } from '../workload/http-places.ts'
import type { Places } from '../workload/places.ts'
import { inFiles, onPostgres } from '../workload/places.ts'
import { BenchPostgres } from '../workload/postgres.ts'
import type { Runtime } from '../workload/run-step.ts'
import type { Subject } from '../workload/run-workload.ts'
import { PAWL_ADAPTER } from '../workload/run-workload.ts'
import { Peers } from './install.ts'
import { BenchRedis, STOCK, SYNCED } from './redis.ts'

interface Description {
  /** Null: Pawl itself. */
  readonly adapter: string | null
  readonly variant: string
  readonly on: 'files' | 'http' | 'postgres' | 'redis' | 'synced redis'
  /** Whether a job is on the disk when the queue calls it stored. */
  readonly isSynced: boolean
  /** Packages that must be installed. */
  readonly packages: readonly string[]
  /** The oldest major version of Node that it runs on; `bun` instead of Node. Default: any. */
  readonly needs?: number | 'bun'
}

const pawl = { adapter: null, isSynced: true, packages: [] } as const
const bullmq = { adapter: 'bullmq', packages: ['bullmq', 'ioredis', 'pg'] } as const
const plainjob = {
  adapter: 'plainjob',
  on: 'files',
  packages: ['plainjob', 'better-sqlite3'],
  needs: 22,
} as const
/** Written to SQLite without a sync in both of its modes. */
const bunqueue = {
  adapter: 'bunqueue',
  on: 'files',
  isSynced: false,
  packages: ['bunqueue', 'bun'],
  needs: 'bun',
} as const
const postgres = { on: 'postgres', isSynced: true, needs: 22 } as const
const boss = { ...postgres, adapter: 'pg-boss', packages: ['pg-boss'] } as const
const graphile = {
  ...postgres,
  adapter: 'graphile-worker',
  packages: ['graphile-worker', 'pg'],
} as const

export const QUEUES: Readonly<Record<string, Description>> = {
  'pawl-directory': { ...pawl, variant: 'directory', on: 'files' },
  'pawl-sqlite': { ...pawl, variant: 'sqlite', on: 'files' },
  'pawl-postgres': { ...pawl, variant: 'postgres', on: 'postgres' },
  'pawl-http': { ...pawl, variant: 'http', on: 'http' },
  'bullmq-redis': { ...bullmq, variant: 'redis', on: 'redis', isSynced: false },
  'bullmq-redis-synced': { ...bullmq, variant: 'redis', on: 'synced redis', isSynced: true },
  'bullmq-postgres': { ...bullmq, ...postgres, variant: 'postgres' },
  'pg-boss': { ...boss, variant: 'poll' },
  'pg-boss-notify': { ...boss, variant: 'notify' },
  graphile: { ...graphile, variant: 'plain' },
  'graphile-batched': { ...graphile, variant: 'batched' },
  dbos: {
    ...postgres,
    adapter: 'dbos',
    variant: 'default',
    packages: ['@dbos-inc/dbos-sdk', 'pg'],
  },
  'plainjob-normal': { ...plainjob, variant: 'normal', isSynced: false },
  'plainjob-full': { ...plainjob, variant: 'full', isSynced: true },
  bunqueue: { ...bunqueue, variant: 'buffered' },
  'bunqueue-durable': { ...bunqueue, variant: 'durable' },
}

export const QUEUE_NAMES = Object.keys(QUEUES)

export function isPawl(name: string): boolean {
  return QUEUES[name]?.adapter === null
}

export class Subjects {
  readonly #scratch: Scratch
  readonly #peers: Peers
  readonly #root: string
  /** Started servers, or that they failed to. */
  readonly #places = new Map<Description['on'], Promise<Places>>()
  readonly #stops: (() => Promise<void>)[] = []
  #entry: string | null = null
  /** Why the peers are not installed. */
  #failure: string | null = null

  constructor(root: string, scratch: Scratch) {
    this.#root = root
    this.#scratch = scratch
    this.#peers = new Peers(root)
  }

  /** BEFORE any is opened: the newer Node that comes with the peers is for all of them, Pawl too. */
  install(names: readonly string[], say: (line: string) => void): void {
    if (names.every(isPawl)) return
    this.#failure = this.#peers.install(say)
  }

  /** Of the queues that need no Bun. */
  get nodeMajor(): number {
    return this.#peers.node().major
  }

  /** Throws what this machine lacks, for people. */
  async open(name: string): Promise<Subject> {
    const { adapter, variant, on, packages, needs } = QUEUES[name] as Description
    const missing = packages.find((one) => !this.#peers.isInstalled(one))
    if (missing !== undefined) {
      const why = this.#failure === null ? '' : `: ${this.#failure}`
      throw new Error(`${missing} is not installed${why}`)
    }
    const runtime = this.#runtime(needs)
    const places = await this.#placesOn(on)
    if (adapter !== null) {
      const file = pathToFileURL(this.#peers.adapter(adapter)).href
      return { name, adapter: file, variant, places, runtime }
    }
    return { name, adapter: PAWL_ADAPTER, variant, entry: this.#built(), places, runtime }
  }

  #built(): string {
    this.#entry ??= buildFiles(this.#root, this.#scratch.fresh('pawl')).entry
    return this.#entry
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) await stop()
  }

  #runtime(needs: Description['needs'] = 0): Runtime {
    if (needs === 'bun') {
      const bun = this.#peers.bun()
      if (bun === null) throw new Error('Bun does not run on this machine')
      return bun
    }
    const node = this.#peers.node()
    if (node.major >= needs) return node
    throw new Error(`it needs Node ${needs} or later, and this is Node ${node.major}`)
  }

  #placesOn(on: Description['on']): Promise<Places> {
    const known = this.#places.get(on)
    if (known !== undefined) return known
    const opening = this.#startPlaces(on)
    this.#places.set(on, opening)
    return opening
  }

  async #startPlaces(on: Description['on']): Promise<Places> {
    if (on === 'files') return inFiles(this.#scratch)
    if (on === 'http') return behindServers(this.#scratch, this.#built())
    if (on === 'postgres') {
      const server = await BenchPostgres.start()
      this.#stops.push(() => server.stop())
      return onPostgres(server)
    }
    const settings = on === 'redis' ? STOCK : SYNCED
    const redis = await BenchRedis.start(settings, this.#scratch.fresh('redis'))
    this.#stops.push(() => redis.stop())
    return redis.places
  }
}
