/**
 * Two builds of Pawl by turns: npm run bench -- compare <commit> [<commit>]
 *
 * Each step runs in a process of its own. A round has every step of both, one right after the
 * other, and the next round begins with the other build.
 */
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Build } from './compare/build.ts'
import { buildCommit, buildFiles } from './compare/build.ts'
import type { Compared } from './compare/figures.ts'
import { comparisonTable } from './compare/figures.ts'
import { Scratch } from './log/scratch.ts'
import { BadOption, readArguments } from './options.ts'
import type { Places } from './workload/places.ts'
import { inFiles, onPostgres } from './workload/places.ts'
import { BenchPostgres } from './workload/postgres.ts'
import { PAWL_ADAPTER, runWorkload } from './workload/run-workload.ts'
import type { StepReport } from './workload/steps.ts'

type Say = (line: string) => void

export const STORES = ['directory', 'sqlite', 'postgres'] as const
type StoreName = (typeof STORES)[number]

/** On a database. The latency has 100 a second. */
const JOBS = {
  startup: 1_000,
  bulk: 20_000,
  drain: 20_000,
  singles: 10_000,
  cycle: 6_000,
  latency: 500,
  memory: 20_000,
}
export type Workload = keyof typeof JOBS
const WORKLOADS = Object.keys(JOBS) as readonly Workload[]

/** A directory is so much quicker that it would be done before the code is compiled. */
const TIMES_IN_DIRECTORY = 5

/** So that the server's own upkeep does not fall into one step and not into another. */
const ROOMY = {
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  min_wal_size: '4GB',
  checkpoint_timeout: '30min',
}

const ROUNDS = 5
const QUICK_SHARE = 0.1

const OPTIONS = {
  stores: { type: 'string', multiple: true },
  workloads: { type: 'string', multiple: true },
  rounds: { type: 'string' },
  quick: { type: 'boolean' },
  json: { type: 'string' },
  folder: { type: 'string' },
} as const

const HELP = [
  '',
  'usage: npm run bench -- compare <commit> [<commit>] [options]',
  '',
  'A is the first commit, B the second, or the files as they are now if there is none.',
  '',
  `  --stores <names>     of ${STORES.join(', ')} (default: all)`,
  `  --workloads <names>  of ${WORKLOADS.join(', ')}`,
  '                       (default: all)',
  `  --rounds <count>     each with both builds (default ${ROUNDS})`,
  '  --quick              a tenth of the jobs: to see that it runs, not to judge',
  '  --json <file>        writes what every step said, too',
  '  --folder <path>      where to write (default: the folder of the system for temporary files)',
  '',
  'Names are separated by commas. bench/README.md says what each figure counts.',
]

export async function* benchCompare(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const options = readArguments(args, OPTIONS, 2)
  if (options.help) {
    yield* HELP
    return
  }
  const stores = options.among('stores', STORES)
  const workloads = options.among('workloads', WORKLOADS)
  const rounds = options.count('rounds', ROUNDS)
  const [first, second] = options.positionals
  if (first === undefined) {
    throw new BadOption('Which commit? Write: npm run bench -- compare <commit> (--help for more)')
  }
  const scratch = new Scratch(options.text('folder') ?? tmpdir())
  try {
    say('building both …')
    const root = process.cwd()
    const a = buildCommit(root, first, scratch.fresh('a'))
    const b =
      second === undefined
        ? buildFiles(root, scratch.fresh('b'))
        : buildCommit(root, second, scratch.fresh('b'))
    yield `A: ${a.name}, B: ${b.name}; rounds: ${rounds}, by turns`
    if (a.dependencies !== b.dependencies) {
      yield 'They want different packages, and both run on those that are installed here.'
    }
    const comparison = new Comparison(a, b, options.has('quick') ? QUICK_SHARE : 1, say)
    for (const store of stores) await comparison.run(store, workloads, rounds, scratch)
    yield* comparison.lines()
    const json = options.text('json')
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(comparison, null, 1)}\n`)
  } finally {
    scratch.close()
  }
}

/** One store, in every round, in every workload, with both builds. */
export class Comparison {
  readonly #a: Build
  readonly #b: Build
  readonly #share: number
  readonly #say: Say
  readonly #cells: Compared[] = []
  readonly #leftOut: string[] = []

  constructor(a: Build, b: Build, share: number, say: Say) {
    this.#a = a
    this.#b = b
    this.#share = share
    this.#say = say
  }

  async run(
    store: StoreName,
    workloads: readonly Workload[],
    rounds: number,
    scratch: Scratch,
  ): Promise<void> {
    const opened = await this.#tried(store, () => openPlaces(store, scratch))
    if (opened === null) return
    try {
      const cells = workloads.map((workload) => new CellInProgress(store, workload))
      for (let round = 0; round < rounds; round++) {
        for (const cell of cells.filter(({ isBroken }) => !isBroken)) {
          const what = `${store}, ${cell.workload}`
          this.#say(`round ${round + 1} of ${rounds}: ${what} …`)
          cell.add(await this.#tried(what, () => this.#pair(opened.places, cell, round)))
        }
      }
      this.#cells.push(...cells.filter(({ a }) => a.length > 0))
    } finally {
      await opened.close()
    }
  }

  get cells(): readonly Compared[] {
    return this.#cells
  }

  /** Parts that could not run, each with why. */
  get leftOut(): readonly string[] {
    return this.#leftOut
  }

  lines(): string[] {
    return ['', ...comparisonTable(this.#cells), ...this.#leftOut]
  }

  toJSON(): unknown {
    const names = { a: this.#a.name, b: this.#b.name }
    return { ...names, cells: this.#cells, leftOut: this.#leftOut }
  }

  /** The build that begins is the other one in the next round. */
  async #pair(places: Places, { store, workload }: CellInProgress, round: number): Promise<Pair> {
    const isMore = store === 'directory' && workload !== 'latency' && workload !== 'startup'
    const jobs = Math.ceil(JOBS[workload] * this.#share * (isMore ? TIMES_IN_DIRECTORY : 1))
    const reportOf = ({ name, entry }: Build): Promise<StepReport> => {
      const subject = { name, entry, adapter: PAWL_ADAPTER, variant: store, places }
      return runWorkload(subject, workload, { jobs, results: true, counts: workload !== 'memory' })
    }
    if (round % 2 === 0) return { a: await reportOf(this.#a), b: await reportOf(this.#b) }
    const b = await reportOf(this.#b)
    return { a: await reportOf(this.#a), b }
  }

  /** A part that cannot run says why, and the others go on. */
  async #tried<T>(what: string, work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      const line = `left out: ${what}: ${(error as Error).message}`
      this.#say(line)
      this.#leftOut.push(line)
      return null
    }
  }
}

interface Pair {
  readonly a: StepReport
  readonly b: StepReport
}

class CellInProgress implements Compared {
  readonly store: StoreName
  readonly workload: Workload
  readonly a: StepReport[] = []
  readonly b: StepReport[] = []
  isBroken = false

  constructor(store: StoreName, workload: Workload) {
    this.store = store
    this.workload = workload
  }

  /** Null: it could not run, and is not tried again. */
  add(pair: Pair | null): void {
    this.isBroken = pair === null
    if (pair === null) return
    this.a.push(pair.a)
    this.b.push(pair.b)
  }
}

async function openPlaces(
  store: StoreName,
  scratch: Scratch,
): Promise<{ places: Places; close: () => Promise<void> }> {
  if (store !== 'postgres') return { places: inFiles(scratch), close: async () => undefined }
  const server = await BenchPostgres.start(ROOMY)
  return { places: onPostgres(server), close: () => server.stop() }
}
