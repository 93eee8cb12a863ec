/**
 * A thread that makes checkpoints, one after the other, and says so: the event loop of the
 * store stays free. One that fails ends it.
 */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { CheckpointTask } from './checkpoint.ts'
import { makeCheckpoint } from './checkpoint.ts'
import { realDisk } from '../disk/real-disk.ts'

/** No caller waits for a checkpoint: where cores are few, the threads that callers wait for come first. */
function lowerPriority(): void {
  try {
    // Linux says which thread this is, and takes its number for that of a process.
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // On other systems it keeps the priority of all threads.
  }
}

lowerPriority()
parentPort?.on('message', async (task: CheckpointTask) => {
  const made = await makeCheckpoint(realDisk, task)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(made)
})
