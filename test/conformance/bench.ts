/**
 * Every store, opened for a test: what all of them must do is tested on each.
 */
import { onTestFinished } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import type {
  Answer,
  Claimed,
  ClaimRequest,
  Clock,
  DirectoryOptions,
  PositionedEntry,
  Store,
} from '../../src/store/index.ts'
import { MemoryStore, openDirectory } from '../../src/store/index.ts'
import { openPostgres, openSqliteStore } from '../../src/store/sql/open-sql.ts'
import { freshSchema } from '../support/postgres.ts'
import { freshFile } from '../support/sqlite.ts'
import { IS_LONG } from '../support/campaign.ts'
import { servedStore } from '../support/served-store.ts'
import { SimDisk } from '../faults/sim/sim-disk.ts'

export class TestClock {
  time = 1_000
  now(): number {
    return this.time
  }
}

export const CHANNEL = { queue: 'default', type: 'test', stage: null }

export interface Bench {
  clock: TestClock
  store: Store
  send: (command: Command) => Promise<Answer>
}

export const STORES: Readonly<Record<string, (clock: Clock) => Promise<Store>>> = {
  memory: async (clock) => new MemoryStore(clock),
  directory: (clock) => openDirectory('/store', simulated(clock)),
  sqlite: async (clock) => openSqliteStore({ path: await freshFile(), clock }),
  postgres: async (clock) => openPostgres({ ...(await freshSchema()), clock }),
  // A checkpoint after every few entries, so that jobs leave memory as soon as they are over.
  'directory with checkpoints': (clock) =>
    openDirectory('/store', { ...simulated(clock), checkpointBytes: 1 }),
  // Behind a real server, on real connections.
  http: (clock) => servedStore(new MemoryStore(clock), () => clock.now()),
  ...(IS_LONG
    ? {
        'http on a directory': async (clock: Clock) =>
          servedStore(await openDirectory('/store', simulated(clock)), () => clock.now()),
      }
    : {}),
}

export function simulated(clock: Clock): DirectoryOptions {
  return {
    clock,
    disk: new SimDisk(),
    segmentBytes: 64 * 1_024,
    own: async () => ({ release: async () => undefined }),
  }
}

/** Closed when the test is over. `time`: when it is opened. The clock of a store does not go back behind that. */
export async function setUp(kind: string, time?: number): Promise<Bench> {
  const clock = new TestClock()
  if (time !== undefined) clock.time = time
  const store = await (STORES[kind] as (clock: Clock) => Promise<Store>)(clock)
  onTestFinished(() => store.close())
  const send = async (command: Command): Promise<Answer> => {
    const [answer] = await store.execute([command])
    return answer as Answer
  }
  return { clock, store, send }
}

export function claim(changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return { worker: 'w', request: 1, channels: [CHANNEL], max: 1, started: true, ...changes }
}

export function reportOf({ job, stage: index, segment, lease }: Claimed): {
  job: string
  stage: number
  segment: number
  lease: number
  worker: string
} {
  return { job, stage: index, segment, lease, worker: 'w' }
}

/** Positions start behind 0 and only grow. */
export function isAscending(entries: readonly PositionedEntry[]): boolean {
  return entries.every(({ position }, i) => position > (entries[i - 1]?.position ?? 0))
}

export function commit(leased: Claimed, output = '"out"'): Command {
  return { type: 'CommitExecution', ...reportOf(leased), output, effects: [] }
}
