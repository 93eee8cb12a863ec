/**
 * The options of `open`.
 */
import type { ArtifactPlace, Duration, PolicyDefaults } from '../definition/index.ts'
import type { PostgresConnectionOptions } from '../store/index.ts'
import type { JobInfo } from './client/job-info.ts'
import type { MaxWaiting } from './client/waiting-bounds.ts'
import type { Logger } from './logger.ts'
import type { Notice } from './pawl-parts.ts'

export interface RetentionOptions {
  /** How long after its end. */
  readonly age?: Duration
  /** How many at most, the newest. */
  readonly count?: number
}

export interface OpenOptions {
  /**
   * How long, and how many, jobs that are over stay readable. Default: 7 days, 1,000,000. Not in
   * memory, where nothing is forgotten.
   */
  readonly retention?: RetentionOptions & {
    /** Of single types of jobs. What a job said itself when it was submitted comes first. */
    readonly types?: { readonly [type: string]: RetentionOptions }
  }
  /**
   * Given jobs that are about to be forgotten, a few at a time, to be kept elsewhere. They are
   * forgotten when it has returned; if it fails they stay, and it is given them again. It may
   * see a job twice: if the process ends in between, or if several processes that have the database
   * open set it, since each of them hands over what is due. Not in memory.
   */
  readonly onForget?: (jobs: readonly JobInfo[]) => Promise<void> | void
  /**
   * How long the entries themselves are kept. Default 7 days; `'forever'` keeps them all. On databases:
   * those of jobs that are forgotten, and of schedules. Not in memory.
   */
  readonly history?: Duration | 'forever'
  /** A folder that old parts of the log are moved to, instead of being removed. For directories. */
  readonly archive?: string
  /**
   * Where files go that handlers write: a folder, or a place of your own. Default: `artifacts` in
   * the directory; beside a SQLite file, `-artifacts` behind its name; on PostgreSQL nowhere: a
   * handler that writes one fails; in memory, for an engine in memory.
   */
  readonly artifacts?: string | ArtifactPlace
  /** Of PostgreSQL: where the tables are. Made if it is not there. Default `'pawl'`. */
  readonly schema?: string
  /**
   * Of PostgreSQL: how connections are opened, as a configuration of `pg` (`ssl`, a `password` function,
   * `application_name`), how many there may be (`max`), and whether a pooler stands before the server.
   */
  readonly connection?: PostgresConnectionOptions
  /** Of PostgreSQL: how long to wait for a server that cannot be reached yet. Default: not at all. */
  readonly waitFor?: Duration
  /**
   * Of databases: whether the tables are made, or brought up to date. `false`: they must be there, made by
   * `migrate()`, and the user needs no right to change them. Default true.
   */
  readonly migrate?: boolean
  /**
   * Policies of jobs and stages whose definitions say nothing of them, such as `{ quarantine: 'never' }`. They
   * are recorded with each job when it is submitted. Default: none.
   */
  readonly defaults?: PolicyDefaults
  /**
   * How many jobs may wait in a queue: submits of this engine's clients beyond that are refused with
   * `QueueFull`. A number for each queue, or numbers by the names of queues. It goes by a count that may be a
   * second old. Children, jobs of schedules, later stages and reruns are not bound. Default: any number.
   */
  readonly maxWaiting?: MaxWaiting
  /**
   * Whether processes on the store know of each other: which of them live, so that the jobs of a dead one
   * run again within seconds, and what their workers say. `false`: jobs of a dead process wait until their
   * leases have run out, and each process shows only its own workers. Default true. Not in memory.
   */
  readonly presence?: boolean
  /** Of a server: what it asks callers for. Default: none. */
  readonly token?: string
  /** How long jobs may wait that no worker takes, before a notice. Default 10 m. */
  readonly unservedAfter?: Duration
  /**
   * Whether each refused command is a notice of kind `'refused'`: of clients, operators, workers and
   * upkeep, which now and then asks for what another process has done. Default false. `metrics()`
   * counts them either way.
   */
  readonly noticeRefusals?: boolean
  /**
   * Writes notices, and errors that no caller waits for, as pino does: `logger.warn({ … }, 'message')`. It comes
   * before `onNotice` and `onError`. Default: none.
   */
  readonly logger?: Logger
  /** Told of checkpoints, a torn tail, a stalled job and the like. */
  readonly onNotice?: (notice: Notice) => void
  /** Told of errors that no caller waits for. Default: written to stderr. */
  readonly onError?: (error: Error) => void
}

/** Those that are about a database, and how it is reached. */
export type DatabaseOpenOptions = Pick<OpenOptions, 'schema' | 'connection' | 'waitFor' | 'migrate'>
