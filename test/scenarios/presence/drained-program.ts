/**
 * A process on a directory with nothing but a worker, which is drained. It does what it does next by timers that keep no process
 * alive, and closes nothing: only the worker can keep it, and must until it stops.
 */
import { job, open, typed } from '../../../src/index.ts'
import { pause } from '../../../src/store/clock.ts'

const IDLE_MS = 100
const echo = job('echo', { input: typed<number>(), run: ({ input }) => input })

const pawl = await open(process.argv[2] ?? '')
const worker = pawl.work([echo])
await pawl.drainWorker(worker.name)
await pause(IDLE_MS, true)
console.log('drained')
await pawl.resumeWorker(worker.name)
await pause(IDLE_MS, true)
const handle = await pawl.submit(echo, 7)
console.log('resumed', await handle.result())
await pawl.drainWorker(worker.name)
await worker.stop()
console.log('stopped')
