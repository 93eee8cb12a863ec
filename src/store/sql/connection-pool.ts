/**
 * Connections that take turns with work: each piece is a transaction, or a question.
 *
 * A piece that somebody else was quicker than is done again; so is one whose connection was lost, on
 * a new one. That is safe, whether its commit came through or not: commands say by themselves what
 * they are, and are answered the same again.
 *
 * Where a connection runs what it is sent in order, a piece has its lane only while a transaction of its
 * own is open: when it has sent the end of it, or a question outside of one, the next piece is
 * decided while the database works. For more, or if something failed, it comes back.
 */
import { nowUs, pause } from '../clock.ts'
import { StoreClosed } from '../store.ts'
import type { StatementResult, Statement, Connection } from './connection.ts'
import { MOST_AWAY_MS } from './dialect.ts'
import { SqlFailed } from './failures.ts'
import type { TableVersion } from './tables.ts'

const MOST_CONFLICTS = 50
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 1_000
const AWAY = 'The connection was lost while others used it.'

export interface ConnectionPoolOptions<C extends Connection> {
  readonly connect: () => Promise<C>
  readonly size: number
  readonly commit: string
  readonly rollback: string
  /** What a transaction begins with, where what is sent is run in order; null: it may not be. */
  readonly begin: string | null
  /** Asserted BEFORE a piece, if it is due: what it throws is what the piece fails with. */
  readonly tableVersion?: Pick<TableVersion, 'isDue' | 'assertKnown'>
  /** So often in a row somebody else may be quicker. Default: 50. */
  readonly mostConflicts?: number
  /** So long a database may be away before those who wait are told. Default: 30 s. */
  readonly mostAwayMs?: number
}

interface Piece<C> {
  readonly work: (connection: C) => Promise<void>
  readonly fail: (error: unknown) => void
}

export class ConnectionPool<C extends Connection = Connection> {
  readonly #parts: ConnectionPoolOptions<C>
  readonly #idle: (C | null)[]
  readonly #waiting: ((lane: C | null) => void)[] = []
  readonly #running = new Set<Promise<void>>()
  #isClosed = false
  #isOver = false

  /** `first`: a connection that is there already, if there is one. */
  constructor(first: C | null, parts: ConnectionPoolOptions<C>) {
    this.#parts = parts
    this.#idle = [...Array.from({ length: parts.size - 1 }, () => null), first]
  }

  run<T>(work: (connection: C) => Promise<T>): Promise<T> {
    return this.#isClosed ? Promise.reject(new StoreClosed()) : this.#add(work)
  }

  #add<T>(work: (connection: C) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const piece: Piece<C> = {
        work: (connection) => work(connection).then(resolve),
        fail: reject,
      }
      this.#waiting.push((lane) => {
        const running = this.#do(piece, lane)
        this.#running.add(running)
        void running.then(() => this.#running.delete(running))
      })
      this.#next()
    })
  }

  /** Also while it is being closed; afterwards there is nothing. */
  runUntilClosed<T>(work: (connection: C) => Promise<T>, nothing: T): Promise<T> {
    return this.#isOver ? Promise.resolve(nothing) : this.#add(work)
  }

  /** What is under way, or waits, is finished. */
  async close(): Promise<void> {
    this.#isClosed = true
    // A watch that has something left to show reads on when it was given the rest.
    do await Promise.all(this.#running)
    while (this.#running.size > 0)
    this.#isOver = true
    await Promise.all(this.#idle.map(async (connection) => connection?.close()))
  }

  #next(): void {
    const first = this.#waiting[0]
    if (first === undefined) return
    const lane = this.#idle.pop()
    if (lane === undefined) return
    this.#waiting.shift()
    first(lane)
  }

  /** A lane for one that was at work before. */
  #lane(): Promise<C | null> {
    return new Promise((resolve) => {
      this.#waiting.unshift(resolve)
      this.#next()
    })
  }

  async #do(piece: Piece<C>, lane: C | null): Promise<void> {
    let connection = lane
    let hasLeft = false
    const leave = (): void => {
      if (hasLeft) return
      hasLeft = true
      this.#idle.push(connection)
      this.#next()
    }
    const comeBack = async (): Promise<C | null> => {
      if (!hasLeft) return connection
      connection = await this.#lane()
      hasLeft = false
      return connection
    }
    const {
      mostConflicts = MOST_CONFLICTS,
      mostAwayMs = MOST_AWAY_MS,
      tableVersion: tables,
    } = this.#parts
    let conflicts = 0
    let lostUs: number | null = null
    let pauseMs = FIRST_PAUSE_MS
    for (;;) {
      // The one that it was done on: whoever comes back may be given another one, which is well.
      let used: C | null = null
      try {
        const isNew = connection === null
        used = connection ??= await this.#parts.connect()
        if (tables?.isDue(isNew) === true) await tables.assertKnown(used)
        await piece.work(this.#leaving(used, leave, comeBack))
        break
      } catch (error) {
        const trouble = error instanceof SqlFailed ? error.trouble : null
        connection = await comeBack()
        if ((trouble === 'lost' && connection === used) || connection === null) {
          await connection?.close().catch(() => undefined)
          connection = null
        } else if (!(await this.#rollBack(connection))) {
          connection = null
        }
        const isAgain =
          (trouble === 'conflict' && ++conflicts < mostConflicts) ||
          (trouble === 'lost' && nowUs() - (lostUs ??= nowUs()) < mostAwayMs * 1_000)
        if (!isAgain) {
          piece.fail(error)
          break
        }
        if (trouble === 'lost' || conflicts > 2) {
          await pause(pauseMs)
          pauseMs = Math.min(pauseMs * 2, trouble === 'lost' ? LONGEST_PAUSE_MS : FIRST_PAUSE_MS)
        }
      }
    }
    leave()
  }

  /** A connection that the lane is left with, and come back to when there is more to send. */
  #leaving(connection: C, leave: () => void, comeBack: () => Promise<C | null>): C {
    const { begin, commit, rollback } = this.#parts
    if (begin === null) return connection
    let isHere = true
    let isOpen = false
    const run = async (asks: readonly Statement[]): Promise<readonly StatementResult[]> => {
      if (!isHere && (await comeBack()) !== connection) throw new SqlFailed('lost', AWAY, null)
      const last = asks.at(-1)?.sql
      isOpen = (isOpen || asks[0]?.sql === begin) && last !== commit && last !== rollback
      isHere = isOpen
      const running = connection.run(asks)
      if (!isHere) leave()
      return running
    }
    return { run, close: () => connection.close() } as unknown as C
  }

  /** False: the connection is of no more use. */
  async #rollBack(connection: Connection): Promise<boolean> {
    try {
      await connection.run([{ sql: this.#parts.rollback, values: [] }])
      return true
    } catch (error) {
      // Outside of a transaction there is nothing to roll back.
      if (error instanceof SqlFailed && error.trouble !== 'lost') return true
      await connection.close().catch(() => undefined)
      return false
    }
  }
}
