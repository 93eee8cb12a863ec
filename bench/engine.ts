/**
 * The engine bench: how soon a job runs, how many go through in a second, and whether memory
 * stays as it is; on the directory store, every step synced before its answer.
 */
import { benchCycles } from './engine/cycles.ts'
import { benchMemory } from './engine/memory.ts'
import { benchStart } from './engine/start.ts'
import { Scratch } from './log/scratch.ts'
import { readOptions } from './options.ts'

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
  const { parts, jobs, folder, help } = readOptions(args, Object.keys(PARTS), JOBS)
  if (help) {
    yield* HELP
    return
  }
  const scratch = new Scratch(folder)
  try {
    for (const part of parts) yield* await (PARTS[part] as Part)(scratch, say, jobs)
  } finally {
    scratch.close()
  }
}
