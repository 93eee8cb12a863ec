/**
 * Workers and clients in another process, over HTTP, with a directory behind the server: npm run bench -- http
 *
 * The same workloads as `peers`, beside the same engine in one process, and beside BullMQ where there is a Redis.
 */
import { spawnSync } from 'node:child_process'
import { readArguments } from './options.ts'
import { atLeast, atMost } from './log/aim.ts'
import type { Measured } from './peers/figures.ts'
import { benchPeers } from './peers.ts'
import { median } from './ratio.ts'

type Say = (line: string) => void

const PER_SECOND_AIM = 20_000
const P50_AIM_MS = 2
const REDIS = ['bullmq-redis', 'bullmq-redis-synced']
const NAMES = ['pawl-http', 'pawl-directory']
const WORKLOADS = 'bulk,drain,cycle,latency'

const HELP = [
  '',
  'usage: npm run bench -- http [options]',
  '',
  '  --rounds <count>     each with all queues (default 3)',
  '  --quick              a tenth of the jobs: to see that it runs, not to judge',
  '  --folder <path>      where to write (default: the folder of the system for temporary files)',
]
const OPTIONS = {
  rounds: { type: 'string' },
  quick: { type: 'boolean' },
  folder: { type: 'string' },
} as const

export async function* benchHttp(say: Say, args: readonly string[]): AsyncGenerator<string> {
  if (readArguments(args, OPTIONS).help) {
    yield* HELP
    return
  }
  const hasRedis = spawnSync('redis-server', ['--version']).status === 0
  const names = hasRedis ? [...NAMES, ...REDIS] : NAMES
  let measured: readonly Measured[] = []
  const chosen = ['--peers', names.join(','), '--workloads', WORKLOADS]
  yield* benchPeers(say, [...chosen, ...args], (all) => {
    measured = all
  })
  if (!hasRedis) yield 'left out: BullMQ: there is no redis-server on this machine'
  yield ''
  yield* aims(measured)
}

function* aims(measured: readonly Measured[]): Generator<string> {
  const { reports = {} } = measured.find(({ name }) => name === 'pawl-http') ?? {}
  const rates = (reports['drain'] ?? []).flatMap((one) => {
    const { jobs = 0, wallMs = 0 } = one ?? {}
    return wallMs > 0 ? [(jobs * 1_000) / wallMs] : []
  })
  const halves = (reports['latency'] ?? []).flatMap((one) => one?.p50Ms ?? [])
  if (rates.length > 0) yield atLeast('drain, jobs per second', median(rates), PER_SECOND_AIM)
  if (halves.length > 0) yield atMost('submit to start, p50 ms', median(halves), P50_AIM_MS)
}
