/**
 * A process that opens a directory and tells what that took, and what a life costs there: new
 * each time, so that its memory is that of the directory and nothing else.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { threadNs } from '../thread-time.ts'
import type { LifeRate } from './callers.ts'
import { Callers } from './callers.ts'
import { openStore } from './store.ts'

/** What it is asked. */
export interface OpenTask {
  readonly folder: string
  /** The number of the first new job: no job there has a higher one. */
  readonly first: number
  /** Lives are measured for so long; 0: they are not. */
  readonly livesMs: number
  readonly warmUpMs: number
  readonly batch: number
  readonly callers: number
}

/** What it tells. */
export interface Opened {
  readonly openMs: number
  /** Of that, on a core. */
  readonly openCpuMs: number
  /** Whether one was read. */
  readonly hasCheckpoint: boolean
  /** Entries that were replayed. */
  readonly entries: number
  readonly heapBytes: number
  readonly rssBytes: number
  /** Null: not measured. */
  readonly rate: LifeRate | null
}

async function open(task: OpenTask): Promise<Opened> {
  const before = await memory()
  const cpuBefore = threadNs()
  const started = performance.now()
  // A checkpoint that is made at once would take its own share of the memory.
  const rules = task.livesMs === 0 ? { checkpointBytes: Infinity } : {}
  const store = await openStore(task.folder, rules)
  const openMs = performance.now() - started
  const openCpuMs = (threadNs() - cpuBefore) / 1e6
  const after = await memory()
  const { livesMs, warmUpMs, batch, callers } = task
  const rate =
    livesMs === 0
      ? null
      : await new Callers(store, task.first).measure({ batch, callers }, warmUpMs, livesMs)
  await store.close()
  return {
    openMs,
    openCpuMs,
    hasCheckpoint: store.opening.checkpoint !== null,
    entries: store.opening.entries,
    heapBytes: after.heapUsed - before.heapUsed,
    rssBytes: after.rss - before.rss,
    rate,
  }
}

/** Twice, and with time in between: buffers are let go of only after that. */
async function memory(): Promise<NodeJS.MemoryUsage> {
  for (let i = 0; i < 2; i++) {
    globalThis.gc?.()
    // oxlint-disable-next-line no-await-in-loop -- waiting is the point
    await delay(100)
  }
  return process.memoryUsage()
}

process.send?.(await open(JSON.parse(process.argv[2] as string) as OpenTask))
