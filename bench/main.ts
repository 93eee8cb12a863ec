/**
 * Runs a benchmark: npm run bench -- <name> [options]
 *
 * Results go to standard output, progress to standard error.
 */
import { cpus } from 'node:os'
import { benchCompare } from './compare.ts'
import { benchDashboard } from './dashboard.ts'
import { benchEngine } from './engine.ts'
import { benchGrowth } from './growth.ts'
import { benchHttp } from './http.ts'
import { benchKernel } from './kernel.ts'
import { benchLimits } from './limits.ts'
import { benchLog } from './log.ts'
import { benchMemoryPeaks } from './memory.ts'
import { AimMissed, BadOption } from './options.ts'
import { benchPeers } from './peers.ts'
import { benchPipelines } from './pipelines.ts'
import { benchQuick } from './quick.ts'
import { benchSql } from './sql.ts'
import { benchWaiting } from './waiting.ts'

/** The lines of the result, as soon as they are known. */
type Bench = (
  say: (line: string) => void,
  args: readonly string[],
) => Iterable<string> | AsyncIterable<string>

const BENCHES: Readonly<Record<string, { readonly what: string; readonly run: Bench }>> = {
  kernel: {
    what: 'full lives in memory at 1,000 to 1,000,000 waiting tasks, and each decision alone',
    run: benchKernel,
  },
  limits: {
    what: 'acquiring with ten thousand keys and groups, and with all but one blocked',
    run: benchLimits,
  },
  log: {
    what: 'full durable lives in a directory beside the raw disk and SQLite (--help for more)',
    run: benchLog,
  },
  engine: {
    what: 'the engine in one process: latency, full cycles, memory (--help for more)',
    run: benchEngine,
  },
  dashboard: {
    what: 'what the page asks among 1,000,000 jobs, and what ten open pages cost (--help for more)',
    run: benchDashboard,
  },
  http: {
    what: 'workers in another process over HTTP, beside BullMQ where there is a Redis (--help for more)',
    run: benchHttp,
  },
  pipelines: {
    what: 'segments of pipelines: one of 10,000, a thousand of 10, and how the cost grows',
    run: benchPipelines,
  },
  growth: {
    what: 'what a unit costs among few and among many, on each store (--help for more)',
    run: benchGrowth,
  },
  memory: {
    what: 'memory of a process that submits large inputs at once, or very many jobs (--help for more)',
    run: benchMemoryPeaks,
  },
  sql: {
    what: 'the stores on SQLite and PostgreSQL, beside the least SQL of any queue (--help for more)',
    run: benchSql,
  },
  waiting: {
    what: 'suspended jobs: what they take in memory, and many that are due at once (--help for more)',
    run: benchWaiting,
  },
  compare: {
    what: 'two builds of Pawl by turns: time, cores, round trips, bytes and syncs (--help for more)',
    run: benchCompare,
  },
  quick: {
    what: 'whether anything costs a fifth more than at the commit in bench/baseline.txt',
    run: benchQuick,
  },
  peers: {
    what: 'Pawl beside other job queues, by turns (--help for more)',
    run: benchPeers,
  },
}

function help(): string {
  const names = Object.entries(BENCHES).map(([name, { what }]) => `  ${name.padEnd(10)} ${what}`)
  return ['usage: npm run bench -- <name> [options]', '', 'benches:', ...names].join('\n')
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h') {
    console.log(help())
    return name === undefined ? 2 : 0
  }
  const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
  if (bench === undefined) {
    console.error(`There is no bench '${name}'; there are: ${Object.keys(BENCHES).join(', ')}.`)
    return 2
  }
  const cores = cpus()
  console.log(`node ${process.version}, ${cores.length} cores (${cores[0]?.model ?? 'unknown'})`)
  try {
    for await (const line of bench.run((said) => console.error(said), rest)) console.log(line)
  } catch (error) {
    if (!(error instanceof BadOption) && !(error instanceof AimMissed)) throw error
    console.error(error.message)
    return error instanceof BadOption ? 2 : 1
  }
  return 0
}

process.exitCode = await main(process.argv.slice(2))
