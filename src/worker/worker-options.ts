/**
 * What a developer may say about a worker.
 */
import type { Duration } from '../definition/index.ts'
import type { Middleware } from './middleware.ts'

/** How far apart handlers run from their worker: in its thread, in threads, or in processes. */
export type Isolation = 'none' | 'thread' | 'process'

export const DEFAULT_CONCURRENCY = 10

export interface WorkerOptions {
  /** How many handlers run at once. Default 10. */
  readonly concurrency?: number
  /** What its leases are to show; random letters follow. Default: host and process. */
  readonly name?: string
  /** Which queues it serves. Default: those of its definitions. */
  readonly queues?: readonly string[]
  /**
   * How often to look for jobs, if nothing else happens. Default 50 ms; on a database, which tells
   * when there is something, half a second, and up to 5 s while nothing happens.
   */
  readonly poll?: Duration
  /**
   * How long running handlers may go on after `stop`. Default 10 s. If the store does not answer then, the
   * worker has stopped 3 s later.
   */
  readonly shutdown?: Duration
  /**
   * Signals that stop the worker as `stop` does. When all workers have stopped, the process ends
   * by that signal, unless the program listens for it itself; the same again ends it at once. Default
   * `['SIGTERM']`; `[]`: none.
   */
  readonly signals?: readonly NodeJS.Signals[]
  /**
   * Where handlers and effects run: `'none'` (default) in this thread, `'thread'` or `'process'`
   * in children that run one at a time. One that blocks its thread is then no danger to its
   * lease, and a `timeout` ends it wherever it is. Starting a child takes a moment, which counts.
   */
  readonly isolation?: Isolation
  /**
   * With isolation: URLs or absolute paths of the modules that export the definitions, e.g.
   * `[import.meta.url]`. Each child imports them, so they must not start workers themselves.
   */
  readonly modules?: readonly (string | URL)[]
  /** Functions around each run of a handler and of an effect, the first of them outermost. Default: none. */
  readonly use?: readonly Middleware[]
}
