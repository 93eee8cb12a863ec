/**
 * Part `presence`: what it costs that sixteen processes say what they do and look after each other. Two sets of
 * sixteen, with presence and without, each on a store of its own, work by turns: the set whose turn it is not is
 * stopped, so that it uses no core and asks the server for nothing.
 *
 * A turn's writes depend on how many jobs came together in a batch, which on a busy machine varies by a quarter. What
 * presence writes does not: it writes for a second, not for a job. So its writes are counted in processes that hold
 * jobs and do nothing else, and set against those of the turns without it.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Pawl } from '../../src/index.ts'
import { open } from '../../src/index.ts'
import { atMost } from '../log/aim.ts'
import { writtenBy } from '../process-time.ts'
import { table, whole } from '../table.ts'
import type { Database } from './databases.ts'
import { held, noop } from './presence-process.ts'
import type { ToPresenceProcess } from './presence-process.ts'

const PROCESSES = 16
const TURNS = 5
/** A turn is for this share of --jobs. */
const JOBS_SHARE = 0.2
/** The first turn, in which code is compiled, is not counted. */
const WARM_TURNS = 1
const LONGEST_TURN = '2m'
/** A process that was stopped first does what it would have done meanwhile. */
const SETTLE_MS = 1_000
/** Four times what a process says if nothing is new, and ten times its turn to look for dead ones. */
const HOLDING_MS = 40_000
/** Held by each process at that time: fewer than it has places, so that none of them looks for another place. */
const HELD_JOBS = 8
/** Until each of them is begun. */
const HELD_MS = 10_000

/** For a job. */
interface Cost {
  /** Microseconds on a core, of the processes and the database. */
  readonly cpuUs: number
  /** Calls of the processes that write, to files or to the server. */
  readonly writes: number
  /** Bytes in these calls. */
  readonly written: number
  /** Milliseconds of the turn. */
  readonly wallMs: number
}

/** With presence at most so many times as much as without. */
const AIM = 1.02

export async function benchPresence(
  database: Database,
  say: (line: string) => void,
  jobs: number,
): Promise<string[]> {
  const jobsOfTurn = Math.ceil(jobs * JOBS_SHARE)
  const sets: ProcessSet[] = []
  let holding: readonly Cost[] = []
  const costs: { readonly on: Cost[]; readonly off: Cost[] } = { on: [], off: [] }
  try {
    for (const name of ['off', 'on'] as const) {
      say(`${database.name}: ${PROCESSES} processes, presence ${name}, start …`)
      sets.push(await ProcessSet.start(database, name))
    }
    for (let turn = 0; turn < WARM_TURNS + TURNS; turn++) {
      say(`${database.name}: turn ${turn + 1} of ${WARM_TURNS + TURNS} …`)
      for (const set of turn % 2 === 0 ? sets : sets.toReversed()) {
        const cost = await set.costOf(jobsOfTurn)
        if (turn >= WARM_TURNS) costs[set.presence].push(cost)
      }
    }
    say(`${database.name}: ${HOLDING_MS / 1_000} s with jobs that never end …`)
    holding = await costsOfHolding(sets)
  } finally {
    for (const set of sets) await set.end()
  }
  const measures = ['cpuUs', 'writes', 'written', 'wallMs'] as const
  const medians = (name: 'on' | 'off'): number[] =>
    measures.map((measure) => median(costs[name].map((cost) => cost[measure])))
  const ratios = measures.map((measure) =>
    costs.on.map((cost, i) => cost[measure] / (costs.off[i] as Cost)[measure]),
  )
  const [cpu = []] = ratios
  const [off, on] = holding as [Cost, Cost]
  const ownWrites = (on.writes - off.writes) / HOLDING_MS
  const shares = costs.off.map((cost) => (ownWrites * cost.wallMs) / (cost.writes * jobsOfTurn))
  return [
    '',
    `${database.name}: ${PROCESSES} processes with and without presence, ${whole(jobsOfTurn)} jobs a turn, medians of ${TURNS} turns`,
    ...table(
      ['presence', 'µs on a core a job', 'writes a job', 'bytes written a job', 'ms a turn'],
      [
        ['on', ...medians('on').map(shown)],
        ['off', ...medians('off').map(shown)],
        ['on/off', ...ratios.map((of) => median(of).toFixed(3))],
        ['each turn', ...ratios.map((of) => `${least(of)} … ${most(of)}`)],
      ],
    ),
    `Jobs held, and nothing else done: ${((1_000 * ownWrites) / PROCESSES).toFixed(2)} writes a second a process by presence,`,
    `and ${shown((on.cpuUs - off.cpuUs) / (HOLDING_MS / 1_000) / PROCESSES)} µs on a core of the process.`,
    'Noise: a ratio is of two turns that follow each other, and the median counts. Writes of a turn vary with its',
    'batches, so those of presence are counted with jobs held, for as long as a turn without it takes.',
    atMost('writes with presence, of those without', 1 + median(shares), AIM),
    atMost('µs on a core a job with presence, of those without', median(cpu), AIM),
  ]
}

/** In the order of the sets, at the same time: of all processes together, not for a job. */
async function costsOfHolding(sets: readonly ProcessSet[]): Promise<Cost[]> {
  for (const set of sets) await set.hold()
  const before = await Promise.all(sets.map((set) => set.used()))
  await pause(HOLDING_MS)
  const after = await Promise.all(sets.map((set) => set.used()))
  return after.map((cost, i) => {
    const from = before[i] as typeof cost
    return {
      cpuUs: cost.cpuUs - from.cpuUs,
      writes: cost.writes - from.writes,
      written: cost.written - from.written,
      wallMs: HOLDING_MS,
    }
  })
}

function least(values: readonly number[]): string {
  return Math.min(...values).toFixed(2)
}

function most(values: readonly number[]): string {
  return Math.max(...values).toFixed(2)
}

function shown(value: number): string {
  return value < 100 ? value.toFixed(2) : whole(value)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

class ProcessSet {
  readonly presence: 'on' | 'off'
  readonly #database: Database
  readonly #pawl: Pawl
  readonly #processes: readonly ChildProcess[]

  private constructor(
    presence: 'on' | 'off',
    database: Database,
    pawl: Pawl,
    processes: readonly ChildProcess[],
  ) {
    this.presence = presence
    this.#database = database
    this.#pawl = pawl
    this.#processes = processes
  }

  static async start(database: Database, presence: 'on' | 'off'): Promise<ProcessSet> {
    const { location, schema } = database.location()
    const options = {
      ...(schema === undefined ? {} : { schema }),
      presence: presence === 'on',
    }
    const pawl = await open(location, options)
    const processes: ChildProcess[] = []
    // One by one: sixteen that start at once on two cores take longer, each.
    for (let i = 0; i < PROCESSES; i++) processes.push(await started({ location, options }))
    const set = new ProcessSet(presence, database, pawl, processes)
    set.#signal('SIGSTOP')
    return set
  }

  /** While the other set is stopped. */
  async costOf(jobs: number): Promise<Cost> {
    this.#signal('SIGCONT')
    await pause(SETTLE_MS)
    const beganAt = performance.now()
    const before = await this.used()
    const inputs = Array.from({ length: jobs }, (_, input) => ({ input }))
    const handles = await this.#pawl.submitMany(noop, inputs)
    await Promise.all(handles.map((handle) => handle.result({ timeout: LONGEST_TURN })))
    const after = await this.used()
    this.#signal('SIGSTOP')
    return {
      cpuUs: (after.cpuUs - before.cpuUs) / jobs,
      written: (after.written - before.written) / jobs,
      writes: (after.writes - before.writes) / jobs,
      wallMs: performance.now() - beganAt,
    }
  }

  /** Goes on, with jobs that never end. */
  async hold(): Promise<void> {
    this.#signal('SIGCONT')
    const count = PROCESSES * HELD_JOBS
    await this.#pawl.submitMany(
      held,
      Array.from({ length: count }, (_, input) => ({ input })),
    )
    await pause(HELD_MS)
  }

  async end(): Promise<void> {
    for (const child of this.#processes) child.kill('SIGKILL')
    await this.#pawl.close()
  }

  async used(): Promise<Omit<Cost, 'wallMs'>> {
    const cpu = await Promise.all(this.#processes.map(cpuUsOf))
    const io = this.#processes.map(({ pid }) => writtenBy(pid as number))
    return {
      cpuUs: cpu.reduce((sum, one) => sum + one, this.#database.cpuUs()),
      written: io.reduce((sum, one) => sum + one.bytes, 0),
      writes: io.reduce((sum, one) => sum + one.calls, 0),
    }
  }

  #signal(signal: NodeJS.Signals): void {
    for (const child of this.#processes) child.kill(signal)
  }
}

async function started(to: ToPresenceProcess): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('presence-process.js', import.meta.url)), ['work'])
  child.send(to)
  await answerOf(child)
  return child
}

/** Since it was ready. */
async function cpuUsOf(child: ChildProcess): Promise<number> {
  child.send('cost')
  return (await answerOf(child)) as number
}

/** What it says next; a process that ends instead ends the bench. */
async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController()
  try {
    return await Promise.race([
      once(child, 'message', { signal: ended.signal }).then(([answer]) => answer as unknown),
      once(child, 'exit', { signal: ended.signal }).then(([code, signal]) => {
        throw new Error(`A process of the bench ended: ${String(signal ?? code)}`)
      }),
    ])
  } finally {
    ended.abort()
  }
}
