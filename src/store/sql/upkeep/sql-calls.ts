/**
 * What is due about calls, found in the database: callees to submit, ends to tell, callees that end with
 * their callers. `call-checks.ts` says what follows from which records; here they are read.
 *
 * A transaction that may leave something to do adds a row to `calls`. It is deleted when nothing is left to
 * do about it: so a command that was never sent, because its process died, is asked for again.
 */
import type { Command, Task, TaskAddress } from '../../../kernel/index.ts'
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

/** Rows of `calls` that are read at once, and looked at together. */
export const MOST_CALLS = 64

const NONE: ReadonlyMap<string, CountedJob> = new Map()

function taskKey({ job, stage, segment }: TaskAddress): string {
  return `${job}\u0000${stage}/${segment}`
}

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
    const commands: Command[] = []
    let page = rows
    for (;;) {
      const done = await this.#lookAt(connection, page, limit, commands)
      if (done.length > 0) {
        await connection.run([{ sql: this.#sql.deleteCalls, values: [JSON.stringify(done)] }])
      }
      // Notes about which nothing is to be done must not keep others from being looked at.
      if (commands.length > 0 || page.length < MOST_CALLS || done.length === 0) break
      const [next] = await connection.run([{ sql: this.#sql.callsToCheck, values: [MOST_CALLS] }])
      page = next?.rows ?? []
    }
    return inOrder(commands).slice(0, limit)
  }

  /** The ids of those about which nothing is left to do. */
  async #lookAt(
    connection: Connection,
    rows: readonly Row[],
    limit: number,
    commands: Command[],
  ): Promise<number[]> {
    const byTask = new Map<string, { readonly check: CallCheck; readonly ids: number[] }>()
    for (const [id, job, stage, segment] of rows as [number, string, number, number][]) {
      const key = rowKey(job, stage, segment)
      const known = byTask.get(key)
      if (known === undefined) byTask.set(key, { check: { job, stage, segment }, ids: [id] })
      else known.ids.push(id)
    }
    const done: number[] = []
    if (byTask.size === 0) return done
    const dueOf = await this.#read(
      connection,
      [...byTask.values()].map(({ check }) => check),
    )
    for (const { check, ids } of byTask.values()) {
      if (commands.length >= limit) break
      const due = dueOf(check)
      if (due.length === 0) done.push(...ids)
      commands.push(...due)
    }
    return done
  }

  /** What is due about each of these, from records that are read together. */
  async #read(
    connection: Connection,
    checks: readonly CallCheck[],
  ): Promise<(check: CallCheck) => Command[]> {
    const now = await this.#queries.now(connection)
    const ended = checks.filter(({ stage }) => stage === AS_CALLEE).map(({ job }) => job)
    const callees = await this.#counted(connection, ended)
    const callers = [...callees.values()].flatMap(({ job }) => job.spec.caller ?? [])
    const calling = checks.filter(({ stage }) => stage !== AS_CALLEE)
    const asked = [...callers, ...calling]
    const tasks = new Map<string, Task>()
    for (const one of await this.#queries.tasksAt(connection, asked)) {
      if (one !== null) tasks.set(taskKey(one.task), one.task)
    }
    const called = calling.flatMap((check) => {
      const task = tasks.get(taskKey(check))
      return task === undefined ? [] : pendingCalls(task).map((wait) => calleeOf(wait) as string)
    })
    const unread = [...new Set(called)].filter((id) => !callees.has(id))
    const found = new Map([...callees, ...(await this.#counted(connection, unread))])
    return (check) => {
      if (check.stage !== AS_CALLEE) {
        const task = tasks.get(taskKey(check))
        if (task === undefined) return []
        return commandsOfCaller(task, (id) => found.get(id) ?? null, now)
      }
      const callee = callees.get(check.job)
      const ref = callee?.job.spec.caller ?? null
      if (callee === undefined || ref === null) return []
      return commandsOfCallee(callee, tasks.get(taskKey(ref)) ?? null, now)
    }
  }

  async #counted(
    connection: Connection,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, CountedJob>> {
    if (ids.length === 0) return NONE
    const jobs = await this.#queries.ownRecords(connection, ids)
    const pipelines = jobs.filter(({ task }) => task === null)
    const tallies = await this.#queries.talliesOf(connection, pipelines)
    return new Map(jobs.map((job) => [job.id, { job, tallies: tallies.get(job.id) ?? NO_TALLIES }]))
  }
}
