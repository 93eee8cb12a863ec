/**
 * The waiting bench: what suspended jobs take in memory, and how quickly many of them go on that are due in
 * the same second, beside plain jobs that are. Each measurement is a process of its own.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Place } from './growth/place.ts'
import { placeOf, STORE_NAMES } from './growth/place.ts'
import { Scratch } from './log/scratch.ts'
import { AimMissed, readOptions } from './options.ts'
import { table, whole } from './table.ts'
import type { WaitingOrder, WaitingReport } from './waiting/order.ts'

type Say = (line: string) => void

const SUSPENDED = 100_000
const MOST_BYTES = 700
const DUE = 10_000
const LEAST_RATIO = 0.7
const ROUNDS = 3
const PROGRAM = fileURLToPath(new URL('waiting/waiting-process.js', import.meta.url))

const HELP = [
  '',
  'usage: npm run bench -- waiting [options]',
  '',
  '  --only <part>     only one part; can be given more than once:',
  `                      memory   ${whole(SUSPENDED)} suspended jobs in a directory: heap, and opening with them`,
  `                      due      ${whole(DUE)} jobs due in the same second: suspended beside plain, by turns`,
  `  --stores <name>   of due, only these: ${STORE_NAMES.join(', ')}`,
  `  --rounds <count>  of due (default ${ROUNDS})`,
  '  --folder <path>   where to write (default: the folder of the system for temporary files)',
]

export async function* benchWaiting(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const options = readOptions(args, ['memory', 'due'], 1, {
    stores: { type: 'string', multiple: true },
    rounds: { type: 'string' },
  })
  if (options.help) {
    yield* HELP
    return
  }
  const missed: string[] = []
  const scratch = new Scratch(options.folder)
  try {
    if (options.parts.includes('memory')) yield* memory(say, scratch, missed)
    if (!options.parts.includes('due')) return
    const rows: string[][] = []
    for (const store of options.among('stores', STORE_NAMES)) {
      const place = await placeOf(store, scratch)
      try {
        rows.push(await due(say, place, options.count('rounds', ROUNDS), missed))
      } finally {
        await place.close()
      }
    }
    yield* ['', ...table(['due at once', 'suspended/s', 'plain/s', 'ratio', '(spread)'], rows)]
  } finally {
    scratch.close()
  }
  if (missed.length > 0) throw new AimMissed(missed.join('\n'))
}

async function* memory(say: Say, scratch: Scratch, missed: string[]): AsyncGenerator<string> {
  const place = await placeOf('directory', scratch)
  const location = place.location()
  say(`directory: ${whole(SUSPENDED)} jobs are suspended …`)
  const written = await run({ ...location, workload: 'suspend', jobs: SUSPENDED, dueAt: null })
  say('directory: opened again …')
  const opened = await run({ ...location, workload: 'open', jobs: SUSPENDED, dueAt: null })
  await place.close()
  yield* [
    '',
    ...table(
      [`${whole(SUSPENDED)} suspended jobs`, 'heap bytes each', 'ms'],
      [
        ['in the process that ran them', whole(written.heapPerJob), whole(written.ms)],
        ['opened again', whole(opened.heapPerJob), whole(opened.ms)],
      ],
    ),
  ]
  for (const { heapPerJob } of [written, opened]) {
    if (heapPerJob > MOST_BYTES) missed.push(`At most ${MOST_BYTES} bytes of heap a suspended job.`)
  }
}

async function due(say: Say, place: Place, rounds: number, missed: string[]): Promise<string[]> {
  const ratios: number[] = []
  const rates: Record<'suspended' | 'plain', number[]> = { suspended: [], plain: [] }
  // Long enough that all of them are suspended by then.
  const inMs = place.store === 'directory' ? 20_000 : 40_000
  for (let round = 0; round < rounds; round++) {
    const order =
      round % 2 === 0 ? (['suspended', 'plain'] as const) : (['plain', 'suspended'] as const)
    for (const workload of order) {
      say(`round ${round + 1} of ${rounds}: ${place.store}, ${workload} …`)
      const location = place.location()
      const dueAt = Date.now() + (workload === 'plain' ? inMs / 2 : inMs)
      const { ms } = await run({ ...location, workload, jobs: DUE, dueAt })
      rates[workload].push((DUE * 1_000) / ms)
    }
    ratios.push((rates.suspended.at(-1) as number) / (rates.plain.at(-1) as number))
  }
  const ratio = median(ratios)
  if (ratio < LEAST_RATIO) missed.push(`${place.store}: at least ${LEAST_RATIO} of plain ones.`)
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
  const figures = [whole(median(rates.suspended)), whole(median(rates.plain)), ratio.toFixed(2)]
  return [place.store, ...figures, `(${spread})`]
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

async function run(order: WaitingOrder): Promise<WaitingReport> {
  const args = ['--expose-gc', PROGRAM, JSON.stringify(order)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as WaitingReport
}
