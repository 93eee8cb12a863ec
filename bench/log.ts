/**
 * The log bench: what durable lives cost in a directory, how long a submit takes, how it is
 * with very many jobs, and whether it stays so.
 */
import { benchLives } from './log/durable-lives.ts'
import { benchGrowth } from './log/growth.ts'
import { benchLatency } from './log/latency.ts'
import { benchMillion } from './log/million.ts'
import type { LogOptions, Part } from './log/options.ts'
import { LOG_HELP, readOptions } from './log/options.ts'
import { profileLives } from './log/profile.ts'
import { Scratch } from './log/scratch.ts'

type Say = (line: string) => void

const PARTS: Readonly<
  Record<Part, (scratch: Scratch, say: Say, options: LogOptions) => Promise<string[]>>
> = {
  lives: benchLives,
  latency: benchLatency,
  million: (scratch, say, { jobs }) => benchMillion(scratch, jobs, say),
  growth: benchGrowth,
}

export async function* benchLog(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const options = readOptions(args)
  if (options.help) {
    yield* LOG_HELP
    return
  }
  const scratch = new Scratch(options.folder)
  try {
    if (options.profile) {
      yield* await profileLives(scratch, say)
      return
    }
    // oxlint-disable-next-line no-await-in-loop -- parts must not disturb each other
    for (const part of options.parts) yield* await PARTS[part](scratch, say, options)
  } finally {
    scratch.close()
  }
}
