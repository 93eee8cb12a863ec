/**
 * Repair: writes rows anew that are not what the events say, in one transaction. It never runs by
 * itself, reports exactly what it changes, and keeps all other processes from writing meanwhile.
 *
 * It never changes events. Where they do not check there is nothing to repair from: it refuses,
 * unless the caller names the jobs that it may give up. Of such a job it keeps the rows, and the events
 * before count no more; if the rows do not check either, it gives up the job itself. It writes what it gave
 * up to the table of baselines, for a later verify.
 */
import { PawlError } from '../../../kernel/index.ts'
import { DatabaseCheck } from './database-check.ts'
import type { Statement, Connection, Row } from '../connection.ts'
import type { Dialect } from '../dialect.ts'
import type { BaselineKind } from '../rows/event-rows.ts'
import { baselineColumns } from '../rows/event-rows.ts'
import type { JobFold, JobFromRows } from './job-fold.ts'
import type { DatabaseProblem } from '../failures.ts'
import { lostProblems, RowRepairs } from './database-problem.ts'
import { Records } from '../rows/records.ts'
import { JOB_ROW } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'
import { assertTables } from '../tables.ts'
import type { VerifyDatabaseOptions } from './verify-database.ts'
import { countEvents, fileProblems, isOfIndex } from './verify-database.ts'

export interface RepairDatabaseOptions extends VerifyDatabaseOptions {
  /** False: only says what it would do. */
  readonly apply: boolean
  /** Jobs, by id, that may be given up if their events do not check. Default: none. */
  readonly giveUp?: readonly string[]
}

/** A job whose events do not check. */
export interface GivenUpJob {
  readonly job: string
  /** Its rows check, and it goes on from there. False: there is no such job any more. */
  readonly isKept: boolean
  /** What is wrong with its events. */
  readonly problems: readonly DatabaseProblem[]
}

export interface DatabaseRepairReport {
  /** Everything that was wrong. */
  readonly problems: readonly DatabaseProblem[]
  /** What is to be done, or was done, in words; none: nothing. */
  readonly steps: readonly string[]
  /** Whether it was done. */
  readonly applied: boolean
  readonly givenUp: readonly GivenUpJob[]
  /** Events that do not check, of jobs that may not be given up: nothing is repaired while there are any. */
  readonly blocked: readonly DatabaseProblem[]
  /** Wrong before and after: no row that could be written anew puts it right. */
  readonly left: readonly DatabaseProblem[]
}

/** Events do not check, and the caller did not name their jobs to be given up. */
export class EventsDamaged extends PawlError {
  constructor(blocked: readonly DatabaseProblem[]) {
    const jobs = [...new Set(blocked.flatMap(({ row }) => row ?? []))]
    const [first] = blocked
    const where = first?.position == null ? '' : ` at position ${first.position}`
    super(
      'EventsDamaged',
      'corrupt',
      `Events do not check, and rows can only be repaired from events: ${first?.what ?? ''}${where}. Nothing was changed. Restore a backup, or give up the jobs in question: ${jobs.join(', ') || 'none would help'}.`,
      { jobs, problems: blocked },
    )
  }
}

export async function repairSql(
  dialect: Dialect,
  options: RepairDatabaseOptions,
): Promise<DatabaseRepairReport> {
  const { statements: sql } = dialect
  const connection = await dialect.connect()
  const run = (...texts: readonly string[]): Promise<unknown> =>
    connection.run(texts.map((text): Statement => ({ sql: text, values: [] })))
  try {
    await assertTables(connection, dialect)
    if (options.apply) await run(sql.beginAlone, sql.lockAll)
    else await run(sql.beginReading)
    const repair = new Repair(connection, dialect, options)
    const report = await repair.run()
    await run(report.applied ? sql.commit : sql.rollback)
    // AFTER the commit: until then the store does not open.
    if (report.applied) repair.giveUpLost()
    if (options.apply && report.blocked.length > 0) throw new EventsDamaged(report.blocked)
    return report
  } finally {
    await connection.close()
  }
}

/** In a transaction that keeps others from writing. If it is blocked, that must be rolled back. */
export function repairIn(
  connection: Connection,
  dialect: Dialect,
  options: RepairDatabaseOptions,
): Promise<DatabaseRepairReport> {
  return new Repair(connection, dialect, options).run()
}

class Repair {
  readonly #connection: Connection
  readonly #dialect: Dialect
  readonly #sql: Statements
  readonly #options: RepairDatabaseOptions
  readonly #records = new Records()
  readonly #repairs: RowRepairs
  readonly #giveUp: ReadonlySet<string>
  readonly #problems: DatabaseProblem[] = []
  readonly #steps: string[] = []
  readonly #left: DatabaseProblem[] = []
  readonly #givenUp: GivenUpJob[] = []
  #newest = 0
  #storeId = ''
  #isLost = false

  constructor(connection: Connection, dialect: Dialect, options: RepairDatabaseOptions) {
    this.#connection = connection
    this.#dialect = dialect
    this.#sql = dialect.statements
    this.#options = options
    this.#giveUp = new Set(options.giveUp)
    this.#repairs = new RowRepairs(this.#sql, (step) => this.#steps.push(step))
  }

  async run(): Promise<DatabaseRepairReport> {
    const sql = this.#sql
    const total = await countEvents(this.#connection, sql.countEvents)
    const mark = this.#dialect.acknowledged?.read() ?? null
    const [given, id] = await this.#connection.run([
      { sql: sql.lastPositions, values: [] },
      { sql: sql.readMeta, values: ['id'] },
    ])
    this.#newest = Number(given?.rows[0]?.[0])
    this.#storeId = id?.rows[0]?.[0] as string
    const lost = lostProblems(mark, this.#storeId, this.#newest)
    this.#isLost = lost.length > 0
    if (this.#isLost) {
      this.#problems.push(...lost)
      const through = mark?.position ?? 0
      this.#steps.push(
        `mark: written anew, what stood at ${this.#newest + 1} to ${through} is lost`,
      )
    }
    await this.#checkFile()
    await this.#check(total)
    const steps = this.#steps
    const blocked = this.#problems.filter((problem) => this.#isBlocking(problem))
    return {
      problems: this.#problems,
      steps,
      applied: this.#options.apply && blocked.length === 0 && steps.length > 0,
      givenUp: this.#givenUp,
      blocked,
      left: this.#left.filter((problem) => problem.table !== 'events'),
    }
  }

  /** What was acknowledged and is no longer there counts no more. */
  giveUpLost(): void {
    if (this.#isLost) this.#dialect.acknowledged?.replace(this.#storeId, this.#newest)
  }

  /** BEFORE anything else: all else is read by indexes. */
  async #checkFile(): Promise<void> {
    const found = await fileProblems(this.#connection, this.#dialect)
    this.#problems.push(...found)
    let left = found.filter((problem) => !isOfIndex(problem))
    if (left.length < found.length) {
      this.#steps.push('indexes: rebuilt')
      if (this.#options.apply) {
        const texts = this.#dialect.fileCheck?.makeIndexes ?? []
        await this.#connection.run(texts.map((sql): Statement => ({ sql, values: [] })))
        left = await fileProblems(this.#connection, this.#dialect)
      }
    }
    this.#left.push(...left)
  }

  async #check(total: number): Promise<void> {
    await new DatabaseCheck({
      connection: this.#connection,
      sql: this.#sql,
      records: this.#records,
      history: this.#dialect.history,
      hasCursor: this.#dialect.hasCursor,
      onProblem: (problem, fix) => {
        this.#problems.push(problem)
        if (fix === null) this.#left.push(problem)
        else this.#repairs.add(fix)
      },
      onFix: (fix) => this.#repairs.add(fix),
      onDamaged: (fold, stored) => this.#giveUpIfAllowed(fold, stored),
      onPage: async (done) => {
        this.#options.onProgress?.(Math.min(done, total), total)
        const statements = this.#repairs.takeStatements()
        if (this.#options.apply && statements.length > 0) await this.#connection.run(statements)
      },
    }).run()
  }

  #isBlocking({ table, row }: DatabaseProblem): boolean {
    return table === 'events' && !this.#givenUp.some(({ job }) => job === row)
  }

  #giveUpIfAllowed(fold: JobFold, stored: JobFromRows | null): 'kept' | 'gone' | null {
    const { id } = fold
    if (!this.#giveUp.has(id)) return null
    const isKept = stored !== null
    const problems = this.#problems.filter(({ table, row }) => table === 'events' && row === id)
    this.#givenUp.push({ job: id, isKept, problems })
    const rows = isKept
      ? this.#baselinesOf(fold, stored)
      : [this.#baseline('gone', id, JOB_ROW, 0, 0, EMPTY)]
    this.#repairs.giveUp(id, isKept, rows)
    return isKept ? 'kept' : 'gone'
  }

  #baselinesOf({ id, submitted }: JobFold, { record }: JobFromRows): Row[] {
    const { job, stages } = record
    const last = submitted?.position ?? 0
    const own = this.#baseline('kept', id, JOB_ROW, 0, last, this.#records.ofWholeJob(job))
    const tasks = (stages ?? []).flatMap((one) => one ?? [])
    return [
      own,
      ...tasks.map((task) => {
        const bytes = this.#records.ofWholeTask(task, job)
        return this.#baseline('kept', id, task.stage, task.segment, last, bytes)
      }),
    ]
  }

  #baseline(
    kind: BaselineKind,
    name: string,
    stage: number,
    segment: number,
    lastPosition: number,
    record: Uint8Array,
  ): Row {
    const through = this.#newest
    return baselineColumns({ kind, name, stage, segment, through, lastPosition, record })
  }
}

const EMPTY = new Uint8Array(0)
