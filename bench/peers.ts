/**
 * Pawl beside other job queues: npm run bench -- peers
 *
 * All are used by their public API, with about 200 bytes a job and a handler that does nothing. Each
 * step runs in a process of its own, and each round has all queues, so that a machine whose pace
 * changes is fair to all of them.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Scratch } from './log/scratch.ts'
import { readArguments } from './options.ts'
import { barChart } from './peers/chart.ts'
import type { Measured } from './peers/figures.ts'
import { backlogTable, barsOf, cpuTable, figuresTable, ratiosTable } from './peers/figures.ts'
import { LONGEST_MS, secondsToRecover } from './peers/recovery.ts'
import { isPawl, QUEUE_NAMES, QUEUES, Subjects } from './peers/subjects.ts'
import type { Subject } from './workload/run-workload.ts'
import { runWorkload } from './workload/run-workload.ts'
import type { StepReport } from './workload/steps.ts'

type Say = (line: string) => void

/** The latency has 100 a second. `of20k` and `of200k`: the first of so many that wait. */
const JOBS = {
  startup: 1_000,
  bulk: 20_000,
  drain: 20_000,
  'bulk-warm': 20_000,
  'drain-warm': 20_000,
  singles: 5_000,
  cycle: 10_000,
  latency: 500,
  of20k: 5_000,
  of200k: 5_000,
}
type Timed = keyof typeof JOBS
const TIMED = Object.keys(JOBS) as readonly Timed[]
const WORKLOADS = [...TIMED, 'backlog', 'recovery'] as const
const USUAL: readonly (typeof WORKLOADS)[number][] = [
  'bulk',
  'drain',
  'singles',
  'cycle',
  'latency',
]

const BACKLOGS: readonly Timed[] = ['of20k', 'of200k']

function isOfBacklog(workload: Timed): boolean {
  return BACKLOGS.includes(workload)
}

const ROUNDS = 3
const QUICK_SHARE = 0.1

const OPTIONS = {
  peers: { type: 'string', multiple: true },
  workloads: { type: 'string', multiple: true },
  rounds: { type: 'string' },
  quick: { type: 'boolean' },
  json: { type: 'string' },
  charts: { type: 'string' },
  folder: { type: 'string' },
} as const

const HELP = [
  '',
  'usage: npm run bench -- peers [options]',
  '',
  '  --peers <names>      which queues, Pawl among them (default: all):',
  ...QUEUE_NAMES.map((name) => `                         ${name}`),
  `  --workloads <names>  of ${WORKLOADS.join(', ')};`,
  '                       backlog is of20k and of200k, and their ratio',
  `                       (default: ${USUAL.join(', ')})`,
  `  --rounds <count>     each with all queues (default ${ROUNDS})`,
  '  --quick              a tenth of the jobs: to see that it runs, not to judge',
  '  --json <file>        writes what every step said, too',
  '  --charts <folder>    draws a chart for each workload there, as SVG',
  '  --folder <path>      where to write (default: the folder of the system for temporary files)',
  '',
  'Names are separated by commas. The peers are installed into bench/peers/node_modules on first',
  'use. What cannot run on this machine says why, and is left out.',
]

const RATIOS_ARE = [
  'How many times as quick Pawl is, as the median of the ratios of each round (lowest–highest).',
  'Above 1 Pawl is quicker; of the latency, p50 is compared.',
]

/** `onMeasured`: given all that was measured. */
export async function* benchPeers(
  say: Say,
  args: readonly string[],
  onMeasured: (all: readonly Measured[]) => void = () => undefined,
): AsyncGenerator<string> {
  const options = readArguments(args, OPTIONS)
  if (options.help) {
    yield* HELP
    return
  }
  const names = options.among('peers', QUEUE_NAMES)
  const workloads = options.among('workloads', WORKLOADS, USUAL)
  const rounds = options.count('rounds', ROUNDS)
  const scratch = new Scratch(options.text('folder') ?? tmpdir())
  const subjects = new Subjects(process.cwd(), scratch)
  const run = new PeersRun(options.has('quick') ? QUICK_SHARE : 1, say)
  try {
    subjects.install(names, say)
    for (const name of names) await run.add(name, () => subjects.open(name))
    yield `The queues run on Node ${subjects.nodeMajor}, those that need Bun on Bun.`
    const timed = TIMED.filter((workload) => {
      return (
        workloads.includes(workload) || (isOfBacklog(workload) && workloads.includes('backlog'))
      )
    })
    for (let round = 0; round < rounds && timed.length > 0; round++) {
      say(`round ${round + 1} of ${rounds}`)
      for (const workload of timed) await run.round(workload, round)
    }
    if (timed.length > 0) yield* run.tables(timed, rounds)
    if (workloads.includes('recovery')) yield* await run.recovery()
    yield* run.leftOut
    onMeasured(run.measured)
    const charts = options.text('charts')
    if (charts !== undefined) drawCharts(charts, run.measured, timed)
    const json = options.text('json')
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(run.measured, null, 1)}\n`)
  } finally {
    await subjects.close()
    scratch.close()
  }
}

function backlogLines(all: readonly Measured[]): string[] {
  const what = 'How quick the first 5,000 of 200,000 are, against the first 5,000 of 20,000:'
  return ['', what, '', ...backlogTable(all)]
}

const TITLES: Readonly<Record<string, string>> = {
  startup: 'Startup: import, open, submit 1,000 jobs and work them off; jobs a second',
  bulk: 'Bulk submit, jobs a second',
  drain: 'Drain: a worker starts and works off all that waits, jobs a second',
  singles: 'Single submits, 64 under way, jobs a second',
  cycle: 'Full cycles: submitted and worked off in one process, jobs a second',
  latency: 'From submit to the start of the handler at 100 jobs a second, p99',
  'bulk-warm': 'Bulk submit by a process that has submitted 40,000 before, jobs a second',
  'drain-warm': 'The last 20,000 of 60,000 that wait, by one worker, jobs a second',
  of20k: 'The first 5,000 of 20,000 waiting jobs, jobs a second',
  of200k: 'The first 5,000 of 200,000 waiting jobs, jobs a second',
}

function drawCharts(folder: string, all: readonly Measured[], workloads: readonly string[]): void {
  mkdirSync(folder, { recursive: true })
  for (const workload of workloads) {
    const chart = barChart(TITLES[workload] ?? workload, barsOf(all, workload))
    writeFileSync(join(folder, `${workload}.svg`), chart)
  }
}

interface InProgress extends Measured {
  readonly subject: Subject
  readonly reports: Record<string, (StepReport | undefined)[]>
}

class PeersRun {
  readonly leftOut: string[] = []
  readonly #share: number
  readonly #say: Say
  readonly #all: InProgress[] = []

  constructor(share: number, say: Say) {
    this.#share = share
    this.#say = say
  }

  get measured(): readonly Measured[] {
    return this.#all.map(({ subject: _subject, ...measured }) => measured)
  }

  async add(name: string, open: () => Promise<Subject>): Promise<void> {
    const subject = await this.#tried(name, open)
    if (subject === undefined) return
    const isSynced = QUEUES[name]?.isSynced === true
    this.#all.push({ name, isPawl: isPawl(name), isSynced, subject, reports: {} })
  }

  /** Another queue begins in each round. What failed once is not tried again. */
  async round(workload: Timed, round: number): Promise<void> {
    const from = round % Math.max(1, this.#all.length)
    const size = { jobs: Math.ceil(JOBS[workload] * this.#share), results: false, counts: false }
    for (const { name, subject, reports } of [
      ...this.#all.slice(from),
      ...this.#all.slice(0, from),
    ]) {
      const given = (reports[workload] ??= [])
      if (given.length < round || given.includes(undefined)) continue
      this.#say(`  ${workload}: ${name} …`)
      const report = await this.#tried(`${name}, ${workload}`, () =>
        runWorkload(subject, workload, size),
      )
      given.push(report)
    }
  }

  tables(workloads: readonly string[], rounds: number): string[] {
    const all = this.measured
    const hasOthers = all.some((one) => !one.isPawl)
    const ratios = hasOthers ? all.filter((one) => one.isPawl) : []
    return [
      '',
      `Medians (lowest–highest), rounds: ${rounds}. Synced: a job is on the disk when it is answered.`,
      '',
      ...figuresTable(all, workloads),
      '',
      ...(ratios.length === 0 ? [] : RATIOS_ARE),
      ...ratios.flatMap((pawl) => [''].concat(ratiosTable(pawl, all, workloads))),
      ...(ratios.length === 0 ? [] : ['']),
      'Time on a core, of the process and its server.',
      '',
      ...cpuTable(all, workloads),
      ...(BACKLOGS.every((name) => workloads.includes(name)) ? backlogLines(all) : []),
    ]
  }

  async recovery(): Promise<string[]> {
    this.#say(`recovery: all queues side by side, up to ${LONGEST_MS / 1e3} s …`)
    const lines = await Promise.all(
      this.#all.map(async ({ name, subject }) => {
        const seconds = await this.#tried(`${name}, recovery`, () => secondsToRecover(subject))
        if (seconds === undefined) return []
        const text = seconds === null ? `more than ${LONGEST_MS / 1e3}` : seconds.toFixed(1)
        return [`  ${name.padEnd(20)} ${text}`]
      }),
    )
    return ['', 'Seconds until a job whose worker was killed is started again:', ...lines.flat()]
  }

  async #tried<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      const line = `left out: ${what}: ${(error as Error).message}`
      this.#say(line)
      this.leftOut.push(line)
      return undefined
    }
  }
}
