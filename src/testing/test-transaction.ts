/**
 * What a handler writes with its commit (`commit(…).with(write)`), in a test: the engine is in memory, and the
 * transaction is the test's own. It is a fake, whose client the test made up, or that of a real database. The
 * engine calls `write` where a database would: only if the commit holds, and so that a `write` that throws
 * commits nothing.
 */
import { InvalidDefinition } from '../definition/index.ts'
import type { Command } from '../kernel/index.ts'
import type { Answer, Store, Writes } from '../store/index.ts'
import { WritesFailed } from '../store/index.ts'

/**
 * Begins, awaits `run` with the client that `write` is to get, and ends: it commits if `run` resolves, and rolls
 * back if it rejects. A fake is `(run) => run(client)`.
 */
export type TestTransaction = (run: (client: unknown) => Promise<void>) => unknown

/** The part of a database that `begin`, `commit` and `rollback` need. */
interface SqliteLike {
  exec(sql: string): unknown
}

/** A transaction on a real SQLite database, such as one of `openSqlite`. */
export function sqliteTransaction(database: SqliteLike): TestTransaction {
  return async (run) => {
    database.exec('begin immediate')
    try {
      await run(database)
    } catch (error) {
      database.exec('rollback')
      throw error
    }
    database.exec('commit')
  }
}

/** Ends the transaction of a commit that does not hold. */
class NotCommitted extends Error {}

/** As a store on a database does it; the user's function has all the time it wants. */
export async function executeInTransaction(
  store: Store,
  transaction: TestTransaction,
  command: Command,
  writes: Writes,
): Promise<Answer> {
  if (!(await mayHold(store, command))) return executeOne(store, command)
  let answer: Answer | null = null
  try {
    await transaction(async (client) => {
      await runWrites(command, writes, client)
      answer = await executeOne(store, command)
      if (answer.verdict !== 'committed') throw new NotCommitted()
    })
  } catch (error) {
    if (!(error instanceof NotCommitted)) throw error
  }
  if (answer === null) {
    throw new InvalidDefinition(
      '`transaction` of testEngine() did not call what it was given. Write: (run) => run(client)',
    )
  }
  return answer
}

async function executeOne(store: Store, command: Command): Promise<Answer> {
  const [answer] = await store.execute([command])
  return answer as Answer
}

/** Whether the lease that it is sent by is the one that the task has, and nothing is committed. */
async function mayHold(store: Store, command: Command): Promise<boolean> {
  if (command.type !== 'CommitExecution') return false
  const { job, stage, segment, lease } = command
  const view = await store.query({ kind: 'job', job })
  const task = view?.stages[stage]?.tasks.find((one) => one.segment === segment)
  return task?.lease?.number === lease && task.commit === null
}

async function runWrites(command: Command, { run }: Writes, client: unknown): Promise<void> {
  try {
    await run(client as never)
  } catch (error) {
    throw new WritesFailed('job' in command ? command.job : '', error)
  }
}
