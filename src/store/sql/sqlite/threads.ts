/**
 * Starts threads, and keeps a few that nobody uses for a moment: the next file that is opened needs
 * no new one. Starting one takes 40 ms of work, and 90 ms when Pawl is run from its sources.
 */
import { Worker } from 'node:worker_threads'
import { threadFile } from '../../../log/disk/thread-file.ts'
import { afterMs } from '../../clock.ts'

const KEPT_MS = 2_000
const MOST_KEPT = 4

/** Each with what ends its waiting. */
const kept = new Map<Worker, () => void>()

/** With no file open. Whoever has it gives it back, unless it has ended. */
export function takeThread(): Worker {
  const [worker] = kept.keys()
  if (worker === undefined) return start()
  forget(worker)
  return worker
}

/** With no file open, and nobody listening to it. */
export function giveBack(worker: Worker): void {
  const end = (): void => {
    forget(worker)
    void worker.terminate()
  }
  worker.unref()
  if (kept.size >= MOST_KEPT) end()
  else kept.set(worker, afterMs(KEPT_MS, end))
}

function start(): Worker {
  const worker = new Worker(threadFile('thread', import.meta.url), { execArgv: [] })
  worker.unref()
  // One that ends while nobody uses it is not used again, and that is all.
  worker.on('error', () => undefined)
  worker.on('exit', () => forget(worker))
  return worker
}

function forget(worker: Worker): void {
  kept.get(worker)?.()
  kept.delete(worker)
}
