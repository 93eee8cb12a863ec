/**
 * Where two builds are compared: the stores of Pawl, each with an empty place for every step.
 */
import { mkdirSync } from 'node:fs'
import type { Scratch } from '../log/scratch.ts'
import type { ServerCounts } from '../workload/postgres.ts'
import { BenchPostgres } from '../workload/postgres.ts'
import type { Place } from '../workload/queue.ts'

export const STORE_NAMES = ['directory', 'sqlite', 'postgres'] as const
export type StoreName = (typeof STORE_NAMES)[number]

export interface StoreUnderTest {
  readonly name: StoreName
  readonly serverPid?: number
  fresh(): Promise<Place>
  drop(place: Place): Promise<void>
  /** Before a step that is measured. */
  settle(): Promise<void>
  /** What the server counts itself; the process of a step counts the rest. */
  counts(place: Place): Promise<ServerCounts | null>
  close(): Promise<void>
}

export async function openStore(name: StoreName, scratch: Scratch): Promise<StoreUnderTest> {
  return name === 'postgres' ? onPostgres() : onFiles(name, scratch)
}

function onFiles(name: StoreName, scratch: Scratch): StoreUnderTest {
  return {
    name,
    async fresh() {
      const folder = scratch.fresh(name)
      mkdirSync(folder)
      return { variant: name, folder, url: '' }
    },
    drop: async ({ folder }) => scratch.drop(folder),
    settle: async () => undefined,
    counts: async () => null,
    close: async () => undefined,
  }
}

/** Roomy, so that the server's own upkeep does not fall into one step and not into another. */
const SETTINGS = {
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  min_wal_size: '4GB',
  checkpoint_timeout: '30min',
}

async function onPostgres(): Promise<StoreUnderTest> {
  const server = await BenchPostgres.start(SETTINGS)
  return {
    name: 'postgres',
    serverPid: server.pid,
    fresh: async () => ({ variant: 'postgres', folder: '', url: await server.freshDatabase() }),
    drop: ({ url }) => server.drop(url),
    settle: () => server.checkpoint(),
    counts: ({ url }) => server.counts(url),
    close: () => server.stop(),
  }
}
