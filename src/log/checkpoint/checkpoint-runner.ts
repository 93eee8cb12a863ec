/**
 * Where a checkpoint is made: in a thread of its own on the real disk, or right here, in small
 * steps, on any other.
 */
import { Worker } from 'node:worker_threads'
import type { CheckpointMade, CheckpointTask } from './checkpoint.ts'
import { makeCheckpoint } from './checkpoint.ts'
import type { Disk } from '../disk/disk.ts'
import { realDisk } from '../disk/real-disk.ts'
import { threadFile } from '../disk/thread-file.ts'
import { eventLoopTurn } from '../disk/event-loop-turn.ts'

export interface CheckpointRunner {
  /** One at a time. */
  run(task: CheckpointTask): Promise<CheckpointMade>
  /** The store closes. What was written so far belongs to no checkpoint, and is removed later. */
  stop(): Promise<void>
}

export function checkpointRunner(disk: Disk): CheckpointRunner {
  return disk === realDisk ? new ThreadRunner() : new LocalRunner(disk)
}

class LocalRunner implements CheckpointRunner {
  readonly #disk: Disk
  #running: Promise<unknown> = Promise.resolve()

  constructor(disk: Disk) {
    this.#disk = disk
  }

  run(task: CheckpointTask): Promise<CheckpointMade> {
    const made = makeCheckpoint(this.#disk, task, eventLoopTurn)
    this.#running = made.catch(() => undefined)
    return made
  }

  async stop(): Promise<void> {
    await this.#running
  }
}

/** The thread stays for the next one: by then its code is quick, and most of a start is spared. */
class ThreadRunner implements CheckpointRunner {
  #worker: Worker | null = null

  run(task: CheckpointTask): Promise<CheckpointMade> {
    const worker = (this.#worker ??= startThread())
    // Only one that has something to do keeps the process alive.
    worker.ref()
    return new Promise<CheckpointMade>((resolve, reject) => {
      const stopListening = (): void => {
        worker.off('message', done)
        worker.off('error', failed)
        worker.off('exit', ended)
      }
      const done = (made: CheckpointMade): void => {
        stopListening()
        worker.unref()
        resolve(made)
      }
      const failed = (error: Error): void => {
        // The end of this thread comes later: the next one may be at work by then.
        stopListening()
        this.#worker = null
        reject(error)
      }
      const ended = (code: number): void => {
        failed(new Error(`The checkpoint's thread ended with ${code}.`))
      }
      worker.once('message', done)
      worker.once('error', failed)
      worker.once('exit', ended)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(task)
    })
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate()
  }
}

function startThread(): Worker {
  return new Worker(threadFile('checkpoint-thread', import.meta.url), {
    execArgv: [],
    // Nearly all that it makes is garbage at once: cheaper to collect in one go.
    resourceLimits: { maxYoungGenerationSizeMb: 64 },
  })
}
