/**
 * A connection to a SQLite file, which a thread of its own has open.
 *
 * - open: statements are run in order, in the thread. While nothing is under way it keeps no
 *   process alive.
 * - closing: what was sent is still answered; nothing more is accepted.
 * - lost: the thread ended by itself. Everything is refused at once.
 *
 * A transaction that the thread rolled back because it stalled (see `StallTimer`) is done again in the
 * calling thread, where nothing comes in between: so it comes to an end, however busy that thread is.
 */
import { resolve as absolute } from 'node:path'
import { Worker } from 'node:worker_threads'
import { threadFile } from '../../../log/disk/thread-file.ts'
import { afterMs } from '../../clock.ts'
import type { StatementResult, Statement, Connection } from '../connection.ts'
import type { DatabaseDamaged, SqlFailed } from '../failures.ts'
import { connectionFailed, sqlFailed } from '../failures.ts'
import type { OpenFileRequest, ThreadReply, ThreadRequest } from './messages.ts'
import { STALLED } from './failures.ts'
import { answersOf, buffersOf, flatStatements } from './messages.ts'
import { pathFailure } from './path-failure.ts'
import { InThreadConnection } from './sqlite-file.ts'
import { BEGIN, ROLLBACK } from './stall-timer.ts'

export interface SqliteAddress {
  /** Created if it is not there. Its folder must be. */
  readonly path: string
  /** How long a statement waits for a file that another connection writes to. Default: 5 s. */
  readonly busyMs?: number
}

const BUSY_MS = 5_000
const COMMIT = 'commit'

/** Throws `SqlFailed`. */
export async function openConnection(address: SqliteAddress): Promise<Connection> {
  const opening = { path: absolute(address.path), busyMs: address.busyMs ?? BUSY_MS }
  const connection = new SqliteConnection(opening)
  try {
    await connection.opened
  } catch (error) {
    await connection.close()
    throw pathFailure(opening.path, error)
  }
  return connection
}

interface PendingRequest {
  resolve(answers: readonly StatementResult[]): void
  reject(failure: SqlFailed | DatabaseDamaged): void
}

class SqliteConnection implements Connection {
  readonly opened: Promise<unknown>
  readonly #worker: Worker
  readonly #where: string
  readonly #path: string
  /** Requests that are not answered yet, in the order in which the thread answers. */
  readonly #pending: PendingRequest[] = []
  #end: SqlFailed | null = null
  #inThread: InThreadConnection | null = null
  /** The next transaction is done in the calling thread; or one is now. */
  #isNextInThread = false
  #isInThread = false
  #closing: Promise<void> | null = null

  constructor(opening: OpenFileRequest) {
    this.#where = `The SQLite file ${opening.path}`
    this.#path = opening.path
    this.#worker = borrowThread()
    this.#worker.on('message', this.#answered)
    this.#worker.on('error', this.#lost)
    this.#worker.on('exit', this.#exited)
    this.opened = this.#request({ do: 'open', opening })
  }

  async run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    if (this.#end !== null) throw this.#end
    if (this.#isNextInThread && statements[0]?.sql === BEGIN && this.#pending.length === 0) {
      this.#isNextInThread = false
      this.#inThread ??= this.#openInThread()
      this.#isInThread = this.#inThread !== null
    }
    if (this.#isInThread && this.#inThread !== null) {
      return this.#runInThread(this.#inThread, statements)
    }
    const flat = flatStatements(statements)
    return this.#request({ do: 'run', statements: flat }, buffersOf(flat))
  }

  /** Null: it cannot be opened once more now. The thread has it open, and goes on. */
  #openInThread(): InThreadConnection | null {
    try {
      return new InThreadConnection(this.#path)
    } catch {
      return null
    }
  }

  /** It does not wait for a file that another connection has: the next try is the thread's again. */
  async #runInThread(
    connection: InThreadConnection,
    statements: readonly Statement[],
  ): Promise<readonly StatementResult[]> {
    const last = statements.at(-1)?.sql
    // BEFORE another caller sends something: what comes behind the end of the transaction is not part of it.
    this.#isInThread = last !== COMMIT && last !== ROLLBACK
    try {
      return await connection.run(statements)
    } catch (error) {
      this.#isInThread = false
      await connection.run([{ sql: ROLLBACK, values: [] }])
      throw error
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const isLost = this.#end !== null
    this.#end ??= sqlFailed('lost', this.#where, new Error('It was closed here'))
    await this.#inThread?.close()
    // A thread that is lost has nothing open.
    if (isLost) return
    try {
      await this.#request({ do: 'close' })
    } catch {
      // It has ended, or must: without its thread, nothing is open.
      await this.#worker.terminate()
      return
    }
    this.#worker.off('message', this.#answered)
    this.#worker.off('error', this.#lost)
    this.#worker.off('exit', this.#exited)
    returnThread(this.#worker)
  }

  #request(
    request: ThreadRequest,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<readonly StatementResult[]> {
    this.#worker.postMessage(request, transfer)
    // Only a thread that has something to do keeps the process alive.
    if (this.#pending.length === 0) this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject })
    })
  }

  readonly #answered = (reply: ThreadReply): void => {
    const first = this.#pending.shift()
    if (this.#pending.length === 0) this.#worker.unref()
    if ('answers' in reply) {
      first?.resolve(answersOf(reply.answers))
      return
    }
    const cause = Object.assign(new Error(reply.message), { errcode: reply.errcode })
    if (reply.message === STALLED) this.#isNextInThread = true
    first?.reject(connectionFailed(reply.reason, this.#where, cause, reply.sql))
  }

  readonly #exited = (code: number): void => {
    this.#lost(new Error(`Its thread ended with ${code}`))
  }

  /** The caller is told the first reason. */
  readonly #lost = (error: Error): void => {
    const failure = sqlFailed('lost', this.#where, error)
    this.#end ??= failure
    for (const one of this.#pending.splice(0)) one.reject(failure)
  }
}

const IDLE_MS = 2_000
const MOST_IDLE = 4

/**
 * Threads without a file, each with what stops the timer that ends it. The next file that is opened needs no
 * new one: starting a thread takes 40 ms of work, and 90 ms when Pawl is run from its sources.
 */
const idleThreads = new Map<Worker, () => void>()

/** With no file open. The caller gives it back with `returnThread`, unless it has ended. */
export function borrowThread(): Worker {
  const [worker] = idleThreads.keys()
  if (worker === undefined) return startThread()
  removeIdle(worker)
  return worker
}

/** With no file open, and without the listeners of the caller. */
export function returnThread(worker: Worker): void {
  const end = (): void => {
    removeIdle(worker)
    void worker.terminate()
  }
  worker.unref()
  if (idleThreads.size >= MOST_IDLE) end()
  else idleThreads.set(worker, afterMs(IDLE_MS, end))
}

function startThread(): Worker {
  const worker = new Worker(threadFile('thread', import.meta.url), { execArgv: [] })
  worker.unref()
  // An idle thread that ends is not used again, and that is all.
  worker.on('error', () => undefined)
  worker.on('exit', () => removeIdle(worker))
  return worker
}

function removeIdle(worker: Worker): void {
  idleThreads.get(worker)?.()
  idleThreads.delete(worker)
}
