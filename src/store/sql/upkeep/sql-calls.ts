/**
 * What is due about calls, found in the database: callees to submit, ends to tell, callees that end with
 * their callers. `call-checks.ts` says what follows from which records; here they are read.
 *
 * A transaction that may leave something to do adds a row to `calls`. It is deleted when nothing is left to
 * do about it: so a command that was never sent, because its process died, is asked for again.
 */
import type { Command, JobState, Task } from '../../../kernel/index.ts'
import { calleeOf } from '../../../kernel/index.ts'
import type { CallCheck } from '../../state/call-checks.ts'
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
    const [job] = await this.#queries.ownRecords(connection, [check.job])
    const ref = job?.spec.caller ?? null
    if (job === undefined || ref === null) return []
    const [outcome] = await this.#queries.outcomes(connection, [job.id])
    if (outcome == null) return []
    return commandsOfCallee(job, outcome.state, await this.#task(connection, ref), now)
  }

  #task(connection: Connection, { job, stage, segment }: CallCheck): Promise<Task | null> {
    return this.#queries.task(connection, { job, stage, segment })
  }

  async #dueOfCaller(connection: Connection, task: Task, now: number): Promise<Command[]> {
    const callees = pendingCalls(task).map((wait) => calleeOf(wait) as string)
    if (callees.length === 0) return []
    const outcomes = await this.#queries.outcomes(connection, callees)
    const states = new Map<string, JobState | null>(
      callees.map((id, i) => [id, outcomes[i]?.state ?? null]),
    )
    return commandsOfCaller(task, (id) => states.get(id) ?? null, now)
  }
}
