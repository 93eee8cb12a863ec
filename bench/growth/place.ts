/**
 * Where rows of the growth bench run: a store in a directory, on SQLite or on PostgreSQL, and what process
 * and server spend on it.
 */
import { existsSync } from 'node:fs'
import type { OpenOptions, Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import type { Scratch } from '../log/scratch.ts'
import { postgres } from '../sql/databases.ts'

export const STORE_NAMES = ['directory', 'sqlite', 'postgres'] as const
export type StoreName = (typeof STORE_NAMES)[number]

/** Opens a store that stays where it is until the place gives another one. */
export type OpenStore = () => Promise<Pawl>

/** Where any process opens the same store. */
export interface StoreLocation {
  readonly location: string
  readonly schema: string | null
}

export interface Place {
  readonly store: StoreName
  /** An empty store. */
  fresh(): OpenStore
  /** Of an empty store. */
  location(): StoreLocation
  /** Of the server, outside of this process. */
  serverUs(): number
  close(): Promise<void>
}

export async function placeOf(store: StoreName, scratch: Scratch): Promise<Place> {
  if (store !== 'postgres') {
    const freshLocation = (): string => {
      const path = scratch.fresh(store)
      return store === 'sqlite' ? `sqlite:${path}` : path
    }
    return {
      store,
      fresh: () => {
        const location = freshLocation()
        return () => open(location)
      },
      location: () => ({ location: freshLocation(), schema: null }),
      serverUs: () => 0,
      close: async () => undefined,
    }
  }
  const server = await postgres()
  return {
    store,
    fresh: () => {
      const { location, schema } = server.location()
      return () => open(location, schema === undefined ? {} : { schema })
    },
    location: () => {
      const { location, schema = null } = server.location()
      return { location, schema }
    },
    serverUs: () => server.cpuUs(),
    close: () => server.close(),
  }
}

/** Opens an empty store in this process, with options. */
export async function openWith(place: Place, options: OpenOptions): Promise<Pawl> {
  return openAt(place.location(), options)
}

export function openAt({ location, schema }: StoreLocation, options: OpenOptions): Promise<Pawl> {
  return open(location, schema === null ? options : { ...options, schema })
}

/** CPU of process and server in microseconds; where there is no `/proc`, of the process only. */
export async function cpuOf(place: Place, work: () => Promise<unknown>): Promise<number> {
  const began = spentUs(place)
  await work()
  return spentUs(place) - began
}

function spentUs(place: Place): number {
  const { user, system } = process.cpuUsage()
  return user + system + place.serverUs()
}

/** Whether the server's part can be seen. */
export function seesServer(): boolean {
  return existsSync('/proc/self/stat')
}
