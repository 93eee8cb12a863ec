/**
 * The program of the engine that is looked at: a store, the server with the dashboard, and the work that goes on meanwhile,
 * in a process of its own.
 */
import type { Pawl } from '../../src/index.ts'
import { job, open, typed } from '../../src/index.ts'
import type { EngineAccess } from '../../src/engine/engine-access.ts'
import { accessTo } from '../../src/engine/engine-access.ts'
import { FigureHistory } from '../../src/server/figures/figure-history.ts'
import type { BuiltDashboard, ServedDashboard } from '../../test/support/dashboard.ts'
import { builtDashboard } from '../../test/support/dashboard.ts'
import { load, watch, WATCHES } from './mix.ts'
import type { FromMachine, LoadName, MachineOrder, ToMachine } from './order.ts'

const BATCH = 500
/** The worker of a drain always has more to do. */
const LEAST_WAITING = 2_000
const IN_FLIGHT = 64

const small = job('small', { input: typed<number>(), queue: 'small', run: () => ({ ok: true }) })

const { location, schema } = JSON.parse(process.argv[2] ?? '') as MachineOrder
const began = performance.now()
/** By default, what more than a million jobs leave over is forgotten: the jobs of one part would be gone in the next. */
const retention = { count: 1_000_000_000 }
const pawl = await open(location, schema === null ? { retention } : { retention, schema })
say({ is: 'open', ms: performance.now() - began })

let built: BuiltDashboard | null = null
let served: ServedDashboard | null = null

process.on('message', (message) => {
  void obey(message as ToMachine).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})

function say(said: FromMachine): void {
  process.send?.(said)
}

async function obey(order: ToMachine): Promise<void> {
  switch (order.do) {
    case 'load':
      await load(pawl, order.jobs, (line) => say({ is: 'line', line }))
      return say({ is: 'loaded' })
    case 'serve': {
      built = await builtDashboard()
      pawl.work([watch], { concurrency: WATCHES, shutdown: 0, signals: [], name: 'watcher' })
      served = await built.serve(pawl)
      return say({ is: 'served', url: served.url })
    }
    case 'look':
      return measured(() => look(order.count))
    case 'work':
      return measured(() => work(order.load, order.ms))
    case 'rest':
      return measured(() => rest(order.ms))
    case 'close': {
      await served?.close()
      await pawl.close()
      await built?.remove()
      process.disconnect()
    }
  }
}

async function measured(what: () => Promise<number>): Promise<void> {
  const [from, cpu] = [performance.now(), process.cpuUsage()]
  const jobs = await what()
  const { user, system } = process.cpuUsage(cpu)
  say({ is: 'worked', jobs, ms: performance.now() - from, cpuUs: user + system })
}

function work(name: LoadName, ms: number): Promise<number> {
  return name === 'drain' ? drain(pawl, ms) : cycles(pawl, ms)
}

/** Each hears the other processes, which a server that looks twice in a second would not. */
async function look(count: number): Promise<number> {
  const { store, totals, now } = accessTo(pawl) as EngineAccess
  const history = new FigureHistory()
  for (let i = 0; i < count; i++) {
    const queues = await pawl.queues()
    await store.presence?.heard(false)
    const loads = queues.map(({ name, states, segments }) => {
      return { queue: name, waiting: states.QUEUED + segments.ready, oldestMs: 0 }
    })
    history.add({ at: Math.floor(now()) + 10_000 * i, said: await totals(), queues: loads })
  }
  return count
}

async function rest(ms: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, ms))
  return 0
}

/** A worker with the defaults, and a list of jobs that never ends. How many were done. */
async function drain(on: Pawl, ms: number): Promise<number> {
  const until = performance.now() + ms
  const left = new Backlog()
  const counted = {
    ...small,
    run: () => {
      left.noteDone()
      return { ok: true }
    },
  }
  const worker = on.work([counted], { signals: [], name: 'drainer' })
  while (performance.now() < until) {
    await on.submitMany(
      small,
      Array.from({ length: BATCH }, (_, i) => ({ input: i })),
    )
    left.noteSubmitted(BATCH)
    await left.atMost(LEAST_WAITING)
  }
  await left.atMost(0)
  await worker.stop()
  return left.done
}

/** How many were submitted, and not done. */
class Backlog {
  done = 0
  #submitted = 0
  #wanted = Infinity
  #wake: (() => void) | null = null

  noteSubmitted(count: number): void {
    this.#submitted += count
  }

  noteDone(): void {
    this.done += 1
    if (this.#submitted - this.done <= this.#wanted) this.#wake?.()
  }

  async atMost(count: number): Promise<void> {
    this.#wanted = count
    if (this.#submitted - this.done > count) {
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    this.#wake = null
  }
}

/** Callers that each submit a job, wait for its result, and begin again. */
async function cycles(on: Pawl, ms: number): Promise<number> {
  const until = performance.now() + ms
  const worker = on.work([small], { signals: [], concurrency: IN_FLIGHT, name: 'cycler' })
  let done = 0
  const one = async (): Promise<void> => {
    while (performance.now() < until) {
      const handle = await on.submit(small, done)
      await handle.result()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, one))
  await worker.stop()
  return done
}
