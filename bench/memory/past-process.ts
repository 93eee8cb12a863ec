/**
 * Time travel over very many jobs, in a process of its own: by how much its memory rises while all jobs of a
 * moment are counted and listed. What it prints is one line of JSON.
 *
 * Half of the jobs are submitted before the first moment. The second is the end, with all of them.
 */
import { writeSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { job, open, typed } from '../../src/index.ts'
import type { PastReport, MemoryOrder } from './order.ts'

const waits = job('waits', { input: typed<{ text: string }>(), run: () => null })
/** Jobs between two looks at the memory, in the middle of a list. */
const LOOK_EVERY = 100_000

const { location, schema, jobs, chars } = JSON.parse(process.argv[2] ?? '') as Omit<
  MemoryOrder,
  'workload'
>
const pawl = await open(location, schema === null ? {} : { schema })
const half = Math.floor(jobs / 2)
await pawl.submitMany(waits, inputs(0, half))
const { position } = await lastEntry()
await pawl.submitMany(waits, inputs(half, jobs))
const before = inUse()
let peak = before
let lookedMs = 0
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const began = performance.now()
const counted = [await count(position), await count(Number.MAX_SAFE_INTEGER)]
const seconds = (performance.now() - began - lookedMs) / 1_000
delay.disable()
if (counted[0] !== half + 1 || counted[1] !== jobs + 1) {
  throw new Error(`${counted.join(' and ')} jobs were counted.`)
}
const report: PastReport = {
  peak: peak - before,
  resident: before,
  blockedMs: delay.max / 1e6,
  seconds,
}
writeSync(1, `${JSON.stringify(report)}\n`)
await pawl.close()

/**
 * What cannot be collected. How much garbage there is beside it depends on how much else the process holds:
 * with a million jobs in memory, the engine of JavaScript lets a gigabyte of it lie before it looks.
 */
function inUse(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** One more job, and where its submit stands. */
async function lastEntry(): Promise<{ readonly position: number }> {
  const { id } = await pawl.submit(waits, { text: 'the last one' })
  const [submitted] = await pawl.history(id)
  if (submitted === undefined) throw new Error('It has no history.')
  return submitted
}

/** By the list: counts read the same. */
async function count(moment: number): Promise<number> {
  let listed = 0
  for await (const { state } of pawl.at(moment).list()) {
    if (state === 'QUEUED') listed += 1
    if (listed % LOOK_EVERY !== 0) continue
    const stopped = performance.now()
    // A collection stands still by itself.
    delay.disable()
    peak = Math.max(peak, inUse())
    delay.enable()
    lookedMs += performance.now() - stopped
  }
  return listed
}

function* inputs(from: number, to: number): Iterable<{ readonly input: { text: string } }> {
  for (let i = from; i < to; i++) yield { input: { text: `${i}`.padEnd(chars, '.') } }
}
