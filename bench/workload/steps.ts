/**
 * The workloads, each a step that runs in a process of its own: what is measured of it stands
 * between two looks of the meter, and opening stands before.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { spread } from '../spread.ts'
import type { Meter, Used } from './meter.ts'
import type { Adapter, Payload, Place, Queue, Submitted } from './queue.ts'
import { inFlight, payload } from './queue.ts'

export interface StepSize {
  readonly jobs: number
  /** Single calls under way at once. */
  readonly inFlight: number
  /** Waits for each job's result in `cycle`; not every queue can. */
  readonly results: boolean
}

/** What a step says of itself. Times are milliseconds. */
export interface StepReport extends Partial<Omit<Used, 'wallMs'>> {
  /** Not of `latency`, whose calls come by the clock. */
  readonly wallMs?: number | undefined
  readonly jobs?: number
  readonly openMs?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  readonly heapPerJob?: number
}

interface Bench {
  readonly adapter: Adapter
  readonly place: Place
  readonly size: StepSize
  readonly meter: Meter
}

type Step = (bench: Bench) => Promise<StepReport>

const PER_SECOND = 100
const WARM_UP_CALLS = 200
const WARM_UP_JOBS = 20
const SETTLE_MS = 300
const FOR_MS_MANY = 200
const FOR_MS_FEW = 10
const MANY = 2_000
/** A warm step does so many times its jobs first: most of its code is compiled by then. */
export const WARM_UP_TIMES = 2
const LOOKS = 4

export const STEPS = {
  async setup({ adapter, place }) {
    await adapter.setup(place)
    return {}
  },

  async bulk({ adapter, place, size, meter }) {
    const queue = await adapter.open(place)
    const payloads = Array.from({ length: size.jobs }, (_, index) => payload(index))
    const used = await meter.of(() => enqueueAll(adapter, queue, payloads, size.inFlight))
    await queue.close?.()
    return { jobs: size.jobs, ...used }
  },

  /** By a process that has submitted as many before. */
  async 'bulk-warm'({ adapter, place, size, meter }) {
    const queue = await adapter.open(place)
    const payloads = Array.from({ length: size.jobs }, (_, index) => payload(index))
    const enqueue = (): Promise<void> => enqueueAll(adapter, queue, payloads, size.inFlight)
    for (let time = 0; time < WARM_UP_TIMES; time++) await enqueue()
    const used = await meter.of(enqueue)
    await queue.close?.()
    return { jobs: size.jobs, ...used }
  },

  /** All that a process does for its first jobs, from the import on; `openMs` is until it is open. */
  async startup({ adapter, place, size, meter }) {
    const from = performance.now()
    let openMs = 0
    const used = await meter.of(async () => {
      const queue = await adapter.open(place)
      openMs = performance.now() - from
      const payloads = Array.from({ length: size.jobs }, (_, index) => payload(index))
      await enqueueAll(adapter, queue, payloads, size.inFlight)
      await drained(queue, size.jobs)
    })
    return { jobs: size.jobs, openMs, ...used }
  },

  /** From the start of the worker until the last job is recorded as finished. */
  async drain({ adapter, place, size, meter }) {
    const from = performance.now()
    const queue = await adapter.open(place)
    const openMs = performance.now() - from
    const used = await meter.of(() => drained(queue, size.jobs))
    await queue.close?.()
    return { jobs: size.jobs, openMs, ...used }
  },

  /** The last of many more jobs. */
  async 'drain-warm'({ adapter, place, size, meter }) {
    const queue = await adapter.open(place)
    const first = counter(size.jobs * WARM_UP_TIMES)
    const last = counter(size.jobs * (WARM_UP_TIMES + 1))
    await queue.work(async () => {
      await Promise.all([first.handler(), last.handler()])
    })
    await first.all
    const used = await meter.of(async () => {
      await last.all
      await untilRecorded(queue)
    })
    await queue.close?.()
    return { jobs: size.jobs, ...used }
  },

  /** The first jobs of a long queue, and no more. */
  async head({ adapter, place, size, meter }) {
    const queue = await adapter.open(place)
    const used = await meter.of(async () => {
      const handled = counter(size.jobs)
      await queue.work(handled.handler)
      await handled.all
    })
    return { jobs: size.jobs, ...used }
  },

  async singles({ adapter, place, size, meter }) {
    const queue = await adapter.open(place)
    await inFlight(WARM_UP_CALLS, size.inFlight, (index) => queue.enqueue(payload(index)))
    const times: number[] = []
    const used = await meter.of(() =>
      inFlight(size.jobs, size.inFlight, async (index) => {
        const from = performance.now()
        await queue.enqueue(payload(index))
        times.push(performance.now() - from)
      }),
    )
    await queue.close?.()
    return { jobs: size.jobs, ...used, ...quantiles(times) }
  },

  /** Callers and a worker in one process, until each job is recorded as finished. */
  async cycle({ adapter, place, size, meter }) {
    const queue = await adapter.open(place)
    const handled = counter(size.jobs)
    await queue.work(handled.handler)
    await delay(SETTLE_MS)
    const used = await meter.of(async () => {
      await inFlight(size.jobs, size.inFlight, async (index) => {
        const submitted = await queue.enqueue(payload(index))
        if (size.results) await (submitted as Submitted).result()
      })
      await handled.all
      if (!size.results) await untilRecorded(queue)
    })
    await queue.close?.()
    return { jobs: size.jobs, ...used }
  },

  /** From the call until its handler starts. Calls come by the clock, however long each takes. */
  async latency({ adapter, place, size, meter }) {
    const queue = await adapter.open(place)
    const times: number[] = []
    const handled = counter(size.jobs + WARM_UP_JOBS)
    await queue.work(async (data) => {
      if (data.index >= 0) times.push(performance.now() - data.submittedAtMs)
      await handled.handler()
    })
    await delay(SETTLE_MS)
    for (let i = 0; i < WARM_UP_JOBS; i++) {
      await queue.enqueue(payload(-1, performance.now()))
      await delay(1_000 / PER_SECOND)
    }
    await delay(SETTLE_MS)
    const used = await meter.of(async () => {
      await enqueueByTheClock(queue, size.jobs)
      await handled.all
    })
    await queue.close?.()
    return { jobs: size.jobs, ...used, wallMs: undefined, ...quantiles(times) }
  },

  /** What the process keeps for a job that waits, once everything else is collected. */
  async memory({ adapter, place, size }) {
    const queue = await adapter.open(place)
    const held = async (jobs: number): Promise<number> => {
      for (let left = jobs; left > 0; left -= MANY) {
        const payloads = Array.from({ length: Math.min(MANY, left) }, (_, i) => payload(i))
        await enqueueAll(adapter, queue, payloads, size.inFlight)
      }
      return heldBytes()
    }
    // What is kept once, such as compiled code and buffers, is there AFTER as many.
    const once = await held(size.jobs)
    const heapPerJob = ((await held(size.jobs)) - once) / size.jobs
    const peakMiB = process.resourceUsage().maxRSS / 1_024
    await queue.close?.()
    return { jobs: size.jobs, heapPerJob, peakMiB }
  },

  async enqueueOne({ adapter, place }) {
    const queue = await adapter.open(place)
    await queue.enqueue(payload(0))
    await delay(SETTLE_MS)
    await queue.close?.()
    return {}
  },

  /** Says when its job starts, and then never ends by itself: the parent kills it. */
  async sleeper({ adapter, place }) {
    const queue = await adapter.open(place)
    const forever = new Promise<never>(() => undefined)
    await queue.work(async () => {
      process.stdout.write('STARTED\n')
      await forever
    })
    // A timer keeps the process, which would end if nothing but the promise were left.
    setInterval(() => undefined, SETTLE_MS)
    return forever
  },
} satisfies Record<string, Step>

export type StepName = keyof typeof STEPS

async function enqueueAll(
  { bulk }: Adapter,
  queue: Queue,
  payloads: readonly Payload[],
  singly: number,
): Promise<void> {
  const many = queue.enqueueMany?.bind(queue)
  if (many === undefined || bulk === undefined) {
    await inFlight(payloads.length, singly, (i) => queue.enqueue(payloads[i] as Payload))
    return
  }
  const calls = Math.ceil(payloads.length / bulk.size)
  await inFlight(calls, bulk.inFlight, (i) =>
    many(payloads.slice(i * bulk.size, (i + 1) * bulk.size)),
  )
}

async function enqueueByTheClock(queue: Queue, jobs: number): Promise<void> {
  const begin = performance.now()
  const calls: Promise<unknown>[] = []
  for (let i = 0; i < jobs; i++) {
    const waitMs = begin + (i * 1_000) / PER_SECOND - performance.now()
    if (waitMs > 0) await delay(waitMs)
    calls.push(queue.enqueue(payload(i, performance.now())))
  }
  await Promise.all(calls)
}

async function drained(queue: Queue, jobs: number): Promise<void> {
  const handled = counter(jobs)
  await queue.work(handled.handler)
  await handled.all
  await untilRecorded(queue)
}

/** Counting costs the server time, so it is rare while much is open. */
async function untilRecorded(queue: Queue): Promise<void> {
  for (let open = await queue.remaining(); open > 0; open = await queue.remaining()) {
    await delay(open > MANY ? FOR_MS_MANY : FOR_MS_FEW)
  }
}

function counter(target: number): { all: Promise<void>; handler: () => Promise<void> } {
  let handled = 0
  let done: () => void
  const all = new Promise<void>((resolve) => {
    done = resolve
  })
  const handler = async (): Promise<void> => {
    handled += 1
    if (handled === target) done()
  }
  return { all, handler }
}

function quantiles(times: readonly number[]): { p50Ms: number; p99Ms: number } {
  const { p50, p99 } = spread(times)
  return { p50Ms: p50, p99Ms: p99 }
}

/** The least of some looks: a large buffer that is in use for a moment must not count. */
async function heldBytes(): Promise<number> {
  let least = Infinity
  for (let look = 0; look < LOOKS; look++) {
    await delay(SETTLE_MS)
    globalThis.gc?.()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    least = Math.min(least, heapUsed + arrayBuffers)
  }
  return least
}
