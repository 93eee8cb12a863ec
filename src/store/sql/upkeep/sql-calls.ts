/**
 * What is due about calls, found in the database: callees to submit, ends to tell, callees that end with
 * their callers. `call-checks.ts` says what follows from which records; here they are read.
 *
 * A transaction that may leave something to do adds a row to `calls`. It is deleted when nothing is left to
 * do about it: so a command that was never sent, because its process died, is asked for again.
 */
import type { Command, Task } from '../../../kernel/index.ts'
import { calleeOf, NO_TALLIES } from '../../../kernel/index.ts'
import type { CallCheck, CountedJob } from '../../state/call-checks.ts'
import {
  AS_CALLEE,
  commandsOfCallee,
  commandsOfCaller,
  inOrder,
  pendingCalls,
} from '../../state/call-checks.ts'
import type { Connection, Row } from '../connection.ts'
import type { JobQueries } from '../queries/job-queries.ts'
import { rowKey } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'

/** Rows of `calls` that are read at once: each costs a few reads more. */
export const MOST_CALLS = 64

export class SqlCalls {
  readonly #sql: Statements
  readonly #queries: JobQueries

  constructor(sql: Statements, queries: JobQueries) {
    this.#sql = sql
    this.#queries = queries
  }

  /** `rows`: of `callsToCheck`. At most `limit` commands. */
  async dueCommands(
    connection: Connection,
    rows: readonly Row[],
    limit: number,
  ): Promise<Command[]> {
    const byTask = new Map<string, { readonly check: CallCheck; readonly ids: number[] }>()
    for (const [id, job, stage, segment] of rows as [number, string, number, number][]) {
      const key = rowKey(job, stage, segment)
      const known = byTask.get(key)
      if (known === undefined) byTask.set(key, { check: { job, stage, segment }, ids: [id] })
      else known.ids.push(id)
    }
    const commands: Command[] = []
    const done: number[] = []
    const now = byTask.size === 0 ? 0 : await this.#queries.now(connection)
    for (const { check, ids } of byTask.values()) {
      if (commands.length >= limit) break
      const due = await this.#dueOf(connection, check, now)
      if (due.length === 0) done.push(...ids)
      commands.push(...due)
    }
    if (done.length > 0) {
      await connection.run([{ sql: this.#sql.deleteCalls, values: [JSON.stringify(done)] }])
    }
    return inOrder(commands).slice(0, limit)
  }

  async #dueOf(connection: Connection, check: CallCheck, now: number): Promise<Command[]> {
    if (check.stage !== AS_CALLEE) {
      const task = await this.#task(connection, check)
      return task === null ? [] : this.#dueOfCaller(connection, task, now)
    }
    const callee = (await this.#counted(connection, [check.job])).get(check.job)
    const ref = callee?.job.spec.caller ?? null
    if (callee === undefined || ref === null) return []
    return commandsOfCallee(callee, await this.#task(connection, ref), now)
  }

  #task(connection: Connection, { job, stage, segment }: CallCheck): Promise<Task | null> {
    return this.#queries.task(connection, { job, stage, segment })
  }

  async #dueOfCaller(connection: Connection, task: Task, now: number): Promise<Command[]> {
    const callees = pendingCalls(task).map((wait) => calleeOf(wait) as string)
    if (callees.length === 0) return []
    const found = await this.#counted(connection, callees)
    return commandsOfCaller(task, (id) => found.get(id) ?? null, now)
  }

  async #counted(
    connection: Connection,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, CountedJob>> {
    const jobs = await this.#queries.ownRecords(connection, ids)
    const pipelines = jobs.filter(({ task }) => task === null)
    const tallies = await this.#queries.talliesOf(connection, pipelines)
    return new Map(jobs.map((job) => [job.id, { job, tallies: tallies.get(job.id) ?? NO_TALLIES }]))
  }
}
