/**
 * What can be wrong in a database, what would put it right, and a repair as the statements that do so.
 */
import type { Statement, Row, Value } from '../connection.ts'
import type { AcknowledgedMark } from '../dialect.ts'
import type { DatabaseProblem } from '../failures.ts'
import { questionKey } from '../rows/question-rows.ts'
import { WORK_COLUMN_AT } from '../statements.ts'
import type { Statements } from '../statements.ts'

/** A row that follows from the events, to be written anew or deleted. */
export type Fix =
  | {
      readonly table: 'work'
      readonly address: readonly [job: string, stage: number, segment: number]
      /** All of its columns; null: it is deleted. */
      readonly row: Row | null
    }
  | {
      readonly table: 'queues' | 'schedules'
      readonly name: string
      /** As `saveQueues` and `saveSchedules` want it; null: it is deleted. */
      readonly row: Row | null
    }
  | {
      readonly table: 'limits'
      readonly key: string
      readonly held: number
      readonly fullAt: number
    }
  | {
      readonly table: 'counts'
      readonly name: string
      /** As `addCounts` wants it. */
      readonly missing: Row
    }
  | {
      readonly table: 'pipelines'
      readonly job: string
      /** As `savePipelines` wants it; null: it is deleted. */
      readonly row: Row | null
    }
  | {
      readonly table: 'labels'
      readonly label: string
      readonly position: number
      /** Whose it is; null: it is deleted. */
      readonly job: string | null
    }
  | {
      readonly table: 'questions'
      /** As `insertQuestions` wants it. */
      readonly row: Row
      readonly isMissing: boolean
    }
  | {
      readonly table: 'tallies'
      readonly job: string
      /** All of the job's. */
      readonly rows: readonly Row[]
    }
  | {
      readonly table: 'calls'
      /** As `insertCalls` wants it. */
      readonly row: readonly [job: string, stage: number, segment: number]
    }
  | { readonly table: 'meta'; readonly position: number }

/** Without a fix nothing in the database says what is right. */
export type ReportProblem = (table: string, row: string, what: string, fix: Fix | null) => void

/** Whether entries are lost that were acknowledged: `newest` is the last one that the store has. */
export function lostProblems(
  mark: AcknowledgedMark | null,
  storeId: string,
  newest: number,
): DatabaseProblem[] {
  if (mark === null || mark.storeId !== storeId || mark.position <= newest) return []
  const what = `entries up to position ${mark.position} were acknowledged, and it ends at ${newest}: the newest are lost. Its -wal was cut, damaged or removed, or the file is an older copy`
  return [{ what, table: 'file', row: null, position: newest }]
}

/** Of a row of `work`, for people. */
export function rowName(job: string, stage: number, segment: number): string {
  return stage < 0 ? job : `${job}/${stage}/${segment}`
}

/** Fixes that are collected while a database is checked, each row once. */
export class RowRepairs {
  readonly #sql: Statements
  readonly #onStep: (step: string) => void
  readonly #known = new Set<string>()
  #fixes: Fix[] = []
  #baselines: Row[] = []
  #gone: Row[] = []

  /** `onStep`: given each change in words. */
  constructor(sql: Statements, onStep: (step: string) => void) {
    this.#sql = sql
    this.#onStep = onStep
  }

  add(fix: Fix): void {
    const step = stepOf(fix)
    if (this.#known.has(step)) return
    this.#known.add(step)
    this.#onStep(step)
    this.#fixes.push(fix)
  }

  giveUp(job: string, isKept: boolean, baselines: readonly Row[]): void {
    this.#onStep(
      isKept ? `events of job ${job}: given up, the job is kept` : `job ${job}: given up`,
    )
    this.#baselines.push(...baselines)
    if (!isKept) this.#gone.push([job])
  }

  /** The statements for what was added since the last call. */
  takeStatements(): Statement[] {
    const sql = this.#sql
    const fixes = this.#fixes
    const statements: Statement[] = []
    const run = (text: string, rows: readonly Row[]): void => {
      if (rows.length > 0) statements.push({ sql: text, rows })
    }
    run(sql.insertBaselines, this.#baselines)
    run(sql.deleteJobs, this.#gone)
    run(sql.deleteTalliesOf, this.#gone)
    const work = fixes.filter((fix) => fix.table === 'work')
    const rows = work.flatMap(({ row }) => (row === null ? [] : [row]))
    run(
      sql.deleteRows,
      work.map(({ address }) => address),
    )
    // A row that has a key by mistake loses it BEFORE its owner gets it.
    run(
      sql.releaseKeys,
      rows.flatMap((row) =>
        row[WORK_COLUMN_AT.key_held] === null ? [] : [[row[WORK_COLUMN_AT.key_held] as Value]],
      ),
    )
    run(sql.insertRows, rows)
    const replace = (table: 'queues' | 'schedules', remove: string, save: string): void => {
      const some = fixes.flatMap((fix) => (fix.table === table ? [fix] : []))
      run(
        remove,
        some.map(({ name }) => [name]),
      )
      run(
        save,
        some.flatMap(({ row }) => (row === null ? [] : [row])),
      )
    }
    replace('queues', sql.deleteQueues, sql.saveQueues)
    replace('schedules', sql.deleteSchedules, sql.saveSchedules)
    const limits = fixes.filter((fix) => fix.table === 'limits')
    const keys = limits.map(({ key }) => [key])
    run(sql.insertLimits, keys)
    run(
      sql.saveLimits,
      limits.map(({ key, held, fullAt }) => [key, held, fullAt]),
    )
    run(sql.unparkAll, keys)
    this.#addReadModel(fixes, run)
    const tallies = fixes.filter((fix) => fix.table === 'tallies')
    run(
      sql.deleteTalliesOf,
      tallies.map(({ job }) => [job]),
    )
    run(
      sql.insertTallies,
      tallies.flatMap((fix) => fix.rows),
    )
    const calls = fixes.filter((fix) => fix.table === 'calls')
    run(
      sql.insertCalls,
      calls.map(({ row }) => row),
    )
    for (const fix of fixes) {
      if (fix.table === 'meta')
        statements.push({ sql: sql.advancePosition, values: [fix.position] })
    }
    this.#known.clear()
    this.#fixes = []
    this.#baselines = []
    this.#gone = []
    return statements
  }

  #addReadModel(fixes: readonly Fix[], run: (text: string, rows: readonly Row[]) => void): void {
    const sql = this.#sql
    const pipelines = fixes.filter((fix) => fix.table === 'pipelines')
    run(
      sql.savePipelines,
      pipelines.flatMap(({ row }) => (row === null ? [] : [row])),
    )
    run(
      sql.deletePipelines,
      pipelines.flatMap(({ job, row }) => (row === null ? [[job]] : [])),
    )
    const labels = fixes.filter((fix) => fix.table === 'labels')
    run(
      sql.deleteLabels,
      labels.flatMap(({ label, position, job }) => (job === null ? [[label, position]] : [])),
    )
    run(
      sql.insertLabels,
      labels.flatMap(({ label, position, job }) => (job === null ? [] : [[label, position, job]])),
    )
    const questions = fixes.filter((fix) => fix.table === 'questions')
    run(
      sql.deleteQuestions,
      questions.flatMap(({ row, isMissing }) => (isMissing ? [] : [questionKey(row)])),
    )
    run(
      sql.insertQuestions,
      questions.flatMap(({ row, isMissing }) => (isMissing ? [row] : [])),
    )
    const counts = fixes.filter((fix) => fix.table === 'counts')
    run(
      sql.addCounts,
      counts.map(({ missing }) => missing),
    )
  }
}

function stepOf(fix: Fix): string {
  switch (fix.table) {
    case 'work':
      return `work ${rowName(...fix.address)}: ${writtenOrDeleted(fix.row)}`
    case 'queues':
    case 'schedules':
      return `${fix.table} ${fix.name}: ${writtenOrDeleted(fix.row)}`
    case 'limits':
      return `limits ${fix.key}: held is ${fix.held}, full_at is ${fix.fullAt}, its tasks unparked`
    case 'counts':
      return `counts ${fix.name}: as its jobs are`
    case 'pipelines':
      return `pipelines ${fix.job}: ${writtenOrDeleted(fix.row)}`
    case 'labels':
      return `labels ${fix.label} at ${fix.position}: ${fix.job === null ? 'deleted' : 'written anew'}`
    case 'questions':
      return `questions ${fix.row.join(' ')}: ${fix.isMissing ? 'written anew' : 'deleted'}`
    case 'tallies':
      return `tallies ${fix.job}: ${writtenOrDeleted(fix.rows[0] ?? null)}`
    case 'calls':
      return `calls ${rowName(...fix.row)}: to be looked at`
    case 'meta':
      return `positions: the next one comes after ${fix.position}`
  }
}

function writtenOrDeleted(row: Row | null): string {
  return row === null ? 'deleted' : 'written anew'
}
