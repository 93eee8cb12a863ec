/**
 * A logger of the user's: what the engine says without being asked, and errors that reach no caller, as lines.
 */
import { InvalidDefinition, shown } from '../definition/index.ts'
import type { Notice } from './pawl-parts.ts'

/** As pino has it, and others that take an object first. `console` will do. */
export interface Logger {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

function assertLogger(logger: unknown): void {
  const has = (level: string): boolean =>
    typeof (logger as Readonly<Record<string, unknown>>)[level] === 'function'
  if (typeof logger === 'object' && logger !== null && ['info', 'warn', 'error'].every(has)) return
  throw new InvalidDefinition(
    `\`logger\` is an object with the functions info, warn and error, such as pino() gives, not ${shown(logger)}.`,
  )
}

type Line = readonly [level: 'info' | 'warn', message: string]

const LINES: Readonly<Record<Notice['kind'], Line>> = {
  'torn-tail': ['warn', 'Entries that were being written at the last end were cut off'],
  'clock-behind': ['warn', 'The newest entry is ahead of the clock of this machine'],
  'checkpoint-damaged': ['warn', 'A checkpoint does not check: an older one was read'],
  'finished-index-rebuilt': ['warn', 'The index of a file of finished jobs was made again'],
  'job-unreadable': ['warn', 'A job that was to be forgotten cannot be read, and stays'],
  'checkpoint-made': ['info', 'A checkpoint was made'],
  'tidying-failed': ['warn', 'Old files could not be removed or archived'],
  'archive-damaged': [
    'warn',
    'A file in the archive was not what its name says, and is kept apart',
  ],
  'checkpoint-failed': ['warn', 'A checkpoint could not be made: the next one is tried later'],
  'no-presence': ['warn', 'Whether this process lives cannot be told by others'],
  'database-away': ['warn', 'The database cannot be reached'],
  'database-back': ['info', 'The database can be reached again'],
  pooler: ['info', 'A pooler stands before the database'],
  stalled: ['warn', 'A handler says nothing'],
  'newer-version': ['warn', 'A job was given back: its definition here is older'],
  unserved: ['warn', 'Jobs wait that no worker takes'],
  refused: ['info', 'A command was refused'],
}

function logNotice(logger: Logger, notice: Notice): void {
  const [level, message] = LINES[notice.kind]
  logger[level](notice, message)
}

/** The options with functions that write to the logger, and then call those of the user. */
export function withLogger<
  O extends {
    readonly logger?: Logger
    readonly onNotice?: (notice: Notice) => void
    readonly onError?: (error: Error) => void
  },
>(options: O): O {
  const { logger, onNotice, onError } = options
  if (logger === undefined) return options
  assertLogger(logger)
  return {
    ...options,
    onNotice: (notice: Notice) => {
      logNotice(logger, notice)
      onNotice?.(notice)
    },
    onError: (error: Error) => {
      logger.error({ err: error }, error.message)
      onError?.(error)
    },
  }
}
