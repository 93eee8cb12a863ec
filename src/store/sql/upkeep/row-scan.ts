/**
 * Goes through all rows and all submits, many at a time, pass after pass, and names the jobs that look wrong: a row
 * whose columns are not what its own record says, one whose record is damaged or another row's, one that leads to
 * an event of another job, a pipeline with more or fewer rows than its stages have tasks, and a job that was
 * submitted, not forgotten, and has no row.
 *
 * Of a record it reads the first fields only, so that a row costs a few microseconds. What such a job must be is
 * found out by folding it from its events.
 */
import { nowUs } from '../../clock.ts'
import type { Connection, Row } from '../connection.ts'
import type { Dialect } from '../dialect.ts'
import type { RowRecordHead, Records } from '../rows/records.ts'
import { CorruptRecord } from '../rows/records.ts'
import { JOB_ROW } from '../rows/work-rows.ts'
import { rowName } from '../verify/database-problem.ts'

/** 25,000 rows take less than a minute. More would cost each process on the store more than 2 % of a core. */
const ROWS_A_SECOND = 500
/** A call makes up for the time since the one before, between these. */
const LEAST_S = 1
const MOST_S = 6
/** Of one statement: other work of the process comes between two of them. */
const WINDOW = 550
/** A longer record is not read here. */
const MOST_BYTES = 64 * 1_024

/** What is before all rows. */
const START: RowPlace = { job: '', stage: JOB_ROW - 1, segment: 0 }

interface RowPlace {
  readonly job: string
  readonly stage: number
  readonly segment: number
}

/** Something that looks wrong. */
export interface RowFinding {
  readonly job: string
  /** Of its submit, as its row says. */
  readonly position: number
  readonly what: string
}

interface ScannedRow extends RowPlace {
  readonly position: number
  readonly version: number
  readonly state: string
  readonly attempt: number
  readonly dueAt: number
  /** Null: it has none, or it is too long. */
  readonly record: Uint8Array | null
  readonly hasRecord: boolean
  readonly eventJob: string | null
  readonly eventAt: number | null
}

/** A pipeline whose rows are being counted. */
interface CountedPipeline {
  readonly job: string
  readonly position: number
  readonly tasks: number
  found: number
}

export class RowScan {
  readonly #dialect: Dialect
  readonly #records: Records
  #after: RowPlace = START
  #submitsAfter = 0
  #pipeline: CountedPipeline | null = null
  #scannedUs: number | null = null
  /** There are more of them in this pass. */
  #hasRows = true
  #hasSubmits = true
  #passes = 0

  constructor(dialect: Dialect, records: Records) {
    this.#dialect = dialect
    this.#records = records
  }

  /** How often it has gone through all rows and all submits. */
  get passes(): number {
    return this.#passes
  }

  /** The next rows and submits, as many of them as this call is for. */
  async next(connection: Connection): Promise<readonly RowFinding[]> {
    const now = nowUs()
    const passedS = this.#scannedUs === null ? LEAST_S : (now - this.#scannedUs) / 1_000_000
    this.#scannedUs = now
    const most = Math.round(ROWS_A_SECOND * Math.min(Math.max(passedS, LEAST_S), MOST_S))
    const findings: RowFinding[] = []
    for (let left = most; left > 0 && (this.#hasRows || this.#hasSubmits); left -= WINDOW) {
      if (this.#hasRows) this.#hasRows = await this.#scanRows(connection, findings)
      if (this.#hasSubmits) this.#hasSubmits = await this.#seeSubmits(connection, findings)
    }
    if (this.#hasRows || this.#hasSubmits) return findings
    this.#hasRows = true
    this.#hasSubmits = true
    this.#passes += 1
    return findings
  }

  /** False: that was the last one. */
  async #scanRows(connection: Connection, findings: RowFinding[]): Promise<boolean> {
    const { job, stage, segment } = this.#after
    const values = [job, stage, segment, WINDOW, MOST_BYTES]
    const [found] = await connection.run([{ sql: this.#dialect.jobChecks.rowHeads, values }])
    const rows = (found?.rows ?? []).map(scannedRow)
    for (const row of rows) {
      if (row.stage === JOB_ROW) await this.#endPipeline(connection, findings)
      const what = this.#wrongIn(row)
      if (what !== null) findings.push({ job: row.job, position: row.position, what })
      if (row.job === this.#pipeline?.job && row.stage !== JOB_ROW) this.#pipeline.found += 1
    }
    if (rows.length === WINDOW) {
      this.#after = rows.at(-1) as RowPlace
      return true
    }
    await this.#endPipeline(connection, findings)
    this.#after = START
    return false
  }

  /** Null: it looks right. */
  #wrongIn(row: ScannedRow): string | null {
    const { job, stage, segment, eventJob } = row
    const name = rowName(job, stage, segment)
    if (eventJob !== null && eventJob !== job) return `${name}: it leads to an event of ${eventJob}`
    if (!row.hasRecord) return wrongFresh(row, name)
    if (row.record === null) return null
    try {
      const head = this.#records.head(row.record, stage !== JOB_ROW, `The row ${name}`)
      const { position } = row
      const { tasks } = head
      if (tasks !== null) this.#pipeline = { job, position, tasks, found: 0 }
      return wrongColumn(row, head, name)
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error
      return `${name}: its record is damaged: ${error.why}`
    }
  }

  /** AFTER its last row. It may have opened a stage, or been forgotten, while it was passed: so it is read again, at one moment. */
  async #endPipeline(connection: Connection, findings: RowFinding[]): Promise<void> {
    const counted = this.#pipeline
    this.#pipeline = null
    if (counted === null || counted.found === counted.tasks) return
    const { job, position } = counted
    const sql = this.#dialect.jobChecks.pipelineHead
    const [found] = await connection.run([{ sql, values: [job] }])
    const [record, count] = found?.rows[0] ?? [null, 0]
    if (record === null) return
    const { tasks } = this.#records.head(record as Uint8Array, false, `The row ${job}`)
    if (tasks === null || tasks === Number(count)) return
    const what = `${job}: it has ${Number(count)} rows of tasks, and its stages have ${tasks}`
    findings.push({ job, position, what })
  }

  async #seeSubmits(connection: Connection, findings: RowFinding[]): Promise<boolean> {
    const { statements: sql, jobChecks } = this.#dialect
    const values = [this.#submitsAfter, WINDOW]
    const [missing, passed] = await connection.run([
      { sql: jobChecks.missing, values },
      { sql: sql.submitsAfter, values },
    ])
    for (const row of missing?.rows ?? []) {
      const [position, job] = row as readonly [number, string]
      const what = `${job}: it was submitted at position ${position} and not forgotten, and its row is missing`
      findings.push({ job, position, what })
    }
    const [count, last] = passed?.rows[0] ?? [0, null]
    this.#submitsAfter = count === WINDOW ? (last as number) : 0
    return count === WINDOW
  }
}

function scannedRow(row: Row): ScannedRow {
  return {
    job: row[0] as string,
    stage: row[1] as number,
    segment: row[2] as number,
    position: row[3] as number,
    version: row[4] as number,
    state: row[5] as string,
    attempt: row[6] as number,
    dueAt: row[7] as number,
    record: row[8] as Uint8Array | null,
    hasRecord: Boolean(row[9]),
    eventJob: row[10] as string | null,
    eventAt: row[11] as number | null,
  }
}

/** A job that has not changed since it was submitted has no record. */
function wrongFresh({ version, state, attempt }: ScannedRow, name: string): string | null {
  if (version !== 1) return `${name}: its record is missing`
  if (state === 'WAITING' || state === 'PIPELINE') {
    return attempt === 0 ? null : `${name}: attempt is ${attempt}, and must be 0`
  }
  return `${name}: state is '${state}', and must be 'WAITING'`
}

function wrongColumn(row: ScannedRow, head: RowRecordHead, name: string): string | null {
  const must = (column: string, found: unknown, expected: unknown): string =>
    `${name}: ${column} is ${String(found)}, and by its record ${String(expected)}`
  if (row.state !== head.state) return must('state', row.state, head.state)
  if (row.attempt !== head.attempt) return must('attempt', row.attempt, head.attempt)
  if (row.version !== head.version) return must('version', row.version, head.version)
  if (head.dueAt !== null && row.dueAt !== head.dueAt) return must('due_at', row.dueAt, head.dueAt)
  if (head.time === null || row.eventAt === null || row.eventAt === head.time) return null
  return must('the time of its newest event', row.eventAt, head.time)
}
