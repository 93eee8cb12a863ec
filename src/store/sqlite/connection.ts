/**
 * A connection to a SQLite file, which a thread of its own has open.
 *
 * - open: what is sent is run in order, in the thread. While nothing is under way it keeps no
 *   process alive.
 * - closing: what was sent is still answered; nothing more is taken.
 * - lost: the thread ended although nobody told it to. Everything is refused at once.
 */
import { resolve as absolute } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { Answered, Ask, Connection } from '../sql/connection.ts'
import type { SqlFailed } from '../sql/failures.ts'
import { sqlFailed } from '../sql/failures.ts'
import type { Opening, Reply, Task } from './messages.ts'
import { answersOf, buffersOf, flatAsks } from './messages.ts'
import { giveBack, takeThread } from './threads.ts'

export interface SqliteAddress {
  /** Created if it is not there. Its folder must be. */
  readonly path: string
  /** How long a statement waits for a file that somebody else writes to. Default: 5 s. */
  readonly busyMs?: number
}

const BUSY_MS = 5_000

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

interface Waiting {
  resolve(answers: readonly Answered[]): void
  reject(failure: SqlFailed): void
}

class SqliteConnection implements Connection {
  readonly opened: Promise<unknown>
  readonly #worker: Worker
  readonly #where: string
  /** Who waits for an answer, in the order in which the thread gives them. */
  readonly #waiting: Waiting[] = []
  #end: SqlFailed | null = null
  #closing: Promise<void> | null = null

  constructor(opening: Opening) {
    this.#where = `The SQLite file ${opening.path}`
    this.#worker = takeThread()
    this.#worker.on('message', this.#answered)
    this.#worker.on('error', this.#lost)
    this.#worker.on('exit', this.#exited)
    this.opened = this.#perform({ do: 'open', opening })
  }

  async run(asks: readonly Ask[]): Promise<readonly Answered[]> {
    if (this.#end !== null) throw this.#end
    const flat = flatAsks(asks)
    return this.#perform({ do: 'run', asks: flat }, buffersOf(flat))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    // A thread that is lost has nothing open.
    if (this.#end !== null) return
    this.#end = sqlFailed('lost', this.#where, new Error('It was closed here'))
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

  #perform(task: Task, transfer: readonly ArrayBuffer[] = []): Promise<readonly Answered[]> {
    this.#worker.postMessage(task, transfer)
    // Only one that has something to do keeps the process alive.
    if (this.#waiting.length === 0) this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
    })
  }

  readonly #answered = (reply: Reply): void => {
    const first = this.#waiting.shift()
    if (this.#waiting.length === 0) this.#worker.unref()
    if ('answers' in reply) {
      first?.resolve(answersOf(reply.answers))
      return
    }
    const cause = Object.assign(new Error(reply.message), { errcode: reply.errcode })
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
