/**
 * Which commands time and the orchestrator are due to send, found in the database: expire leases, stop
 * tasks that no worker took in time, open stages, stop tasks of ending pipelines, what is to be done about
 * calls, forget jobs.
 *
 * It decides nothing. Any process may ask, and several at once: a command that two of them send is
 * decided once. A transaction that changes a pipeline adds a row to its tallies; the rows are folded into
 * one for each stage when nothing is left to do for the pipeline.
 */
import type { Command, Job, JobState, Tallies } from '../../../kernel/index.ts'
import {
  emptyTally,
  isEnding,
  isFinal,
  jobEndedAt,
  jobState,
  openableStages,
  stagesOf,
} from '../../../kernel/index.ts'
import type { CallCheck } from '../../state/call-checks.ts'
import { checksOfEnd } from '../../state/call-checks.ts'
import { cancelLate, isPastDeadline } from '../../state/due-commands.ts'
import type { Retention } from '../../store.ts'
import type { Connection, Row } from '../connection.ts'
import type { JobQueries, QueryContext } from '../queries/job-queries.ts'
import { TallyChange, tallyRowAddress } from '../rows/tally-rows.ts'
import type { HistoryPruning } from './history-pruning.ts'
import { CountFold } from './count-fold.ts'
import { PipelineStates } from './pipeline-states.ts'
import { MOST_CALLS, SqlCalls } from './sql-calls.ts'
import { SqlRetention } from './sql-retention.ts'
import { UnusedRows } from './unused-rows.ts'

/** Rows that are read at once: many of them are of the same pipeline. */
const MOST_ROWS = 2_000

interface PipelineAsCounted {
  readonly state: JobState
  /** It has held effects. */
  readonly held: boolean
}

/** For which nothing is left to do. */
interface CheckedPipeline {
  readonly id: string
  /** The rows of its tallies that were read. */
  readonly rows: readonly number[]
  /** It is over. Null: it is not. */
  readonly end: { readonly at: number; readonly checks: readonly CallCheck[] } | null
}

/** The rows of a pipeline's tallies that were read, added up. */
class ReadTallies {
  readonly ids: number[] = []
  readonly #stages = new Map<number, TallyChange>()

  add(row: Row): void {
    const { id, stage } = tallyRowAddress(row)
    this.ids.push(id)
    const change = this.#stages.get(stage) ?? new TallyChange()
    this.#stages.set(stage, change)
    change.addRow(row)
  }

  /** It is RUNNING while a task is leased, whatever the others are. */
  isSurelyCounted(as: PipelineAsCounted | undefined): boolean {
    const tallies = Array.from(this.#stages.values(), ({ tally }) => tally)
    const held = tallies.some(({ deadCommitted }) => deadCommitted > 0)
    return as?.state === 'RUNNING' && as.held === held && tallies.some(({ leased }) => leased > 0)
  }

  /** Without the time of the next retry: what is due does not depend on it. */
  tallies(job: Job): Tallies {
    return stagesOf(job).map((_, stage) => this.#stages.get(stage)?.tally ?? emptyTally())
  }
}

export class SqlUpkeep {
  readonly #context: QueryContext
  readonly #queries: JobQueries
  readonly #unusedRows: UnusedRows
  readonly #countFold: CountFold
  readonly #pipelineStates: PipelineStates
  readonly #retention: SqlRetention
  readonly #pruning: HistoryPruning
  readonly #calls: SqlCalls
  readonly #onEnded: () => void

  /** `onEnded`: pipelines were found to have come to their end. */
  constructor(
    context: QueryContext,
    queries: JobQueries,
    retention: Retention,
    pruning: HistoryPruning,
    onEnded: () => void,
  ) {
    this.#context = context
    this.#queries = queries
    this.#unusedRows = new UnusedRows(context.sql)
    this.#countFold = new CountFold(context.sql)
    this.#pipelineStates = new PipelineStates(context.sql, queries)
    this.#retention = new SqlRetention(context.sql, retention)
    this.#pruning = pruning
    this.#calls = new SqlCalls(context.sql, queries)
    this.#onEnded = onEnded
  }

  /** At most `limit` commands. Deletes rows that say nothing any more, and old events, now and then. */
  async dueCommands(connection: Connection, limit: number, forgets: boolean): Promise<Command[]> {
    const commands = await this.#dueNow(connection, limit)
    const left = forgets ? limit - commands.length : 0
    await this.#countFold.foldIfDue(connection)
    // What is due does not wait for it.
    const prunes = commands.length === 0 && this.#pruning.isDue
    const forgetsNow = this.#retention.isDue(this.#context.now(), left)
    if (!this.#unusedRows.isDue && !forgetsNow && !prunes) return commands
    const now = await this.#queries.now(connection)
    await this.#unusedRows.deleteIfDue(connection, now)
    if (prunes) await this.#pruning.pruneIfDue(connection, now)
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
    const [expired, tooLate, pastDeadline, toCheck, calls] = await connection.run([
      { sql: sql.expiredLeases, values: [now(), limit] },
      { sql: sql.startTooLate, values: [now(), limit] },
      { sql: sql.pastDeadline, values: [now(), limit] },
      { sql: sql.pipelinesToCheck, values: [MOST_ROWS] },
      { sql: sql.callsToCheck, values: [MOST_CALLS] },
    ])
    const commands: Command[] = []
    for (const row of expired?.rows ?? []) commands.push(expireLease(row))
    for (const row of tooLate?.rows ?? []) commands.push(stopTask(row))
    const ids = new Set((toCheck?.rows ?? []).map(([job]) => job as string))
    for (const [job, state] of pastDeadline?.rows ?? []) {
      // Of a pipeline the tallies say whether there is still something to cancel.
      if (state === 'PIPELINE') ids.add(job as string)
      else commands.push(cancelLate(job as string))
    }
    if (commands.length >= limit) return commands.slice(0, limit)
    if (ids.size > 0) await this.#checkPipelines(connection, [...ids], commands, limit)
    const left = limit - commands.length
    if (left <= 0) return commands
    // A pipeline that was found to be over may have been called.
    const [found = calls] =
      ids.size > 0 ? await connection.run([{ sql: sql.callsToCheck, values: [MOST_CALLS] }]) : []
    return [...commands, ...(await this.#calls.dueCommands(connection, found?.rows ?? [], left))]
  }

  async #checkPipelines(
    connection: Connection,
    ids: readonly string[],
    commands: Command[],
    limit: number,
  ): Promise<void> {
    // BEFORE the tallies: a stage that is known to be opened has its tasks in them.
    const jobs = await this.#queries.ownRecords(connection, ids)
    const { byJob, counted, versions } = await this.#readTallies(connection, ids)
    const checked: CheckedPipeline[] = []
    for (const job of jobs) {
      const read = byJob.get(job.id)
      if (read === undefined) continue
      const tallies = read.tallies(job)
      const before = commands.length
      if (before >= limit) continue
      await this.#checkPipeline(connection, job, tallies, commands, limit)
      if (commands.length > before) continue
      // It changed since it was read, and what is to be done about that is not known: the rows that say so stay to be checked.
      if (versions.get(job.id) !== job.version) continue
      const isOver = isFinal(jobState(job, tallies, 0))
      const end = isOver ? { at: jobEndedAt(job, tallies), checks: checksOfEnd(job) } : null
      checked.push({ id: job.id, rows: read.ids, end })
    }
    // Of jobs that were forgotten, nothing stays.
    for (const [id, { ids: rows }] of byJob) {
      if (!versions.has(id)) checked.push({ id, rows, end: null })
    }
    // BEFORE the tallies are folded: what is folded is not looked at again.
    const moved = jobs.filter(({ id }) => byJob.get(id)?.isSurelyCounted(counted.get(id)) !== true)
    if (moved.length > 0) await this.#pipelineStates.countAgain(connection, moved)
    await this.#fold(connection, checked)
  }

  async #readTallies(
    connection: Connection,
    ids: readonly string[],
  ): Promise<{
    readonly byJob: ReadonlyMap<string, ReadTallies>
    /** What each is counted as. */
    readonly counted: ReadonlyMap<string, PipelineAsCounted>
    /** Of jobs that are there, AFTER their tallies were read. */
    readonly versions: ReadonlyMap<string, number>
  }> {
    const rows = ids.map((id) => [id])
    const { tallyRows, countedPipelines, jobVersions } = this.#context.sql
    const [found, states, now] = await connection.run([
      { sql: tallyRows, rows },
      { sql: countedPipelines, rows },
      { sql: jobVersions, rows },
    ])
    const versions = new Map(
      (now?.rows ?? []).map(([job, version]): [string, number] => [job as string, Number(version)]),
    )
    const counted = new Map(
      (states?.rows ?? []).map(([job, state, held]): [string, PipelineAsCounted] => {
        return [job as string, { state: state as JobState, held: Boolean(held) }]
      }),
    )
    const byJob = new Map<string, ReadTallies>()
    for (const row of found?.rows ?? []) {
      const { job } = tallyRowAddress(row)
      const read = byJob.get(job) ?? new ReadTallies()
      byJob.set(job, read)
      read.add(row)
    }
    return { byJob, counted, versions }
  }

  /**
   * Nothing is left to do for these pipelines, as far as the rows say that were read. What was added since
   * stays to be checked.
   */
  async #fold(connection: Connection, checked: readonly CheckedPipeline[]): Promise<void> {
    const { sql } = this.#context
    if (checked.length === 0) return
    const ids = JSON.stringify(checked.flatMap(({ rows }) => rows))
    const ended = checked.flatMap(({ id, end }): Row[] => (end === null ? [] : [[id, end.at]]))
    const checks = checked.flatMap(({ end }) => end?.checks ?? [])
    await connection.run([
      { sql: sql.begin, values: [] },
      // If it were forgotten meanwhile, what is folded would be left behind.
      { sql: sql.keepJobs, rows: checked.map(({ id }) => [id]) },
      { sql: sql.foldTallies, values: [ids] },
      { sql: sql.deleteTallies, values: [ids] },
      { sql: sql.markEnded, rows: ended },
      {
        sql: sql.insertCalls,
        rows: checks.map(({ job, stage, segment }) => [job, stage, segment]),
      },
      { sql: sql.commit, values: [] },
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
    const now = this.#context.now() ?? (await this.#queries.now(connection))
    if (isPastDeadline(job, tallies, now)) commands.push(cancelLate(job.id))
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
