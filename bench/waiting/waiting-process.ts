/**
 * One measurement of suspended jobs, in a process of its own: what it prints is one line of JSON.
 */
import { writeSync } from 'node:fs'
import { job, open, typed } from '../../src/index.ts'
import type { Pawl } from '../../src/index.ts'
import type { WaitingOrder, WaitingReport } from './order.ts'

/** Jobs of one call. */
const CALL = 1_000
const SETTLE_MS = 1_000

const { workload, location, schema, jobs, dueAt } = JSON.parse(
  process.argv[2] ?? '',
) as WaitingOrder

let ended = 0
let onAllEnded: () => void = () => undefined
const allEnded = new Promise<void>((resolve) => (onAllEnded = resolve))

function noteEnded(): void {
  ended += 1
  if (ended === jobs) onAllEnded()
}

const suspended = job('suspended', {
  input: typed<number>(),
  run: async ({ sleep, sleepUntil }) => {
    if (dueAt === null) await sleep('nap', '30d')
    else await sleepUntil('nap', dueAt)
    noteEnded()
    return null
  },
})
const plain = job('plain', {
  input: typed<number>(),
  run: () => {
    noteEnded()
    return null
  },
})

async function submitAll(pawl: Pawl, definition: typeof suspended | typeof plain): Promise<void> {
  const options = definition === plain && dueAt !== null ? { at: new Date(dueAt) } : {}
  for (let first = 0; first < jobs; first += CALL) {
    const list = Array.from({ length: Math.min(CALL, jobs - first) }, (_, i) => {
      return { input: first + i, options }
    })
    await pawl.submitMany(definition, list)
  }
}

/** AFTER this, all of them are suspended. */
async function untilSuspended(pawl: Pawl): Promise<void> {
  let count = 0
  for await (const { entry } of pawl.watch()) {
    if (entry.type === 'ExecutionSuspended') count += 1
    // A wait that is nearly over ends in place.
    if (entry.type === 'WaitEnded') throw new Error('They were due before all of them were there.')
    if (count === jobs) return
  }
}

async function heapOfAll(before: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  return (heapUsed() - before) / jobs
}

function heapUsed(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

async function measure(): Promise<WaitingReport> {
  const before = heapUsed()
  const began = performance.now()
  const pawl = await open(location, schema === null ? {} : { schema })
  const openedMs = performance.now() - began
  try {
    if (workload === 'open') return { ms: openedMs, heapPerJob: await heapOfAll(before) }
    const definition = workload === 'plain' ? plain : suspended
    await submitAll(pawl, definition)
    const worker = pawl.work([definition], { signals: [] })
    if (workload !== 'plain') await untilSuspended(pawl)
    if (dueAt === null) {
      await worker.stop()
      return { ms: performance.now() - began, heapPerJob: await heapOfAll(before) }
    }
    await allEnded
    return { ms: Date.now() - dueAt, heapPerJob: 0 }
  } finally {
    await pawl.close()
  }
}

writeSync(1, `${JSON.stringify(await measure())}\n`)
