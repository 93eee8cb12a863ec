/**
 * Where a checkpoint is made: in a thread of its own on the real disk, or right here, in small
 * steps, on any other.
 */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { CheckpointTask } from './checkpoint.ts'
import { makeCheckpoint } from './checkpoint.ts'
import type { Manifest } from './manifest.ts'
import type { Disk } from './port.ts'
import { realDisk } from './real-disk.ts'
import { turn } from './turn.ts'

export interface CheckpointRun {
  readonly made: Promise<Manifest>
  /** Nobody waits for it any more. What it wrote so far is nobody's, and is removed later. */
  stop(): Promise<void>
}

export function runCheckpoint(disk: Disk, task: CheckpointTask): CheckpointRun {
  return disk === realDisk ? inThread(task) : here(disk, task)
}

/** The built package has the thread's file; run from sources, Node must be taught to read it. */
function threadFile(): URL {
  if (!import.meta.url.endsWith('.ts')) return new URL('./checkpoint-thread.js', import.meta.url)
  const require = createRequire(import.meta.url)
  const file = new URL('./checkpoint-thread.ts', import.meta.url).href
  const tsx = new URL('./index.mjs', pathToFileURL(require.resolve('tsx/esm/api'))).href
  const code = `import { register } from '${tsx}'; register(); await import('${file}')`
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`)
}

function here(disk: Disk, task: CheckpointTask): CheckpointRun {
  const made = makeCheckpoint(disk, task, turn)
  return {
    made,
    async stop() {
      await made.catch(() => undefined)
    },
  }
}

function inThread(task: CheckpointTask): CheckpointRun {
  const worker = new Worker(threadFile(), {
    workerData: task,
    execArgv: [],
    // Nearly all that it makes is garbage at once: cheaper to collect in one go.
    resourceLimits: { maxYoungGenerationSizeMb: 64 },
  })
  const made = new Promise<Manifest>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`The checkpoint's thread ended with ${code}.`)))
  })
  return {
    made,
    async stop() {
      made.catch(() => undefined)
      await worker.terminate()
    },
  }
}
