/**
 * The engine bench: how soon a job runs, how many go through in a second, and whether memory
 * stays as it is; on the directory store, every step synced before its answer.
 */
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { benchCycles } from './engine/cycles.ts'
import { benchMemory } from './engine/memory.ts'
import { benchStart } from './engine/start.ts'
import { BadOption } from './log/options.ts'
import { Scratch } from './log/scratch.ts'

type Say = (line: string) => void
type Part = (scratch: Scratch, say: Say, jobs: number) => Promise<string[]>

const PARTS: Readonly<Record<string, Part>> = {
  start: benchStart,
  cycles: benchCycles,
  memory: benchMemory,
}
const JOBS = 1_000_000

const HELP = [
  '',
  'usage: npm run bench -- engine [options]',
  '',
  '  --only <part>    only one part; can be given more than once:',
  '                     start   from submit to the start of the handler, at 100 jobs a second',
  '                     cycles  full cycles a second with 64 submits in flight',
  '                     memory  after very many jobs, of which 10,000 are kept',
  '  --jobs <count>   of `memory` (default 1,000,000)',
  '  --folder <path>  where to write (default: the folder of the system for temporary files)',
]

export async function* benchEngine(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const { only, jobs, folder, help } = readOptions(args)
  if (help) {
    yield* HELP
    return
  }
  const scratch = new Scratch(folder)
  try {
    for (const [name, part] of Object.entries(PARTS)) {
      if (only.length === 0 || only.includes(name)) yield* await part(scratch, say, jobs)
    }
  } finally {
    scratch.close()
  }
}

function readOptions(args: readonly string[]): {
  only: readonly string[]
  jobs: number
  folder: string
  help: boolean
} {
  const { values } = parse(args)
  const { only = [], jobs = JOBS, folder = tmpdir(), help = false } = values
  const unknown = only.find((name) => !Object.hasOwn(PARTS, name))
  if (unknown !== undefined) {
    const names = Object.keys(PARTS).join(', ')
    throw new BadOption(`There is no part '${unknown}'; there are: ${names}.`)
  }
  const count = Number(jobs)
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new BadOption(`--jobs must be a count, not '${jobs}'.`)
  }
  return { only, jobs: count, folder, help }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true },
        jobs: { type: 'string' },
        folder: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new BadOption(`${(error as Error).message} (--help tells the options)`)
  }
}
