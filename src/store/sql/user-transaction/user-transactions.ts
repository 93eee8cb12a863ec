/**
 * Commands that are decided in transactions of the user's.
 *
 * The rows are loaded, locked and saved as always, and the kernel decides; but the decision holds only when
 * the user commits. The store cannot run the user's transaction again: it goes back to its own savepoint and
 * tries again from there, and if that does not help, the user is told.
 */
import type { Command } from '../../../kernel/index.ts'
import { BadRequest } from '../../errors.ts'
import type { News } from '../../notice.ts'
import type { Answer } from '../../store.ts'
import type { UserTransaction } from '../../user-transaction.ts'
import { TransactionFailed } from '../../user-transaction.ts'
import type { Statement, Connection } from '../connection.ts'
import type { UserTransactionDialect } from '../dialect.ts'
import type { SqlFailureReason } from '../failures.ts'
import { innermost, SqlFailed } from '../failures.ts'
import type { TableVersion } from '../tables.ts'
import type { Statements } from '../statements.ts'
import type { TransactionBoundary } from '../transaction/transaction.ts'
import type { TransactionContext } from '../transaction/context.ts'
import { withoutMemory } from '../transaction/context.ts'
import { executeCommands } from '../transaction/transaction.ts'

/** As many as in a transaction of our own. */
const MOST_COMMANDS = 500
/** So often another transaction may be quicker. One at `repeatable read` never sees what that one wrote. */
const MOST_TRIES = 3

/** There may be a task to claim, or a stage to open. */
const SUBMITTED: News = new Set(['work', 'upkeep'] as const)

export class UserTransactions {
  readonly #id: string
  readonly #dialect: UserTransactionDialect
  readonly #parts: TransactionContext
  readonly #tables: TableVersion
  /** Connections that are known to lead to this store. */
  readonly #known = new WeakSet<object>()
  /** The last call on a connection: one at a time, because savepoints nest. */
  readonly #last = new WeakMap<object, Promise<unknown>>()

  /** `id`: of the store. */
  constructor(
    id: string,
    dialect: UserTransactionDialect,
    parts: TransactionContext,
    tables: TableVersion,
  ) {
    this.#tables = tables
    this.#id = id
    this.#dialect = dialect
    this.#parts = { ...parts, sql: dialect.statements }
  }

  async execute(transaction: UserTransaction, commands: readonly Command[]): Promise<Answer[]> {
    assertNoErasing(commands)
    const key = transaction.connection ?? transaction
    const before = this.#last.get(key) ?? Promise.resolve()
    const answering = before.then(() => this.#execute(transaction, key, commands))
    this.#last.set(
      key,
      answering.catch(() => undefined),
    )
    return answering
  }

  async #execute(
    transaction: UserTransaction,
    key: object,
    commands: readonly Command[],
  ): Promise<Answer[]> {
    const connection = this.#dialect.connection(transaction)
    try {
      const answers: Answer[] = []
      while (answers.length < commands.length) {
        const left = commands.slice(answers.length, answers.length + MOST_COMMANDS)
        answers.push(...(await this.#decide(connection, key, left)))
      }
      return answers
    } catch (error) {
      throw error instanceof SqlFailed ? failed(error) : error
    }
  }

  /** The tables that the transaction sees may be those of another database. */
  async #assertHere(connection: Connection, key: object): Promise<void> {
    const [answered] = await connection.run([{ sql: this.#parts.sql.readMeta, values: ['id'] }])
    if (answered?.rows[0]?.[0] !== this.#id) {
      const message =
        'The transaction is in another database than this store: give it one of the database that the store was opened on.'
      throw new TransactionFailed(message, false, undefined)
    }
    this.#dialect.assertSafe()
    this.#known.add(key)
  }

  async #decide(
    connection: Connection,
    key: object,
    commands: readonly Command[],
  ): Promise<readonly Answer[]> {
    const { sql } = this.#parts
    // Empty caches: the transaction may be rolled back, and may see the tables as they were long ago.
    const parts = withoutMemory(this.#parts)
    const boundary = savepointBoundary(sql, this.#dialect.notify(this.#id, SUBMITTED))
    await this.#dialect.setSavepoint(connection)
    const isNew = !this.#known.has(key)
    if (isNew) await this.#assertHere(connection, key)
    if (this.#tables.isDue(isNew)) await this.#tables.assertKnown(connection)
    for (let tries = 1; ; tries++) {
      try {
        const { answers } = await executeCommands(connection, commands, parts, false, boundary)
        return answers
      } catch (error) {
        const isConflict = error instanceof SqlFailed && error.reason === 'conflict'
        if (!isConflict || tries === MOST_TRIES) throw error
        // If this fails, too, the whole transaction is lost: the first reason says more.
        await connection.run([statement(sql.rollbackToSavepoint)]).catch(() => {
          throw error
        })
      }
    }
  }
}

/**
 * Erasing rewrites a job's events in portions and then removes its files and what its handlers said. None of the
 * latter can be rolled back, and before the user commits none of it may be done.
 */
function assertNoErasing(commands: readonly Command[]): void {
  const erasing = commands.find((command) => command?.type === 'EraseJob')
  if (erasing === undefined) return
  throw new BadRequest(
    `EraseJob of job ${erasing.job} was given in a transaction of yours. A job is erased in a transaction of its own: send it by \`execute\`, once yours is committed.`,
  )
}

function statement(sql: string): Statement {
  return { sql, values: [] }
}

/** From a savepoint on. If there is nothing to save, it is rolled back to, so that no lock stays. */
function savepointBoundary(
  { rollbackToSavepoint, releaseSavepoint }: Statements,
  notify: readonly Statement[],
): TransactionBoundary {
  return {
    begin: [],
    rollback: [statement(rollbackToSavepoint), statement(releaseSavepoint)],
    commit: (connection, saves) => {
      return connection.run([...saves, ...notify, statement(releaseSavepoint)])
    },
  }
}

const RETRYABLE: ReadonlySet<SqlFailureReason> = new Set<SqlFailureReason>(['conflict', 'lost'])

const WHAT_TO_DO: Readonly<Partial<Record<SqlFailureReason, string>>> = {
  conflict:
    'Another transaction was quicker, and a transaction that is yours cannot be done again from here: roll it back, and run it again from its beginning.',
  lost: 'The connection is gone, and your transaction with it: nothing of it was committed. Run it again from its beginning.',
  missing:
    'The tables of this store are not there: is it the database that the store was opened on? Roll the transaction back.',
}

function failed(error: SqlFailed): TransactionFailed {
  const { reason, cause } = error
  const said = innermost(cause).message.replace(/\.?$/, '.')
  const then = WHAT_TO_DO[reason] ?? 'Roll the transaction back.'
  const message = `A submit in your transaction failed: ${said} ${then}`
  return new TransactionFailed(message, RETRYABLE.has(reason), cause)
}
