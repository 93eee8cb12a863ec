/**
 * The SQL bench: the stores on SQLite and PostgreSQL, beside the least SQL that any queue needs.
 */
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { BadOption } from './log/options.ts'
import { Scratch } from './log/scratch.ts'
import type { Database } from './sql/databases.ts'
import { postgres, sqlite } from './sql/databases.ts'
import { benchDatabaseEngine } from './sql/engine.ts'
import { benchPhases } from './sql/phases.ts'
import { benchProcesses } from './sql/processes.ts'
import { benchWaiting } from './sql/waiting.ts'

type Say = (line: string) => void
type Part = (database: Database, say: Say, jobs: number) => Promise<string[]>

const PARTS: Readonly<Record<string, Part>> = {
  phases: benchPhases,
  engine: benchDatabaseEngine,
  processes: benchProcesses,
  waiting: (database, say, jobs) => benchWaiting(database, say, jobs * MANY),
}
/** Times as many jobs as in the other parts. */
const MANY = 20
const DATABASES: Readonly<Record<string, (scratch: Scratch) => Promise<Database>>> = {
  postgres,
  sqlite,
}
const JOBS = 50_000

const HELP = [
  '',
  'usage: npm run bench -- sql [options]',
  '',
  '  --only <part>    only one part; can be given more than once:',
  '                     phases     bulk submit, drain and single submits, beside the floor',
  '                     engine     full cycles a second, and from submit to start',
  '                     processes  sixteen that claim at once',
  '                     waiting    what a claim costs with twenty times --jobs waiting',
  '  --on <database>  only postgres, or only sqlite',
  '  --jobs <count>   of `phases` and `waiting` (default 50,000)',
  '  --folder <path>  where to write (default: the folder of the system for temporary files)',
]

export async function* benchSql(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const { only, on, jobs, folder, help } = readOptions(args)
  if (help) {
    yield* HELP
    return
  }
  const scratch = new Scratch(folder)
  try {
    for (const [name, start] of Object.entries(DATABASES)) {
      if (on.length > 0 && !on.includes(name)) continue
      const database = await start(scratch)
      try {
        for (const [part, run] of Object.entries(PARTS)) {
          if (only.length === 0 || only.includes(part)) yield* await run(database, say, jobs)
        }
      } finally {
        await database.close()
      }
    }
  } finally {
    scratch.close()
  }
}

function readOptions(args: readonly string[]): {
  only: readonly string[]
  on: readonly string[]
  jobs: number
  folder: string
  help: boolean
} {
  const { values } = parse(args)
  const { only = [], on = [], jobs = JOBS, folder = tmpdir(), help = false } = values
  assertKnown('part', only, PARTS)
  assertKnown('database', on, DATABASES)
  const count = Number(jobs)
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new BadOption(`--jobs must be a count, not '${jobs}'.`)
  }
  return { only, on, jobs: count, folder, help }
}

function assertKnown(what: string, given: readonly string[], known: object): void {
  const unknown = given.find((name) => !Object.hasOwn(known, name))
  if (unknown === undefined) return
  throw new BadOption(
    `There is no ${what} '${unknown}'; there are: ${Object.keys(known).join(', ')}.`,
  )
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true },
        on: { type: 'string', multiple: true },
        jobs: { type: 'string' },
        folder: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new BadOption(`${(error as Error).message} (--help tells the options)`)
  }
}
