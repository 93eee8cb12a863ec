/**
 * A program that works on a directory until it is told to end: its task is its one argument.
 *
 * It says `begun` when a handler runs, `stopping` when its worker is told to stop, and, if it
 * listens for the signal itself, `closed` when it has cleaned up.
 */
import { createServer } from 'node:http'
import type { WorkerOptions } from '../../../src/index.ts'
import { open } from '../../../src/index.ts'
import { brief, endless, waiting } from './jobs.ts'

const jobs = { brief, endless, waiting }

export interface ProgramTask {
  readonly directory: string
  readonly job: keyof typeof jobs
  readonly worker: WorkerOptions
  readonly listens: boolean
  /** It has an HTTP server, which keeps it alive. */
  readonly serves: boolean
}

const {
  directory,
  job,
  worker: options,
  listens,
  serves,
} = JSON.parse(process.argv[2] ?? '') as ProgramTask

const told = new Promise<void>((resolve) => {
  if (listens) process.once('SIGTERM', () => resolve())
})
if (serves) createServer().listen(0, '127.0.0.1')
const pawl = await open(directory)
// Both are compiled: see the test.
const worker = pawl.work(Object.values(jobs), {
  ...options,
  modules: [new URL('./jobs.js', import.meta.url)],
})
const stop = worker.stop.bind(worker)
worker.stop = () => {
  console.log('stopping')
  return stop()
}
const handle = await pawl.submit(jobs[job], undefined, { id: job })
for await (const { entry } of handle.events()) {
  if (entry.type === 'StepRecorded') break
}
console.log('begun')
await told
await pawl.close()
console.log('closed')
