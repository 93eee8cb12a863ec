/**
 * The options of the log bench, as they are given on the command line.
 */
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { whole } from '../table.ts'

const PARTS = ['lives', 'latency', 'million', 'growth'] as const
export type Part = (typeof PARTS)[number]

export interface LogOptions {
  readonly parts: readonly Part[]
  readonly profile: boolean
  readonly help: boolean
  /** Everything is made in a new folder in here, and removed afterwards. */
  readonly folder: string
  readonly jobs: number
}

/** The command line makes no sense. */
export class BadOption extends Error {}

const JOBS = 1_000_000

export const LOG_HELP = [
  '',
  'usage: npm run bench -- log [options]',
  '',
  '  --only <part>    only one part; can be given more than once:',
  '                     lives    lives per second, beside the raw disk and SQLite',
  '                     latency  of a submit, with 1 and with 64 in flight',
  '                     million  many waiting jobs: filling, opening, memory, cost of a life',
  '                     growth   lives per second as history grows, hold-ups of the event loop',
  '  --profile        where the time goes in the first case of `lives`, and nothing else',
  `  --jobs <count>   waiting jobs of \`million\` (default ${whole(JOBS)})`,
  '  --folder <path>  where to write (default: the folder of the system for temporary files)',
]

export function readOptions(args: readonly string[]): LogOptions {
  const { values } = parse(args)
  const only = values.only ?? []
  for (const part of only) {
    if (!isPart(part)) {
      throw new BadOption(`There is no part '${part}'; there are: ${PARTS.join(', ')}.`)
    }
  }
  const jobs = Number(values.jobs ?? JOBS)
  if (!Number.isSafeInteger(jobs) || jobs < 1) {
    throw new BadOption(`--jobs must be a count, not '${values.jobs}'.`)
  }
  return {
    parts: only.length === 0 ? PARTS : PARTS.filter((part) => only.includes(part)),
    profile: values.profile ?? false,
    help: values.help ?? false,
    folder: values.folder ?? tmpdir(),
    jobs,
  }
}

function isPart(name: string): name is Part {
  return (PARTS as readonly string[]).includes(name)
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true },
        profile: { type: 'boolean' },
        jobs: { type: 'string' },
        folder: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new BadOption(`${(error as Error).message} (--help tells the options)`)
  }
}
