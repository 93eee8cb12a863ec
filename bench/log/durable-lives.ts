/**
 * Part `lives`: full durable lives per second, for several sizes of batch and numbers of
 * callers; beside each what the disk would bear, and beside all a queue on SQLite.
 */
import { availableParallelism } from 'node:os'
import { table, whole } from '../table.ts'
import { atLeast, figure } from './aim.ts'
import type { LifeRate, Load } from './callers.ts'
import { Callers } from './callers.ts'
import { logTraffic } from './log-traffic.ts'
import { ZeroFile } from './raw-disk.ts'
import type { Scratch } from './scratch.ts'
import { openStore } from './store.ts'
import { measureSqlite } from './sqlite-queue.ts'

/** The first one is what the aims are about. */
export const HEADLINE: Load = { batch: 256, callers: 8 }
const LOADS: readonly Load[] = [
  HEADLINE,
  { batch: 64, callers: 16 },
  { batch: 1, callers: 64 },
  { batch: 1, callers: 1 },
  { ...HEADLINE, forgets: true },
]
/** Keeps so little that every life in the run has its jobs forgotten in the run. */
const SHORT_MEMORY = { retention: { count: 20_000 }, historyMs: 0 }
const WARM_UP_MS = 2_000
const LIVES_MS = 6_000
const RAW_MS = 1_500
const SQLITE_MS = 4_000

const LIVES_AIM = 150_000
const RAW_AIM = 0.25
const SQLITE_AIM = 10

interface Measured {
  readonly load: Load
  readonly rate: LifeRate
  /** Lives per second, if there were nothing but their bytes. */
  readonly raw: number
}

export async function benchLives(scratch: Scratch, say: (line: string) => void): Promise<string[]> {
  logTraffic()
  const zeros = new ZeroFile(scratch.fresh('zeros'))
  const all: Measured[] = []
  for (const load of LOADS) {
    say(`durable lives, ${nameOf(load)} …`)
    const rate = await measure(scratch, load)
    say('  and the raw limit …')
    const bytes = await zeros.append(rate.bytesPerGroup, RAW_MS)
    all.push({ load, rate, raw: bytes / rate.bytesPerLife })
  }
  zeros.remove()
  say('a queue on SQLite, one transaction for each step …')
  const simple = runSqlite(scratch, 1)
  say(`a queue on SQLite, one transaction for each step of ${HEADLINE.batch} …`)
  const batched = runSqlite(scratch, HEADLINE.batch)
  return report(all, simple, batched)
}

async function measure(scratch: Scratch, load: Load): Promise<LifeRate> {
  const folder = scratch.fresh('lives')
  const store = await openStore(folder, load.forgets === true ? SHORT_MEMORY : {})
  try {
    return await new Callers(store).measure(load, WARM_UP_MS, LIVES_MS)
  } finally {
    await store.close()
    scratch.drop(folder)
    globalThis.gc?.()
  }
}

function runSqlite(scratch: Scratch, batch: number): number {
  const path = scratch.fresh('queue.sqlite')
  const perSecond = measureSqlite(path, batch, SQLITE_MS)
  for (const suffix of ['', '-wal', '-shm']) scratch.drop(path + suffix)
  return perSecond
}

function report(all: readonly Measured[], simple: number, batched: number): string[] {
  const head = [
    'batch × callers',
    'lives/s',
    'ns/life',
    'cpu ns/life',
    'all threads',
    'gc ns/life',
    'bytes/life',
    'bytes/group',
    'raw lives/s',
    'of raw',
    '× SQLite',
  ]
  const rows = all.map(({ load, rate, raw }) => [
    nameOf(load),
    whole(rate.perSecond),
    whole(rate.wallNsPerLife),
    whole(rate.cpuNsPerLife),
    whole(rate.processNsPerLife),
    whole(rate.gcNsPerLife),
    whole(rate.bytesPerLife),
    whole(rate.bytesPerGroup),
    whole(raw),
    figure(rate.perSecond / raw),
    figure(rate.perSecond / simple),
  ])
  const [headline] = all as [Measured]
  const { perSecond, processNsPerLife } = headline.rate
  const cores = availableParallelism()
  return [
    '',
    'Full durable lives: submit, claim with start, commit; each synced before its answer',
    ...table(head, rows),
    'cpu: time on a core of the one thread that runs the store and its callers; all threads: with',
    '  garbage collection, checkpoints and writing',
    'forgetting: 20,000 jobs that are over are kept, others forgotten: a fourth entry in a life',
    'raw: the same bytes in groups of the same size, by a loop that does nothing but write them',
    `SQLite queue (WAL, synchronous=FULL): ${whole(simple)} lives/s with a transaction for each step,`,
    `  ${whole(batched)} lives/s with one for each step of ${HEADLINE.batch} jobs (pawl: ${figure(perSecond / batched)} times)`,
    '',
    `With ${HEADLINE.callers} callers and batches of ${HEADLINE.batch}:`,
    atLeast('lives per second', perSecond, LIVES_AIM),
    atLeast('share of the raw limit', perSecond / headline.raw, RAW_AIM),
    atLeast('times the SQLite queue', perSecond / simple, SQLITE_AIM),
    `at ${whole(processNsPerLife)} ns of all threads, ${cores} cores would bear ${whole((cores * 1e9) / processNsPerLife)} lives/s if none ever waited`,
  ]
}

function nameOf({ batch, callers, forgets }: Load): string {
  return `${batch} × ${callers}${forgets === true ? ', forgetting' : ''}`
}
