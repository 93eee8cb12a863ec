/**
 * The memory bench: what is resident in a process that submits large inputs at once, or very many jobs,
 * and how long its event loop stands still meanwhile. Each line is a process of its own.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Place, StoreName } from './growth/place.ts'
import { placeOf, STORE_NAMES } from './growth/place.ts'
import { Scratch } from './log/scratch.ts'
import type { MemoryOrder, MemoryReport, MemoryWorkload, PastReport } from './memory/order.ts'
import { AimMissed, readOptions } from './options.ts'
import { table, whole } from './table.ts'

type Say = (line: string) => void
type PartName = MemoryWorkload | 'past'

interface MemoryPart {
  readonly jobs: number
  readonly chars: number
  /** Bytes at the peak, or when all is submitted. */
  readonly most: { readonly peak?: number; readonly resident?: number }
  readonly stores: readonly StoreName[]
}

const MB = 1e6

const PARTS: Readonly<Record<PartName, MemoryPart>> = {
  list: { jobs: 500, chars: 1e6, most: { peak: 1_200 * MB }, stores: STORE_NAMES },
  singles: { jobs: 500, chars: 1e6, most: { peak: 1_200 * MB }, stores: STORE_NAMES },
  // A database keeps waiting jobs where they are.
  waiting: { jobs: 200_000, chars: 200, most: { resident: 250 * MB }, stores: ['directory'] },
  // By how much it rises: it must not grow with the number of jobs.
  past: {
    jobs: 1_000_000,
    chars: 40,
    most: { peak: 100 * MB },
    stores: STORE_NAMES,
  },
}
const MOST_BLOCKED_MS = 500
const PROGRAM = fileURLToPath(new URL('memory/memory-process.js', import.meta.url))
const PAST_PROGRAM = fileURLToPath(new URL('memory/past-process.js', import.meta.url))

const HELP = [
  '',
  'usage: npm run bench -- memory [options]',
  '',
  '  --only <part>     only one part; can be given more than once:',
  '                      list     500 inputs of 1 MB with one call of submitMany',
  '                      singles  500 inputs of 1 MB with 500 calls of submit',
  '                      waiting  200,000 jobs in a directory',
  '                      past     counts and lists of 500,000 and 1,000,000 jobs as they were: peak is the rise',
  `  --stores <name>   only these: ${STORE_NAMES.join(', ')}`,
  '  --folder <path>   where to write (default: the folder of the system for temporary files)',
]

export async function* benchMemoryPeaks(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const options = readOptions(args, Object.keys(PARTS), 1, {
    stores: { type: 'string', multiple: true },
  })
  if (options.help) {
    yield* HELP
    return
  }
  const rows: string[][] = []
  const missed: string[] = []
  const scratch = new Scratch(options.folder)
  try {
    for (const store of options.among('stores', STORE_NAMES)) {
      const place = await placeOf(store, scratch)
      try {
        for (const name of options.parts as readonly PartName[]) {
          if (!PARTS[name].stores.includes(store)) continue
          say(`${store}: ${name} …`)
          const report = await measure(place, name, say)
          rows.push([name, store, ...figures(report)])
          missed.push(...misses(`${name} on ${store}`, PARTS[name], report))
        }
      } finally {
        await place.close()
      }
    }
  } finally {
    scratch.close()
  }
  yield* ['', ...table(['', 'store', 'peak MB', 'resident MB', 'blocked ms'], rows, 2)]
  if (missed.length > 0) throw new AimMissed(missed.join('\n'))
}

async function measure(place: Place, name: PartName, say: Say): Promise<MemoryReport> {
  const { jobs, chars } = PARTS[name]
  if (name === 'past') {
    const order = { ...place.location(), jobs, chars }
    const report = (await run(PAST_PROGRAM, order)) as PastReport
    say(`  ${report.seconds.toFixed(1)} s for all of it`)
    return report
  }
  const order: MemoryOrder = { workload: name, ...place.location(), jobs, chars }
  return run(PROGRAM, order)
}

async function run(program: string, order: object): Promise<MemoryReport> {
  const args = ['--expose-gc', program, JSON.stringify(order)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as MemoryReport
}

function figures({ peak, resident, blockedMs }: MemoryReport): string[] {
  return [whole(peak / MB), whole(resident / MB), whole(blockedMs)]
}

function misses(what: string, { most }: MemoryPart, report: MemoryReport): string[] {
  const missed: string[] = []
  const { peak = Infinity, resident = Infinity } = most
  if (report.peak > peak) missed.push(`${what}: at most ${whole(peak / MB)} MB at the peak.`)
  if (report.resident > resident) missed.push(`${what}: at most ${whole(resident / MB)} MB.`)
  if (report.blockedMs > MOST_BLOCKED_MS) missed.push(`${what}: blocked for too long.`)
  return missed
}
