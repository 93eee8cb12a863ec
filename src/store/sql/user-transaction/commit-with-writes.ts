/**
 * Commands that are decided together with writes of the user's, each in a transaction of its own, on
 * connections that nobody else uses: a user who takes long keeps only other users waiting.
 *
 * What was decided is saved first, and then the user writes: whatever ends the transaction ends both.
 * The user's function is run only if the command is taken, and taken now: not if authority was lost
 * (which is noted), and not if it was committed before.
 */
import type { Command } from '../../../kernel/index.ts'
import { afterMs } from '../../clock.ts'
import type { Answer } from '../../store.ts'
import type { Writes } from '../../user-transaction.ts'
import { TransactionFailed, WritesFailed, WritesTooSlow } from '../../user-transaction.ts'
import type { Statement, ClientConnection } from '../connection.ts'
import type { UserTransactionDialect } from '../dialect.ts'
import { SqlFailed, sqlFailed } from '../failures.ts'
import { LeasedRowCache } from '../transaction/context.ts'
import { ConnectionPool } from '../connection-pool.ts'
import { lend } from './lent-client.ts'
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
  /** By job. */
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
   * Decides these commands; those that are about a job that a user writes with right now come when
   * that is over. Its row is locked, and whoever is decided together with them would wait, too.
   */
  async around(
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

  /** Whether a user writes with a job. */
  get isUnderWay(): boolean {
    return this.#underWay.size > 0
  }

  #execute(command: Command, writes: Writes): Promise<Answer> {
    let trusts = true
    return this.#pool.run(async (connection) => {
      try {
        const frame = this.#frame(connection, command, writes)
        // What is wrong about what was not looked up shows when it is saved, BEFORE the user writes.
        const trusting = trusts
        trusts = false
        const { answers, applied: done } = await executeCommands(
          connection,
          [command],
          this.#parts,
          trusting,
          frame,
        )
        this.#onDone(done)
        return answers[0] as Answer
      } catch (error) {
        const mayBeIn = error instanceof WritesFailed && error.cause instanceof TransactionFailed
        const answer = mayBeIn ? await this.#known(connection, command) : null
        if (answer === null) throw error
        return answer
      }
    })
  }

  /** A function may have committed what is not its own: what is answered if that is so, else null. */
  async #known(connection: ClientConnection, command: Command): Promise<Answer | null> {
    const { sql } = this.#parts
    const drop = [ask(sql.rollback)]
    // There may be no transaction any more.
    await connection.run(drop).catch((error: unknown) => {
      if (error instanceof SqlFailed && error.trouble === 'lost') throw error
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

  close(): Promise<void> {
    return this.#pool.close()
  }

  #frame(connection: ClientConnection, command: Command, writes: Writes): TransactionBoundary {
    const { sql } = this.#parts
    const job = 'job' in command ? command.job : ''
    const whole = ownTransaction(sql)
    return {
      ...whole,
      commit: async (_, asks, answers) => {
        if (answers[0]?.verdict !== 'committed') return whole.commit(connection, asks, answers)
        await connection.run([
          ...asks,
          ...this.#dialect.limitDuration(writes.withinMs),
          ask(sql.savepoint),
        ])
        await this.#write(connection, job, writes)
        await connection
          .run([ask(sql.releaseSavepoint), ask(sql.commit)])
          .catch((error: unknown) => {
            throw notEnded(job, error)
          })
      },
    }
  }

  async #write(connection: ClientConnection, job: string, writes: Writes): Promise<void> {
    const { client, takeBack } = lend(connection.client)
    try {
      await within(writes.withinMs, async () => writes.run(client as never))
    } catch (error) {
      // Whoever goes on all the same must not meet the next transaction.
      if (error instanceof WritesTooSlow) void connection.close().catch(() => undefined)
      else await this.#assertLiving(connection, error)
      throw new WritesFailed(job, error)
    } finally {
      takeBack()
    }
  }

  /** If it was the connection that failed, or somebody was quicker, all of it is done again. */
  async #assertLiving(connection: ClientConnection, error: unknown): Promise<void> {
    if (this.#dialect.isConflict(error)) {
      throw sqlFailed('conflict', 'The writes of a commit', error as Error)
    }
    try {
      await connection.run([ask(this.#parts.sql.rollbackToSavepoint)])
    } catch (failure) {
      if (failure instanceof SqlFailed && failure.trouble === 'lost') throw failure
    }
  }
}

function ask(sql: string): Statement {
  return { sql, values: [] }
}

function within(ms: number, work: () => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stop = afterMs(ms, () => reject(new WritesTooSlow(ms)), true)
    void work().then(resolve, reject).finally(stop)
  })
}

/** What is said at the very end is about what the user did. */
function notEnded(job: string, error: unknown): unknown {
  if (!(error instanceof SqlFailed) || error.trouble !== 'broken') return error
  const { cause } = error
  const said = cause instanceof Error ? cause.message.replace(/\.?$/, '.') : ''
  const message = `The transaction could not be committed: ${said} A statement of the function's failed and was passed over, or broke a rule that is looked at last, or the function ended the transaction, which is not its own.`
  return new WritesFailed(job, new TransactionFailed(message, false, cause))
}
