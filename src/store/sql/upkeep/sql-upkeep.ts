/**
 * Which commands time and the orchestrator are due to send, found in the database: expire leases, stop
 * tasks that no worker took in time, open stages, stop tasks of ending pipelines, forget jobs.
 *
 * It decides nothing. Any process may ask, and several at once: a command that two of them send is
 * decided once. A transaction that changes a pipeline leaves a note for it; the note is deleted when
 * nothing is left to do for the pipeline.
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
import type { Retention } from '../../store.ts'
import type { Connection, Row } from '../connection.ts'
import type { JobQueries, QueryContext } from '../queries/job-queries.ts'
import { jobRecords } from '../rows/work-rows.ts'
import { QueueCountFold } from './queue-count-fold.ts'
import { SqlRetention } from './sql-retention.ts'
import { UnusedRows } from './unused-rows.ts'

/** Notes that are read at once: many of them are of the same pipeline. */
const MOST_NOTES = 2_000

export class SqlUpkeep {
  readonly #context: QueryContext
  readonly #queries: JobQueries
  readonly #unusedRows: UnusedRows
  readonly #countFold: QueueCountFold
  readonly #retention: SqlRetention
  readonly #onEnded: () => void

  /** `onEnded`: pipelines were found to have come to their end. */
  constructor(
    context: QueryContext,
    queries: JobQueries,
    retention: Retention,
    onEnded: () => void,
  ) {
    this.#context = context
    this.#queries = queries
    this.#unusedRows = new UnusedRows(context.sql)
    this.#countFold = new QueueCountFold(context.sql)
    this.#retention = new SqlRetention(context.sql, retention)
    this.#onEnded = onEnded
  }

  /** At most `limit` commands. Deletes rows that say nothing any more, now and then. */
  async dueCommands(connection: Connection, limit: number, forgets: boolean): Promise<Command[]> {
    const commands = await this.#dueNow(connection, limit)
    const now = await this.#queries.now(connection)
    await this.#unusedRows.deleteIfDue(connection, now)
    await this.#countFold.foldIfDue(connection)
    const left = forgets ? limit - commands.length : 0
    return [...commands, ...(await this.#retention.dueCommands(connection, now, left))]
  }

  /** Forgetting a job was refused: it is not asked for again for a while. */
  postponeForget(job: string, now: number): void {
    this.#retention.postpone(job, now)
  }

  /** A transaction of this process was committed. */
  noteCommitted(): void {
    this.#countFold.noteChanges()
  }

  async #dueNow(connection: Connection, limit: number): Promise<Command[]> {
    const { sql, now } = this.#context
    const [expired, tooLate, notes] = await connection.run([
      { sql: sql.expiredLeases, values: [now(), limit] },
      { sql: sql.startTooLate, values: [now(), limit] },
      { sql: sql.pipelineNotes, values: [MOST_NOTES] },
    ])
    const commands: Command[] = []
    for (const row of expired?.rows ?? []) commands.push(expireLease(row))
    for (const row of tooLate?.rows ?? []) commands.push(stopTask(row))
    if (commands.length >= limit) return commands.slice(0, limit)
    const byJob = new Map<string, number[]>()
    for (const [id, job] of notes?.rows ?? []) {
      byJob.set(job as string, [...(byJob.get(job as string) ?? []), id as number])
    }
    if (byJob.size > 0) await this.#checkPipelines(connection, byJob, commands, limit)
    return commands
  }

  /** AFTER the notes were read, so that it sees what they stand for. */
  async #checkPipelines(
    connection: Connection,
    notes: ReadonlyMap<string, readonly number[]>,
    commands: Command[],
    limit: number,
  ): Promise<void> {
    const { sql, records } = this.#context
    const ids = [...notes.keys()]
    const [found] = await connection.run([{ sql: sql.jobRows, rows: ids.map((id) => [id]) }])
    const jobs = jobRecords(found?.rows ?? [], records).map(({ job }) => job)
    const byJob = await this.#queries.talliesOf(connection, jobs)
    const finished = new Set(ids)
    const ended: Row[] = []
    for (const job of jobs) {
      const tallies = byJob.get(job.id) ?? NO_TALLIES
      const before = commands.length
      if (before < limit) await this.#checkPipeline(connection, job, tallies, commands, limit)
      if (commands.length > before || before >= limit) finished.delete(job.id)
      else if (isFinal(jobState(job, tallies, 0))) ended.push([job.id, jobEndedAt(job, tallies)])
    }
    const finishedNotes = [...finished].flatMap((id) => (notes.get(id) ?? []).map((note) => [note]))
    if (finishedNotes.length === 0) return
    await connection.run([
      { sql: sql.markEnded, rows: ended },
      { sql: sql.deletePipelineNotes, rows: finishedNotes },
    ])
    if (ended.length > 0) this.#onEnded()
  }

  async #checkPipeline(
    connection: Connection,
    job: Job,
    tallies: Tallies,
    commands: Command[],
    limit: number,
  ): Promise<void> {
    if (isEnding(job, tallies)) {
      const statement = {
        sql: this.#context.sql.tasksToStop,
        values: [job.id, limit - commands.length],
      }
      const [found] = await connection.run([statement])
      for (const [stage, segment] of found?.rows ?? []) {
        if (stagesOf(job)[stage as number]?.onFailure !== true) {
          commands.push(stopTask([job.id, stage as number, segment as number]))
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
function expireLease([job, stage, segment, attempt]: Row): Command {
  return {
    type: 'ExpireLease',
    job: job as string,
    stage: Math.max(0, stage as number),
    segment: segment as number,
    lease: attempt as number,
  }
}

function stopTask([job, stage, segment]: Row): Command {
  return {
    type: 'StopTask',
    job: job as string,
    stage: Math.max(0, stage as number),
    segment: segment as number,
  }
}
