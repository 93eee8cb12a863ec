/**
 * A connection to a SQLite file, which a thread of its own has open.
 *
 * - open: what is sent is run in order, in the thread. While nothing is under way it keeps no
 *   process alive.
 * - closing: what was sent is still answered; nothing more is taken.
 * - lost: the thread ended although nobody told it to. Everything is refused at once.
 *
 * A transaction that the thread let go of (see `FileHold`) is done again in the thread of whoever sends
 * it, where nothing comes in between: so it comes to an end, whatever that one is busy with.
 */
import { resolve as absolute } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { StatementResult, Statement, Connection } from '../connection.ts'
import type { SqlFailed } from '../failures.ts'
import { sqlFailed } from '../failures.ts'
import type { OpenFileRequest, ThreadReply, ThreadRequest } from './messages.ts'
import { LET_GO } from './failures.ts'
import { BEGIN } from './file-hold.ts'
import { InThreadConnection } from './in-thread-connection.ts'
import { answersOf, buffersOf, flatAsks } from './messages.ts'
import { giveBack, takeThread } from './threads.ts'

export interface SqliteAddress {
  /** Created if it is not there. Its folder must be. */
  readonly path: string
  /** How long a statement waits for a file that somebody else writes to. Default: 5 s. */
  readonly busyMs?: number
}

const BUSY_MS = 5_000
const COMMIT = 'commit'
const ROLLBACK = 'rollback'

/** Throws `SqlFailed`. */
export async function openConnection(address: SqliteAddress): Promise<Connection> {
  const opening = { path: absolute(address.path), busyMs: address.busyMs ?? BUSY_MS }
  const connection = new SqliteConnection(opening)
  try {
    await connection.opened
  } catch (error) {
    await connection.close()
    throw error
  }
  return connection
}

interface PendingRequest {
  resolve(answers: readonly StatementResult[]): void
  reject(failure: SqlFailed): void
}

class SqliteConnection implements Connection {
  readonly opened: Promise<unknown>
  readonly #worker: Worker
  readonly #where: string
  readonly #path: string
  /** Who waits for an answer, in the order in which the thread gives them. */
  readonly #waiting: PendingRequest[] = []
  #end: SqlFailed | null = null
  #here: InThreadConnection | null = null
  /** The next transaction is done here; or one is. */
  #isForHere = false
  #isHere = false
  #closing: Promise<void> | null = null

  constructor(opening: OpenFileRequest) {
    this.#where = `The SQLite file ${opening.path}`
    this.#path = opening.path
    this.#worker = takeThread()
    this.#worker.on('message', this.#answered)
    this.#worker.on('error', this.#lost)
    this.#worker.on('exit', this.#exited)
    this.opened = this.#perform({ do: 'open', opening })
  }

  async run(asks: readonly Statement[]): Promise<readonly StatementResult[]> {
    if (this.#end !== null) throw this.#end
    if (this.#isForHere && asks[0]?.sql === BEGIN && this.#waiting.length === 0) {
      this.#isForHere = false
      this.#here ??= this.#openHere()
      this.#isHere = this.#here !== null
    }
    if (this.#isHere && this.#here !== null) return this.#runHere(this.#here, asks)
    const flat = flatAsks(asks)
    return this.#perform({ do: 'run', asks: flat }, buffersOf(flat))
  }

  /** Null: it cannot be opened here now. The thread has it open, and goes on. */
  #openHere(): InThreadConnection | null {
    try {
      return new InThreadConnection(this.#path)
    } catch {
      return null
    }
  }

  /** A file that somebody else has is not waited for: the next try is the thread's again. */
  async #runHere(
    here: InThreadConnection,
    asks: readonly Statement[],
  ): Promise<readonly StatementResult[]> {
    const last = asks.at(-1)?.sql
    // BEFORE anybody else sends something: what comes behind the end of it is not of it.
    this.#isHere = last !== COMMIT && last !== ROLLBACK
    try {
      return await here.run(asks)
    } catch (error) {
      this.#isHere = false
      await here.run([{ sql: ROLLBACK, values: [] }])
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
    await this.#here?.close()
    // A thread that is lost has nothing open.
    if (isLost) return
    try {
      await this.#perform({ do: 'close' })
    } catch {
      // It has ended, or is to: without its thread, nothing is open.
      await this.#worker.terminate()
      return
    }
    this.#worker.off('message', this.#answered)
    this.#worker.off('error', this.#lost)
    this.#worker.off('exit', this.#exited)
    giveBack(this.#worker)
  }

  #perform(
    task: ThreadRequest,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<readonly StatementResult[]> {
    this.#worker.postMessage(task, transfer)
    // Only one that has something to do keeps the process alive.
    if (this.#waiting.length === 0) this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
    })
  }

  readonly #answered = (reply: ThreadReply): void => {
    const first = this.#waiting.shift()
    if (this.#waiting.length === 0) this.#worker.unref()
    if ('answers' in reply) {
      first?.resolve(answersOf(reply.answers))
      return
    }
    const cause = Object.assign(new Error(reply.message), { errcode: reply.errcode })
    if (reply.message === LET_GO) this.#isForHere = true
    first?.reject(sqlFailed(reply.trouble, this.#where, cause, reply.sql))
  }

  readonly #exited = (code: number): void => {
    this.#lost(new Error(`Its thread ended with ${code}`))
  }

  /** The first reason is the one that is told. */
  readonly #lost = (error: Error): void => {
    const failure = sqlFailed('lost', this.#where, error)
    this.#end ??= failure
    for (const one of this.#waiting.splice(0)) one.reject(failure)
  }
}
