/**
 * What a repair does to rows: collected while everything is checked, each row once, and said in
 * words.
 */
import { WORK_COLUMN_AT } from '../statements.ts'
import type { Statement, Row, Value } from '../connection.ts'
import type { Fix } from './database-problem.ts'
import { rowName } from './database-problem.ts'
import type { Statements } from '../statements.ts'

export class RowRepairs {
  readonly #sql: Statements
  readonly #onStep: (step: string) => void
  readonly #known = new Set<string>()
  #fixes: Fix[] = []
  #baselines: Row[] = []
  #gone: Row[] = []

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

  /** What is to be run, and is not asked for again. */
  take(): Statement[] {
    const sql = this.#sql
    const fixes = this.#fixes
    const asks: Statement[] = []
    const add = (text: string, rows: readonly Row[]): void => {
      if (rows.length > 0) asks.push({ sql: text, rows })
    }
    add(sql.insertBaselines, this.#baselines)
    add(sql.deleteJobs, this.#gone)
    const work = fixes.filter((fix) => fix.table === 'work')
    const rows = work.flatMap(({ row }) => (row === null ? [] : [row]))
    add(
      sql.deleteRows,
      work.map(({ address }) => address),
    )
    // Whoever has it by mistake gives it back BEFORE its owner gets it.
    add(
      sql.releaseKeys,
      rows.flatMap((row) =>
        row[WORK_COLUMN_AT.key_held] === null ? [] : [[row[WORK_COLUMN_AT.key_held] as Value]],
      ),
    )
    add(sql.insertRows, rows)
    for (const table of ['queues', 'schedules'] as const) {
      const some = fixes.flatMap((fix) => (fix.table === table ? [fix] : []))
      const isQueues = table === 'queues'
      add(
        isQueues ? sql.deleteQueues : sql.deleteSchedules,
        some.map((fix) => [fix.name]),
      )
      add(
        isQueues ? sql.saveQueues : sql.saveSchedules,
        some.flatMap(({ row }) => (row === null ? [] : [row])),
      )
    }
    const limits = fixes.filter((fix) => fix.table === 'limits')
    const keys = limits.map(({ key }) => [key])
    add(sql.insertLimits, keys)
    add(
      sql.saveLimits,
      limits.map(({ key, held, fullAt }) => [key, held, fullAt]),
    )
    add(sql.unparkAll, keys)
    const looks = fixes.filter((fix) => fix.table === 'looks')
    add(
      sql.notePipelines,
      looks.map(({ job }) => [job]),
    )
    for (const fix of fixes) {
      if (fix.table === 'meta') asks.push({ sql: sql.advancePosition, values: [fix.position] })
    }
    this.#known.clear()
    this.#fixes = []
    this.#baselines = []
    this.#gone = []
    return asks
  }
}

function stepOf(fix: Fix): string {
  switch (fix.table) {
    case 'work':
      return `work ${rowName(...fix.address)}: ${writtenOr(fix.row)}`
    case 'queues':
    case 'schedules':
      return `${fix.table} ${fix.name}: ${writtenOr(fix.row)}`
    case 'limits':
      return `limits ${fix.key}: held is ${fix.held}, full_at is ${fix.fullAt}, whoever waits stands in line`
    case 'looks':
      return `looks ${fix.job}: noted`
    case 'meta':
      return `positions: the next one comes after ${fix.position}`
  }
}

function writtenOr(row: Row | null): string {
  return row === null ? 'taken away' : 'written anew'
}
