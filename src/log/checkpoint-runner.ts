/**
 * Where a checkpoint is made: in a thread of its own on the real disk, or right here, in small
 * steps, on any other.
 */
import { Worker } from 'node:worker_threads'
import type { CheckpointTask } from './checkpoint.ts'
import { makeCheckpoint } from './checkpoint.ts'
import type { Manifest } from './manifest.ts'
import type { Disk } from './port.ts'
import { realDisk } from './real-disk.ts'

export interface CheckpointRun {
  readonly made: Promise<Manifest>
  /** Nobody waits for it any more. What it wrote so far is nobody's, and is removed later. */
  stop(): Promise<void>
}

export function runCheckpoint(disk: Disk, task: CheckpointTask): CheckpointRun {
  return disk === realDisk ? inThread(task) : here(disk, task)
}

function here(disk: Disk, task: CheckpointTask): CheckpointRun {
  const made = makeCheckpoint(disk, task, breathe)
  return {
    made,
    async stop() {
      await made.catch(() => undefined)
    },
  }
}

function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function inThread(task: CheckpointTask): CheckpointRun {
  // Run from sources, a thread must be taught to read them; the built package needs nothing.
  const isSource = import.meta.url.endsWith('.ts')
  const file = new URL(`./checkpoint-thread${isSource ? '.ts' : '.js'}`, import.meta.url)
  const execArgv = isSource ? ['--import', 'tsx'] : []
  const worker = new Worker(file, { workerData: task, execArgv })
  const made = new Promise<Manifest>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`The checkpoint's thread ended with ${code}.`)))
  })
  // A thread must not keep a process alive that has nothing else to do.
  worker.unref()
  return {
    made,
    async stop() {
      made.catch(() => undefined)
      await worker.terminate()
    },
  }
}
