/**
 * The log bench: what durable lives cost in a directory, how long a submit takes, how it is
 * with very many jobs, and whether it stays so.
 */
import { benchLives } from './log/durable-lives.ts'
import { benchGrowth } from './log/growth.ts'
import { benchLatency } from './log/latency.ts'
import { benchMillion } from './log/million.ts'
import { profileLives } from './log/profile.ts'
import { Scratch } from './log/scratch.ts'
import { readOptions } from './options.ts'

type Say = (line: string) => void

type Part = (scratch: Scratch, say: Say, jobs: number) => Promise<string[]>

const PARTS: Readonly<Record<string, Part>> = {
  lives: benchLives,
  latency: benchLatency,
  million: (scratch, say, jobs) => benchMillion(scratch, jobs, say),
  growth: benchGrowth,
}
const JOBS = 1_000_000

const HELP = [
  '',
  'usage: npm run bench -- log [options]',
  '',
  '  --only <part>    only one part; can be given more than once:',
  '                     lives    lives per second, beside the raw disk and SQLite',
  '                     latency  of a submit, with 1 and with 64 in flight',
  '                     million  many waiting jobs: filling, opening, memory, cost of a life',
  '                     growth   lives per second as history grows, hold-ups of the event loop',
  '  --profile        where the time goes in the first case of `lives`, and nothing else',
  '  --jobs <count>   waiting jobs of `million` (default 1,000,000)',
  '  --folder <path>  where to write (default: the folder of the system for temporary files)',
]

export async function* benchLog(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const profile = { profile: { type: 'boolean' } } as const
  const options = readOptions(args, Object.keys(PARTS), JOBS, profile)
  if (options.help) {
    yield* HELP
    return
  }
  const scratch = new Scratch(options.folder)
  try {
    if (options.has('profile')) {
      yield* await profileLives(scratch, say)
      return
    }
    for (const part of options.parts) yield* await (PARTS[part] as Part)(scratch, say, options.jobs)
  } finally {
    scratch.close()
  }
}
