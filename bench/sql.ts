/**
 * The SQL bench: the stores on SQLite and PostgreSQL, beside the least SQL that any queue needs.
 */
import { Scratch } from './log/scratch.ts'
import { readOptions } from './options.ts'
import type { Database } from './sql/databases.ts'
import { postgres, sqlite } from './sql/databases.ts'
import { benchDatabaseEngine } from './sql/engine.ts'
import { benchExamination } from './sql/examination.ts'
import { benchIdle } from './sql/idle.ts'
import { benchPhases } from './sql/phases.ts'
import { benchPresence } from './sql/presence.ts'
import { benchProcesses } from './sql/processes.ts'
import { benchWaiting } from './sql/waiting.ts'

type Say = (line: string) => void
type Start = (scratch: Scratch) => Promise<Database>
type Part = (database: Database, say: Say, jobs: number) => Promise<string[]>

const PARTS: Readonly<Record<string, Part>> = {
  phases: benchPhases,
  engine: benchDatabaseEngine,
  processes: benchProcesses,
  presence: benchPresence,
  idle: benchIdle,
  examination: (database, say, jobs) => benchExamination(database, say, jobs / 2),
  waiting: (database, say, jobs) => benchWaiting(database, say, jobs * MANY),
}
/** Times as many jobs as in the other parts. */
const MANY = 20
const DATABASES: Readonly<Record<string, Start>> = {
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
  '                     processes  sixteen that work at once, and the share of each',
  '                     presence   sixteen that work, with presence and without, by turns',
  '                     idle       statements and connections of a process with nothing to do',
  '                     examination  what it costs to go through half of --jobs, and how long that takes',
  '                     waiting    what a claim costs with twenty times --jobs waiting',
  '  --on <database>  only postgres, or only sqlite',
  '  --jobs <count>   of `phases`, `presence` and `waiting` (default 50,000)',
  '  --folder <path>  where to write (default: the folder of the system for temporary files)',
]

export async function* benchSql(say: Say, args: readonly string[]): AsyncGenerator<string> {
  const on = { on: { type: 'string', multiple: true } } as const
  const options = readOptions(args, Object.keys(PARTS), JOBS, on)
  if (options.help) {
    yield* HELP
    return
  }
  const scratch = new Scratch(options.folder)
  try {
    for (const name of options.among('on', Object.keys(DATABASES))) {
      const database = await (DATABASES[name] as Start)(scratch)
      try {
        for (const part of options.parts) {
          yield* await (PARTS[part] as Part)(database, say, options.jobs)
        }
      } finally {
        await database.close()
      }
    }
  } finally {
    scratch.close()
  }
}
