/**
 * Commands that are decided together with writes of the user's, each in a transaction of its own, on
 * connections of their own: a user's function that takes long keeps only other such functions waiting.
 *
 * The transaction saves the decision first, and then runs the user's function: whatever ends the
 * transaction ends both. It runs the function only if the command is committed, and committed now: not if
 * authority was lost (which is recorded), and not if it was committed before.
 */
import type { Command } from '../../../kernel/index.ts'
import { afterMs } from '../../clock.ts'
import { BadRequest } from '../../errors.ts'
import type { Answer } from '../../store.ts'
import type { Writes } from '../../user-transaction.ts'
import { TransactionFailed, WritesFailed, WritesTooSlow } from '../../user-transaction.ts'
import type { Statement, ClientConnection } from '../connection.ts'
import type { UserTransactionDialect } from '../dialect.ts'
import { SqlFailed, sqlFailed } from '../failures.ts'
import { LeasedRowCache } from '../transaction/context.ts'
import { ConnectionPool } from '../connection-pool.ts'
import type { AppliedEntry } from '../transaction/working-set.ts'
import { TurnAssignment } from '../transaction/turn-assignment.ts'
import type { TableVersion } from '../tables.ts'
import type { TransactionBoundary } from '../transaction/transaction.ts'
import type { TransactionContext } from '../transaction/context.ts'
import { executeCommands, ownTransaction } from '../transaction/transaction.ts'

export class CommitWithWrites {
  readonly #dialect: UserTransactionDialect
  readonly #parts: TransactionContext
  readonly #pool: ConnectionPool<ClientConnection>
  readonly #onDone: (done: readonly AppliedEntry[]) => void
  /** What is being committed, by job. */
  readonly #underWay = new Map<string, Promise<unknown>>()

  constructor(
    dialect: UserTransactionDialect,
    parts: TransactionContext,
    onDone: (done: readonly AppliedEntry[]) => void,
    tables: TableVersion,
  ) {
    const { statements: sql, connections: count, mostConflicts = 50 } = dialect
    this.#dialect = dialect
    this.#parts = { ...parts, sql, turns: new TurnAssignment(sql), nextPosition: null }
    this.#onDone = onDone
    const connect = (): Promise<ClientConnection> => dialect.connect()
    this.#pool = new ConnectionPool(null, {
      ...sql,
      begin: null,
      connect,
      size: count,
      mostConflicts,
      tableVersion: tables,
    })
  }

  async execute(command: Command, writes: Writes): Promise<Answer> {
    const job = 'job' in command ? command.job : ''
    const running = this.#execute(command, writes)
    this.#underWay.set(job, running)
    try {
      return await running
    } finally {
      if (this.#underWay.get(job) === running) this.#underWay.delete(job)
    }
  }

  /**
   * Decides commands; those about a job that a user's function writes with now are decided AFTER that. Its
   * row is locked, and all commands of the same transaction would wait, too.
   */
  async decideAround(
    commands: readonly Command[],
    decide: (commands: readonly Command[]) => Promise<readonly Answer[]>,
  ): Promise<readonly Answer[]> {
    const waits = commands.map((one) => ('job' in one ? this.#underWay.get(one.job) : undefined))
    const isFree = (_: Command, i: number): boolean => waits[i] === undefined
    const free = commands.filter(isFree)
    if (free.length === commands.length) return decide(commands)
    const others = commands.filter((one, i) => !isFree(one, i))
    const [first, second] = await Promise.all([
      decide(free),
      Promise.allSettled(waits.filter((one) => one !== undefined)).then(() => decide(others)),
    ])
    const answers = { free: first.values(), others: second.values() }
    return commands.map((one, i) => {
      return (isFree(one, i) ? answers.free : answers.others).next().value as Answer
    })
  }

  /** Whether a user's function writes with a job. */
  get isUnderWay(): boolean {
    return this.#underWay.size > 0
  }

  #execute(command: Command, writes: Writes): Promise<Answer> {
    let isFirst = true
    return this.#pool.run(async (connection) => {
      try {
        const frame = this.#frame(connection, command, writes)
        // The first try uses cached rows. If they are stale, saving fails, BEFORE the user's function is run.
        const usesCache = isFirst
        isFirst = false
        const { answers, applied: done } = await executeCommands(
          connection,
          [command],
          this.#parts,
          usesCache,
          frame,
        )
        this.#onDone(done)
        return answers[0] as Answer
      } catch (error) {
        const mayBeCommitted =
          error instanceof WritesFailed && error.cause instanceof TransactionFailed
        const answer = mayBeCommitted ? await this.#answerIfCommitted(connection, command) : null
        if (answer === null) throw error
        return answer
      }
    })
  }

  /** The user's function may have committed the transaction itself: the answer if it did, else null. */
  async #answerIfCommitted(connection: ClientConnection, command: Command): Promise<Answer | null> {
    const { sql } = this.#parts
    const drop = [statement(sql.rollback)]
    // There may be no transaction any more.
    await connection.run(drop).catch((error: unknown) => {
      if (error instanceof SqlFailed && error.reason === 'lost') throw error
    })
    let isNew = false
    const parts = { ...this.#parts, held: new LeasedRowCache() }
    const { answers } = await executeCommands(connection, [command], parts, false, {
      ...ownTransaction(sql),
      commit: () => {
        isNew = true
        return connection.run(drop)
      },
    })
    return isNew ? null : (answers[0] as Answer)
  }

  expectClose(): void {
    this.#pool.expectClose()
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #frame(connection: ClientConnection, command: Command, writes: Writes): TransactionBoundary {
    const { sql } = this.#parts
    const job = 'job' in command ? command.job : ''
    const whole = ownTransaction(sql)
    return {
      ...whole,
      commit: async (_, saves, answers) => {
        if (answers[0]?.verdict !== 'committed') return whole.commit(connection, saves, answers)
        await connection.run([
          ...saves,
          ...this.#dialect.limitDuration(writes.withinMs),
          statement(sql.savepoint),
        ])
        await this.#runWrites(connection, job, writes)
        await connection
          .run([statement(sql.releaseSavepoint), statement(sql.commit)])
          .catch((error: unknown) => {
            throw commitFailure(job, error)
          })
      },
    }
  }

  async #runWrites(connection: ClientConnection, job: string, writes: Writes): Promise<void> {
    const { client, revoke } = lentClient(connection.client)
    try {
      await within(writes.withinMs, async () => writes.run(client as never))
    } catch (error) {
      // The function may go on all the same: its statements must not reach the next transaction.
      if (error instanceof WritesTooSlow) void connection.close().catch(() => undefined)
      else await this.#assertOwnFailure(connection, error)
      throw new WritesFailed(job, error)
    } finally {
      revoke()
    }
  }

  /** Throws what the pool tries again: the connection failed, or another transaction was quicker. */
  async #assertOwnFailure(connection: ClientConnection, error: unknown): Promise<void> {
    if (this.#dialect.isConflict(error)) {
      throw sqlFailed('conflict', 'The writes of a commit', error as Error)
    }
    try {
      await connection.run([statement(this.#parts.sql.rollbackToSavepoint)])
    } catch (failure) {
      if (failure instanceof SqlFailed && failure.reason === 'lost') throw failure
    }
  }
}

function statement(sql: string): Statement {
  return { sql, values: [] }
}

function within(ms: number, work: () => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stop = afterMs(ms, () => reject(new WritesTooSlow(ms)), true)
    void work().then(resolve, reject).finally(stop)
  })
}

/** A commit fails for what the user's function did. */
function commitFailure(job: string, error: unknown): unknown {
  if (!(error instanceof SqlFailed) || error.reason !== 'broken') return error
  const { cause } = error
  const said = cause instanceof Error ? cause.message.replace(/\.?$/, '.') : ''
  const message = `The transaction could not be committed: ${said} A statement of the function's failed and was passed over, or broke a rule that is looked at last, or the function ended the transaction, which is not its own.`
  return new WritesFailed(job, new TransactionFailed(message, false, cause))
}

interface LentClient {
  readonly client: object
  readonly revoke: () => void
}

/**
 * A client for one transaction: once it is revoked, a function that still holds it can do nothing with it.
 * The next transaction on the same connection is not its own.
 */
function lentClient(client: object): LentClient {
  let isRevoked = false
  const lent = new Proxy(client, {
    get(target, name) {
      if (isRevoked) {
        throw new BadRequest(
          'This client was lent to the writes of one commit, and that is over: what is to be written must be written before the function returns, or its promise is settled.',
        )
      }
      const value: unknown = Reflect.get(target, name, target)
      // A native method works only on the database itself, not on a proxy.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return {
    client: lent,
    revoke: () => {
      isRevoked = true
    },
  }
}
