/**
 * What time and the orchestrator have to ask for, found in the database: leases that ran out, tasks
 * that came too late, stages to open, tasks of ending pipelines to stop, jobs to forget.
 *
 * It only says which commands are due. Any process may ask, and several at once: commands that two of
 * them send are decided once. A pipeline is looked at after an entry that could have changed what is
 * due; the note of that is removed when nothing is left to do.
 */
import type { Command, Job, Tallies } from '../../../kernel/index.ts'
import {
  isEnding,
  isFinal,
  jobEndedAt,
  jobState,
  NO_TALLIES,
  openableStages,
  stagesOf,
} from '../../../kernel/index.ts'
import type { Connection, Row } from '../connection.ts'
import type { JobQueries } from '../queries/job-queries.ts'
import type { Statements } from '../statements.ts'

/** Notes of one look: many of them are of the same pipeline. */
const MOST_LOOKS = 2_000

export class SqlDueCommands {
  readonly #sql: Statements
  readonly #queries: JobQueries
  readonly #onOver: () => void

  /** `onOver`: pipelines were found to be over. */
  constructor(sql: Statements, queries: JobQueries, onOver: () => void) {
    this.#sql = sql
    this.#queries = queries
    this.#onOver = onOver
  }

  /** At most `limit` commands. `now`: null is the database's own clock. */
  async due(connection: Connection, now: number | null, limit: number): Promise<Command[]> {
    const sql = this.#sql
    const [expired, tooLate, looks] = await connection.run([
      { sql: sql.expired, values: [now, limit] },
      { sql: sql.tooLate, values: [now, limit] },
      { sql: sql.looks, values: [MOST_LOOKS] },
    ])
    const commands: Command[] = []
    for (const row of expired?.rows ?? []) commands.push(expire(row))
    for (const row of tooLate?.rows ?? []) commands.push(stop(row))
    if (commands.length >= limit) return commands.slice(0, limit)
    const notes = new Map<string, number[]>()
    for (const [id, job] of looks?.rows ?? []) {
      notes.set(job as string, [...(notes.get(job as string) ?? []), id as number])
    }
    if (notes.size > 0) await this.#lookInto(connection, notes, commands, limit)
    return commands
  }

  /** AFTER the notes were read, so that what they stand for is seen. */
  async #lookInto(
    connection: Connection,
    notes: ReadonlyMap<string, readonly number[]>,
    commands: Command[],
    limit: number,
  ): Promise<void> {
    const ids = [...notes.keys()]
    const ask = { sql: this.#sql.jobRows, rows: ids.map((id) => [id]) }
    const [answered] = await connection.run([ask])
    const jobs = this.#queries.recordsOf(answered?.rows ?? []).map(({ job }) => job)
    const byJob = await this.#queries.talliesOf(connection, jobs)
    const settled = new Set(ids)
    const over: Row[] = []
    for (const job of jobs) {
      const tallies = byJob.get(job.id) ?? NO_TALLIES
      const before = commands.length
      if (before < limit) await this.#lookAt(connection, job, tallies, commands, limit)
      if (commands.length > before || before >= limit) settled.delete(job.id)
      else if (isFinal(jobState(job, tallies, 0))) over.push([job.id, jobEndedAt(job, tallies)])
    }
    const through = [...settled].flatMap((id) => (notes.get(id) ?? []).map((note) => [note]))
    if (through.length === 0) return
    await connection.run([
      { sql: this.#sql.markOver, rows: over },
      { sql: this.#sql.forgetLooks, rows: through },
    ])
    if (over.length > 0) this.#onOver()
  }

  async #lookAt(
    connection: Connection,
    job: Job,
    tallies: Tallies,
    commands: Command[],
    limit: number,
  ): Promise<void> {
    if (isEnding(job, tallies)) {
      const ask = { sql: this.#sql.stoppable, values: [job.id, limit - commands.length] }
      const [answered] = await connection.run([ask])
      for (const [stage, segment] of answered?.rows ?? []) {
        if (stagesOf(job)[stage as number]?.onFailure !== true) {
          commands.push(stop([job.id, stage as number, segment as number]))
        }
      }
    }
    for (const stage of openableStages(job, tallies)) {
      if (commands.length >= limit) return
      commands.push({ type: 'OpenStage', job: job.id, stage })
    }
  }
}

/** A plain job's own row is its only task. */
function expire([job, stage, segment, attempt]: Row): Command {
  return {
    type: 'ExpireLease',
    job: job as string,
    stage: Math.max(0, stage as number),
    segment: segment as number,
    lease: attempt as number,
  }
}

function stop([job, stage, segment]: Row): Command {
  return {
    type: 'StopTask',
    job: job as string,
    stage: Math.max(0, stage as number),
    segment: segment as number,
  }
}
