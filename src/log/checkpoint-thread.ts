/**
 * A thread that makes one checkpoint and says so: the event loop of the store stays free.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { CheckpointTask } from './checkpoint.ts'
import { makeCheckpoint } from './checkpoint.ts'
import { realDisk } from './real-disk.ts'

const manifest = await makeCheckpoint(realDisk, workerData as CheckpointTask)
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(manifest)
