/**
 * Connections, and work that is run on them: each piece of work is a transaction, or a read.
 *
 * The pool runs work again when another transaction wrote first, and, on a new connection, when its
 * connection was lost. That is safe whether its commit came through or not: commands carry their own
 * ids, and are answered the same again.
 *
 * Where a connection runs what it is sent in order, work has it to itself only while a transaction of
 * its own is open. Once the work has sent the end of the transaction, or a read outside of one, the next
 * work is given the connection while the database still answers. If the work has more to send, or
 * failed, it waits for a connection again.
 *
 * A pool that is to be closed waits only a moment for a database that is away.
 *
 * Connections are opened when they are needed. One that was not for a while is closed, but for the last.
 * While there is little to do, work waits a moment for the connection that other work has, so that a process
 * at rest has one.
 */
import { afterMs, nowUs, pause } from '../clock.ts'
import { StoreClosed } from '../errors.ts'
import type { StatementResult, Statement, Connection } from './connection.ts'
import { MOST_AWAY_MS } from './dialect.ts'
import { SqlFailed } from './failures.ts'
import type { TableVersion } from './tables.ts'

const MOST_CONFLICTS = 50
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 1_000
/** How long a database may be away once the pool is to be closed, and the longest pause between two tries. */
const CLOSING_AWAY_MS = 1_000
const CLOSING_PAUSE_MS = 100
/** A connection that no work used for so long is closed. */
const IDLE_MS = 10_000
/** So many pieces of work in a longer time than this are little to do. */
const FEW = 8
const FEW_US = 1_000_000
/** How long work then waits for a connection that is open. */
const MOMENT_MS = 50
const LOST = 'The connection was lost while other work used it.'

export interface ConnectionPoolOptions<C extends Connection> {
  readonly connect: () => Promise<C>
  readonly size: number
  readonly commit: string
  readonly rollback: string
  /** What a transaction begins with, where a connection runs what it is sent in order; else null. */
  readonly begin: string | null
  /** Asserted BEFORE work, if it is due: the work fails with what it throws. */
  readonly tableVersion?: Pick<TableVersion, 'isDue' | 'assertKnown'>
  /** Conflicts in a row before work fails. Default: 50. */
  readonly mostConflicts?: number
  /** How long a database may be away before work fails. Default: 30 s. */
  readonly mostAwayMs?: number
  /** How long a connection that is not the last may be unused. Default: 10 s. */
  readonly idleMs?: number
}

interface Work<C> {
  readonly run: (connection: C) => Promise<void>
  readonly reject: (error: unknown) => void
}

export class ConnectionPool<C extends Connection = Connection> {
  readonly #options: ConnectionPoolOptions<C>
  /** The last one is used next: those that are not opened come first. */
  readonly #idle: (C | null)[]
  readonly #usedUs = new WeakMap<C, number>()
  #stopClosing: (() => void) | null = null
  /** When the last few pieces of work were added, oldest first. */
  readonly #addedUs: number[] = []
  /** Work waits for a connection that is open. */
  #stopWaiting: (() => void) | null = null
  /** Null: a new connection is to be opened. */
  readonly #waiting: ((connection: C | null) => void)[] = []
  readonly #running = new Set<Promise<void>>()
  /** When it was told that it is to be closed; null: it was not. */
  #closesSinceUs: number | null = null
  #isClosed = false
  #isOver = false

  /** `first`: a connection that is there already, if there is one. */
  constructor(first: C | null, options: ConnectionPoolOptions<C>) {
    this.#options = options
    this.#idle = [...Array.from({ length: options.size - 1 }, () => null), first]
  }

  run<T>(work: (connection: C) => Promise<T>): Promise<T> {
    return this.#isClosed ? Promise.reject(new StoreClosed()) : this.#add(work)
  }

  #add<T>(work: (connection: C) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const added: Work<C> = { run: (connection) => work(connection).then(resolve), reject }
      this.#waiting.push((connection) => {
        const running = this.#runWork(added, connection)
        this.#running.add(running)
        void running.then(() => this.#running.delete(running))
      })
      this.#addedUs.push(nowUs())
      if (this.#addedUs.length > FEW) this.#addedUs.shift()
      this.#next()
    })
  }

  /** It is known to be so: a pool that has just begun may have much to do. */
  get #isAtRest(): boolean {
    const [oldest = 0] = this.#addedUs
    return this.#addedUs.length === FEW && nowUs() - oldest > FEW_US
  }

  /** Also while the pool is being closed; then it resolves with `nothing`. */
  runUntilClosed<T>(work: (connection: C) => Promise<T>, nothing: T): Promise<T> {
    return this.#isOver ? Promise.resolve(nothing) : this.#add(work)
  }

  /** It takes more work, until it is closed, and waits only a moment for a database that is away. */
  expectClose(): void {
    this.#closesSinceUs ??= nowUs()
  }

  /** Finishes work that is under way, or waits. */
  async close(): Promise<void> {
    this.expectClose()
    this.#isClosed = true
    // A watch that is given entries reads the next ones, also now.
    do await Promise.all(this.#running)
    while (this.#running.size > 0)
    this.#isOver = true
    this.#stopClosing?.()
    await Promise.all(this.#idle.map(async (connection) => connection?.close()))
  }

  #next(): void {
    const first = this.#waiting[0]
    if (first === undefined) return
    const connection = this.#idle.at(-1)
    if (connection === undefined) return
    if (connection === null && this.#waitsForOther()) return
    this.#idle.pop()
    this.#waiting.shift()
    first(connection)
  }

  /** Whether work waits until another connection is put back, or a moment has passed. */
  #waitsForOther(): boolean {
    if (this.#stopWaiting !== null) return true
    const isOneInUse = this.#idle.length < this.#options.size
    if (!isOneInUse || !this.#isAtRest || this.#isClosed) return false
    const goOn = (): void => {
      // From now on there is more to do than one connection is for.
      this.#addedUs.length = 0
      this.#stopWaiting = null
      this.#next()
    }
    this.#stopWaiting = afterMs(MOMENT_MS, goOn, true)
    return true
  }

  #putBack(connection: C | null): void {
    if (connection === null) {
      this.#idle.unshift(null)
      return
    }
    this.#stopWaiting?.()
    this.#stopWaiting = null
    this.#idle.push(connection)
    this.#usedUs.set(connection, nowUs())
    this.#closeUnusedLater()
  }

  #closeUnusedLater(): void {
    const { idleMs = IDLE_MS } = this.#options
    if (this.#stopClosing !== null || this.#isOver || this.#options.size === 1) return
    this.#stopClosing = afterMs(idleMs, () => {
      this.#stopClosing = null
      this.#closeUnused(nowUs() - idleMs * 1_000)
    })
  }

  #closeUnused(beforeUs: number): void {
    const open = this.#idle.flatMap((connection) => connection ?? [])
    const unused = open.slice(0, -1).filter((one) => (this.#usedUs.get(one) ?? 0) <= beforeUs)
    for (const connection of unused) {
      this.#idle.splice(this.#idle.indexOf(connection), 1)
      this.#idle.unshift(null)
      void connection.close().catch(() => undefined)
    }
    if (open.length - unused.length > 1) this.#closeUnusedLater()
  }

  /** For work that was given one before: it comes first. */
  #takeAgain(): Promise<C | null> {
    return new Promise((resolve) => {
      this.#waiting.unshift(resolve)
      this.#next()
    })
  }

  async #runWork(work: Work<C>, taken: C | null): Promise<void> {
    let connection = taken
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      this.#putBack(connection)
      this.#next()
    }
    const takeAgain = async (): Promise<C | null> => {
      if (!isReleased) return connection
      connection = await this.#takeAgain()
      isReleased = false
      return connection
    }
    const { mostConflicts = MOST_CONFLICTS, tableVersion } = this.#options
    let conflicts = 0
    let awayUs: number | null = null
    let lost: unknown = null
    let pauseMs = FIRST_PAUSE_MS
    for (;;) {
      // The connection that this try ran on: `takeAgain` may give another one, which works.
      let used: C | null = null
      try {
        const isNew = connection === null
        used = connection ??= await this.#options.connect()
        if (tableVersion?.isDue(isNew) === true) await tableVersion.assertKnown(used)
        await work.run(this.#releasing(used, release, takeAgain))
        break
      } catch (error) {
        const reason = error instanceof SqlFailed ? error.reason : null
        const isAway = reason === 'lost' || reason === 'unreachable'
        if (reason === 'lost') lost ??= error
        connection = await takeAgain()
        if ((isAway && connection === used) || connection === null) {
          await connection?.close().catch(() => undefined)
          connection = null
        } else if (!(await this.#rollBack(connection))) {
          connection = null
        }
        const isRetried =
          (reason === 'conflict' && ++conflicts < mostConflicts) ||
          (isAway && this.#isAwaited((awayUs ??= nowUs())))
        if (!isRetried) {
          // An earlier try may have been committed, whatever the last one came to.
          work.reject(isAway && lost !== null ? lost : error)
          break
        }
        if (isAway || conflicts > 2) {
          await pause(this.#closesSinceUs === null ? pauseMs : Math.min(pauseMs, CLOSING_PAUSE_MS))
          pauseMs = Math.min(pauseMs * 2, isAway ? LONGEST_PAUSE_MS : FIRST_PAUSE_MS)
        }
      }
    }
    release()
  }

  /** Whether work still waits for a database that is away since then. */
  #isAwaited(sinceUs: number): boolean {
    const { mostAwayMs = MOST_AWAY_MS } = this.#options
    const now = nowUs()
    if (now - sinceUs >= mostAwayMs * 1_000) return false
    if (now - (this.#closesSinceUs ?? now) < CLOSING_AWAY_MS * 1_000) return true
    // A connection that was lost a while ago says nothing of the database: one more try.
    return now - sinceUs < FIRST_PAUSE_MS * 1_000
  }

  /** Releases the connection with the end of a transaction, and takes it again to send more. */
  #releasing(connection: C, release: () => void, takeAgain: () => Promise<C | null>): C {
    const { begin, commit, rollback } = this.#options
    if (begin === null) return connection
    let isTaken = true
    let isOpen = false
    const run = async (statements: readonly Statement[]): Promise<readonly StatementResult[]> => {
      if (!isTaken && (await takeAgain()) !== connection) throw new SqlFailed('lost', LOST, null)
      const last = statements.at(-1)?.sql
      isOpen = (isOpen || statements[0]?.sql === begin) && last !== commit && last !== rollback
      isTaken = isOpen
      const running = connection.run(statements)
      if (!isTaken) release()
      return running
    }
    return { run, close: () => connection.close() } as unknown as C
  }

  /** False: the connection is closed. */
  async #rollBack(connection: Connection): Promise<boolean> {
    try {
      await connection.run([{ sql: this.#options.rollback, values: [] }])
      return true
    } catch (error) {
      // Outside of a transaction there is nothing to roll back.
      if (error instanceof SqlFailed && error.reason !== 'lost') return true
      await connection.close().catch(() => undefined)
      return false
    }
  }
}
