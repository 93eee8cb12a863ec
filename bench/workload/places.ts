/**
 * Where steps run: an empty place for each, in files or on a server that is shared.
 */
import { mkdirSync } from 'node:fs'
import type { Scratch } from '../log/scratch.ts'
import type { BenchPostgres, ServerCounts } from './postgres.ts'
import type { Place } from './queue.ts'

export type Spot = Pick<Place, 'folder' | 'url'>

export interface Places {
  /** Of the server, where there is one. */
  readonly serverPid?: number
  fresh(): Promise<Spot>
  drop(spot: Spot): Promise<void>
  /** Before a step that is measured. */
  settle(): Promise<void>
  /** What the server counts itself; null where there is none that does. */
  counts(spot: Spot): Promise<ServerCounts | null>
}

export function inFiles(scratch: Scratch): Places {
  return {
    async fresh() {
      const folder = scratch.fresh('files')
      mkdirSync(folder)
      return { folder, url: '' }
    },
    drop: async ({ folder }) => scratch.drop(folder),
    settle: async () => undefined,
    counts: async () => null,
  }
}

export function onPostgres(server: BenchPostgres): Places {
  return {
    serverPid: server.pid,
    fresh: async () => ({ folder: '', url: await server.freshDatabase() }),
    drop: ({ url }) => server.drop(url),
    settle: () => server.checkpoint(),
    counts: ({ url }) => server.counts(url),
  }
}
