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
import type { StoreName, StoreUnderTest } from './compare/stores.ts'
import { openStore, STORE_NAMES } from './compare/stores.ts'
import type { WorkloadName } from './compare/workloads.ts'
import { runWorkload, WORKLOAD_NAMES } from './compare/workloads.ts'
import { Scratch } from './log/scratch.ts'
import { BadOption, readArguments } from './options.ts'
import type { StepReport } from './workload/steps.ts'

type Say = (line: string) => void

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
  `  --stores <names>     of ${STORE_NAMES.join(', ')} (default: all)`,
  `  --workloads <names>  of ${WORKLOAD_NAMES.join(', ')}`,
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
  const stores = options.among('stores', STORE_NAMES)
  const workloads = options.among('workloads', WORKLOAD_NAMES)
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
    const comparison = new Comparison({ a, b }, options.has('quick') ? QUICK_SHARE : 1, say)
    for (const store of stores) await comparison.run(store, workloads, rounds, scratch)
    yield* comparison.lines()
    const json = options.text('json')
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(comparison, null, 1)}\n`)
  } finally {
    scratch.close()
  }
}

interface Builds {
  readonly a: Build
  readonly b: Build
}

class Comparison {
  readonly #builds: Builds
  readonly #share: number
  readonly #say: Say
  readonly #cells: Compared[] = []
  readonly #leftOut: string[] = []

  constructor(builds: Builds, share: number, say: Say) {
    this.#builds = builds
    this.#share = share
    this.#say = say
  }

  async run(
    name: StoreName,
    workloads: readonly WorkloadName[],
    rounds: number,
    scratch: Scratch,
  ): Promise<void> {
    const store = await this.#tried(name, () => openStore(name, scratch))
    if (store === null) return
    try {
      const cells = workloads.map((workload) => new CellInProgress(workload))
      for (let round = 0; round < rounds; round++) {
        for (const cell of cells.filter(({ isBroken }) => !isBroken)) {
          this.#say(`round ${round + 1} of ${rounds}: ${name}, ${cell.workload} …`)
          const pair = await this.#tried(`${name}, ${cell.workload}`, () =>
            this.#pair(store, cell.workload, round % 2 === 1),
          )
          cell.add(pair)
        }
      }
      for (const { workload, a, b } of cells) {
        if (a.length > 0) this.#cells.push({ store: name, workload, a, b })
      }
    } finally {
      await store.close()
    }
  }

  lines(): string[] {
    return ['', ...comparisonTable(this.#cells), ...this.#leftOut]
  }

  toJSON(): unknown {
    const { a, b } = this.#builds
    return { a: a.name, b: b.name, cells: this.#cells, leftOut: this.#leftOut }
  }

  async #pair(
    store: StoreUnderTest,
    workload: WorkloadName,
    isTurned: boolean,
  ): Promise<{ a: StepReport; b: StepReport }> {
    const of = (build: Build): Promise<StepReport> =>
      runWorkload(build, store, workload, this.#share)
    const { a, b } = this.#builds
    if (!isTurned) return { a: await of(a), b: await of(b) }
    const reportOfB = await of(b)
    return { a: await of(a), b: reportOfB }
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

class CellInProgress {
  readonly workload: WorkloadName
  readonly a: StepReport[] = []
  readonly b: StepReport[] = []
  isBroken = false

  constructor(workload: WorkloadName) {
    this.workload = workload
  }

  add(pair: { a: StepReport; b: StepReport } | null): void {
    if (pair === null) {
      this.isBroken = true
      return
    }
    this.a.push(pair.a)
    this.b.push(pair.b)
  }
}
