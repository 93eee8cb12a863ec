/**
 * One measurement of memory, in a process of its own: what it prints is one line of JSON.
 *
 * Inputs differ from each other, so that each takes memory of its own at the caller, as a user's do.
 */
import { writeSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { job, open, typed } from '../../src/index.ts'
import type { Pawl } from '../../src/index.ts'
import type { MemoryOrder, MemoryReport, MemoryWorkload } from './order.ts'

const waits = job('waits', { input: typed<{ text: string }>(), run: () => null })

/** Jobs of one call where the jobs are small. */
const CALL = 1_000

const WORKLOADS: Readonly<
  Record<MemoryWorkload, (pawl: Pawl, jobs: number, chars: number) => Promise<void>>
> = {
  /** One list. */
  list: async (pawl: Pawl, jobs: number, chars: number) => {
    await pawl.submitMany(
      waits,
      Array.from({ length: jobs }, (_, i) => ({ input: inputOf(i, chars) })),
    )
  },
  /** One call for each, all of them in one turn of the event loop. */
  singles: async (pawl: Pawl, jobs: number, chars: number) => {
    await Promise.all(Array.from({ length: jobs }, (_, i) => pawl.submit(waits, inputOf(i, chars))))
  },
  /** Lists of a thousand, one after the other. */
  waiting: async (pawl: Pawl, jobs: number, chars: number) => {
    for (let first = 0; first < jobs; first += CALL) {
      const list = Array.from({ length: Math.min(CALL, jobs - first) }, (_, i) => {
        return { input: inputOf(first + i, chars) }
      })
      await pawl.submitMany(waits, list)
    }
  },
}

function inputOf(number: number, chars: number): { text: string } {
  const word = `${number} `.padStart(8)
  return { text: word.repeat(Math.ceil(chars / word.length)) }
}

const { workload, location, schema, jobs, chars } = JSON.parse(process.argv[2] ?? '') as MemoryOrder
const pawl = await open(location, schema === null ? {} : { schema })
// The first of all: code that runs for the first time takes long by itself.
await pawl.submit(waits, inputOf(0, chars))
const delay = monitorEventLoopDelay({ resolution: 1 })
const work = WORKLOADS[workload](pawl, jobs, chars)
// AFTER the caller has made its inputs: they are made in the turn of the call.
await new Promise((resolve) => setImmediate(resolve))
delay.enable()
await work
delay.disable()
const report: MemoryReport = {
  peak: process.resourceUsage().maxRSS * 1_024,
  resident: process.memoryUsage.rss(),
  blockedMs: delay.max / 1e6,
}
writeSync(1, `${JSON.stringify(report)}\n`)
await pawl.close()
