/**
 * Some jobs beside their events: each is folded from the entries that its rows lead to, and compared with
 * its rows, column by column. What it costs depends on these jobs alone, so that it can be done whenever
 * a store is opened, and again and again while it is open. It only reads, at one moment.
 *
 * It does not compare where a task stands among others (`level`, `rank`), which depends on all that was
 * ever said of its queue; nor limits, counts and tallies. Verify does.
 */
import type { Task } from '../../../kernel/index.ts'
import type { Row, Statement, StatementResult } from '../connection.ts'
import type { Dialect } from '../dialect.ts'
import type { DatabaseProblem } from '../failures.ts'
import type { Baseline, EventRow } from '../rows/event-rows.ts'
import { baseline, eventRow } from '../rows/event-rows.ts'
import type { Records } from '../rows/records.ts'
import { CorruptRecord } from '../rows/records.ts'
import { JOB_ROW } from '../rows/work-rows.ts'
import { EVENT_COLUMNS, WORK_COLUMN_AT } from '../statements.ts'
import { rowName } from './database-problem.ts'
import { JobFold, NO_LISTENER } from './job-fold.ts'
import type { ExpectedJob } from './row-check.ts'
import { expectedJob, RowCheck } from './row-check.ts'

/** A job with more rows or entries than this is not folded here: reading it takes too long. */
export const MOST_ROWS = 200
export const MOST_ENTRIES = 500

export function isSmall(rows: number, entries: number): boolean {
  return rows <= MOST_ROWS && entries <= MOST_ENTRIES
}

export class JobCheck {
  readonly #dialect: Dialect
  readonly #records: Records
  readonly #rows: RowCheck

  constructor(dialect: Dialect, records: Records) {
    this.#dialect = dialect
    this.#records = records
    this.#rows = new RowCheck(records, null)
  }

  /** What `problems` must be given the answers of, all of one moment: an entry and its rows are written together. */
  reads(
    ids: readonly string[],
  ): readonly [rows: Statement, events: Statement, baselines: Statement] {
    const { statements: sql, jobChecks } = this.#dialect
    const names = ids.map((id) => [id])
    return [
      { sql: sql.wholeRows, rows: names },
      { sql: jobChecks.events, rows: names },
      { sql: sql.baselinesOf, rows: names },
    ]
  }

  /** Of each of the jobs that has a row; they must be small. */
  problems(answers: readonly StatementResult[]): Map<string, readonly DatabaseProblem[]> {
    const [rows, events, baselines] = answers
    const rowsOf = grouped(rows?.rows ?? [], (row) => row[WORK_COLUMN_AT.job] as string)
    const eventsOf = grouped(events?.rows ?? [], (row) => row[EVENT_COLUMNS.length] as string)
    const baselinesOf = grouped((baselines?.rows ?? []).map(baseline), ({ name }) => name)
    const problems = new Map<string, readonly DatabaseProblem[]>()
    for (const [id, found] of rowsOf) {
      const own = (eventsOf.get(id) ?? []).map(eventRow)
      problems.set(id, this.#problemsOf(id, found, own, baselinesOf.get(id) ?? []))
    }
    return problems
  }

  #problemsOf(
    id: string,
    rows: readonly Row[],
    events: readonly EventRow[],
    baselines: readonly Baseline[],
  ): DatabaseProblem[] {
    const problems: DatabaseProblem[] = []
    // What one job says of others is not compared here.
    const fold = new JobFold(id, baselines, this.#records, NO_LISTENER)
    for (const event of events.toSorted((a, b) => a.position - b.position)) {
      if (event.job === id) fold.apply(event)
      else {
        const what = `it leads to an event of ${event.job ?? 'no job'} at position ${event.position}`
        problems.push({ table: 'work', row: id, what, position: event.position })
      }
    }
    fold.finish()
    for (const { what, position } of fold.wrong) {
      problems.push({ table: 'events', row: id, what, position })
    }
    // What the rows must be is not known.
    if (problems.length > 0) return problems
    const { record } = fold
    const expected =
      record === null ? null : expectedJob(record, (...at) => fold.lastPosition(...at))
    return this.#compare(id, expected, rows)
  }

  #compare(id: string, expected: ExpectedJob | null, rows: readonly Row[]): DatabaseProblem[] {
    const found = new Map(
      rows.map((row) => [
        rowName(id, row[WORK_COLUMN_AT.stage] as number, row[WORK_COLUMN_AT.segment] as number),
        row,
      ]),
    )
    const problems: DatabaseProblem[] = []
    const report = (row: string, what: string): void => {
      problems.push({ table: 'work', row, what, position: null })
    }
    for (const row of expected?.rows ?? []) {
      const name = rowName(id, row.stage, row.segment)
      const stored = found.get(name)
      found.delete(name)
      if (stored === undefined) report(name, 'it is missing')
      else {
        const wrong = this.#rows.problems(expected as ExpectedJob, row, stored)
        for (const what of wrong) report(name, what)
      }
    }
    for (const name of found.keys()) report(name, 'no event leads to it')
    return problems
  }

  /** A row of a job that is not small, beside its own record. `submitted`: the record of its JobSubmitted. */
  recordProblems(own: Row, row: Row, submitted: Uint8Array, name: string): DatabaseProblem[] {
    try {
      const expected = this.#expectedOf(own, row, submitted)
      const [only] = expected.rows
      if (only === undefined) return []
      return this.#rows
        .problems(expected, only, row)
        .map((what) => ({ table: 'work', row: name, what, position: null }))
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error
      return [{ table: 'work', row: name, what: error.why, position: null }]
    }
  }

  #expectedOf(own: Row, row: Row, submitted: Uint8Array): ExpectedJob {
    const position = own[WORK_COLUMN_AT.position] as number
    const entry = this.#records.submitted(submitted, position)
    const job = this.#records.job(own[WORK_COLUMN_AT.record] as Uint8Array | null, entry)
    job.firstPosition = position
    const stage = row[WORK_COLUMN_AT.stage] as number
    const segment = row[WORK_COLUMN_AT.segment] as number
    const lastPosition = row[WORK_COLUMN_AT.last_position] as number
    const task: Task | null =
      stage === JOB_ROW
        ? job.task
        : this.#records.task(row[WORK_COLUMN_AT.record] as Uint8Array, job, stage, segment)
    // Whether a pipeline is over depends on all of its tasks: what its own row says of it is not compared.
    const overAt = own[WORK_COLUMN_AT.over_at] as number | null
    const rows = [{ stage, segment, lastPosition, task }]
    return { job, isOver: overAt !== null, overAt, rows }
  }
}

function grouped<T>(all: readonly T[], nameOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const name = nameOf(one)
    const known = groups.get(name)
    if (known === undefined) groups.set(name, [one])
    else known.push(one)
  }
  return groups
}
