/**
 * The cheap part of verify, whenever a store is opened: a few milliseconds, whatever is in it.
 *
 * - The store is whole: no copy into it was cut short.
 * - Events are guarded by the database, and the next position is free.
 * - The newest events check, and the jobs that they are about have the rows that their events lead to: what
 *   a crash, a full disk or a manual change damaged last. Of a job that is too large to be folded, the rows
 *   are checked that these events are about.
 *
 * A store that fails this is not opened: it would go on from what is wrong. The examination of a store that
 * is open finds the rest, a few jobs at a time, and verify finds all of it.
 */
import { CopyUnfinished } from '../../errors.ts'
import type { Connection, Row } from '../connection.ts'
import type { AcknowledgedMark, Dialect } from '../dialect.ts'
import type { DatabaseProblem } from '../failures.ts'
import { DatabaseDamaged } from '../failures.ts'
import type { EventRow } from '../rows/event-rows.ts'
import { baseline, eventRow, readEvent } from '../rows/event-rows.ts'
import { Records } from '../rows/records.ts'
import { JOB_ROW } from '../rows/work-rows.ts'
import { WORK_COLUMN_AT } from '../statements.ts'
import { lostProblems, rowName } from './database-problem.ts'
import { isSmall, JobCheck, MOST_ROWS } from './job-check.ts'

/** In `meta` while a store is copied into the database. */
export const COPYING = 'copying'

const NEWEST = 20

/** `mark`: as it was BEFORE the database was opened. Throws `DatabaseDamaged`. */
export async function checkOnOpen(
  connection: Connection,
  dialect: Dialect,
  mark: AcknowledgedMark | null,
): Promise<void> {
  const { statements: sql, where } = dialect
  // One moment: other processes may be at work.
  await connection.run([{ sql: sql.beginReading, values: [] }])
  let problems: readonly DatabaseProblem[]
  try {
    problems = await new CheckOnOpen(connection, dialect).run(mark)
  } finally {
    await connection.run([{ sql: sql.rollback, values: [] }]).catch(() => undefined)
  }
  if (problems.length > 0) throw new DatabaseDamaged(where, problems)
}

class CheckOnOpen {
  readonly #connection: Connection
  readonly #dialect: Dialect
  readonly #records: Records
  readonly #check: JobCheck
  readonly #problems: DatabaseProblem[] = []

  constructor(connection: Connection, dialect: Dialect) {
    this.#connection = connection
    this.#dialect = dialect
    this.#records = new Records()
    this.#check = new JobCheck(dialect, this.#records)
  }

  async run(mark: AcknowledgedMark | null): Promise<readonly DatabaseProblem[]> {
    const { statements: sql } = this.#dialect
    const [copying, id, guards, positions, newest] = await this.#connection.run([
      { sql: sql.readMeta, values: [COPYING] },
      { sql: sql.readMeta, values: ['id'] },
      { sql: sql.missingTriggers, values: [] },
      { sql: sql.lastPositions, values: [] },
      { sql: sql.newestEvents, values: [NEWEST] },
    ])
    if ((copying?.rows.length ?? 0) > 0) throw new CopyUnfinished('this database')
    const missing = Number(guards?.rows[0]?.[0])
    if (missing > 0) {
      const what = `${missing} triggers that keep events as they are are missing`
      this.#report('meta', 'triggers', what)
    }
    const [last = 0, given = 0] = (positions?.rows[0] ?? []) as readonly number[]
    if (given < last) {
      this.#report('meta', 'positions', `${given + 1} would be next, ${last} is taken`)
    }
    this.#problems.push(...lostProblems(mark, id?.rows[0]?.[0] as string, last))
    const events = (newest?.rows ?? []).map(eventRow)
    await this.#checkEvents(events)
    // What such an event led to is not known.
    if (this.#problems.length === 0) await this.#checkJobs(events)
    return this.#problems
  }

  /** Those that a repair gave up stay as they are: a baseline stands for them. */
  async #checkEvents(events: readonly EventRow[]): Promise<void> {
    const damaged = events.flatMap((event) => {
      const { wrong } = readEvent(event, this.#records)
      return wrong.length === 0 ? [] : [{ ...event, wrong }]
    })
    const rows = damaged.flatMap(({ job }) => (job === null ? [] : [[job]]))
    const [given] = await this.#connection.run([
      { sql: this.#dialect.statements.baselinesOf, rows },
    ])
    const baselines = (given?.rows ?? []).map(baseline)
    for (const { job, position, wrong } of damaged) {
      const isGivenUp = baselines.some(({ name, kind, through }) => {
        return name === job && kind !== 'job' && through >= position
      })
      if (isGivenUp) continue
      for (const what of wrong) this.#report('events', job, what, position)
    }
  }

  /** `events`: the newest first. */
  async #checkJobs(events: readonly EventRow[]): Promise<void> {
    const { statements: sql, jobChecks } = this.#dialect
    const newestOf = new Map<string, EventRow>()
    for (const event of events) {
      if (event.job !== null && !newestOf.has(event.job)) newestOf.set(event.job, event)
    }
    const names = [...newestOf.keys()]
    const [sizes, found, given] = await this.#connection.run([
      { sql: jobChecks.sizes, rows: names.map((job) => [job, MOST_ROWS + 1]) },
      { sql: jobChecks.rowsAt, rows: names.map((job) => [job, JOB_ROW, 0]) },
      { sql: sql.baselinesOf, rows: names.map((job) => [job]) },
    ])
    const rowsOf = new Map(found?.rows.map((row) => [row[WORK_COLUMN_AT.job] as string, row]))
    const baselines = (given?.rows ?? []).map(baseline)
    const small: string[] = []
    for (const [name, rows, entries, last] of sizes?.rows ?? []) {
      const job = name as string
      const { type, position } = newestOf.get(job) as EventRow
      const own = rowsOf.get(job)
      const isGone = baselines.some((one) => {
        return one.name === job && one.kind === 'gone' && one.through >= position
      })
      // Events that a baseline stands for do not lead to the rows.
      const through = Math.max(0, ...baselines.map((one) => (one.name === job ? one.through : 0)))
      if (type === 'JobForgotten' || isGone) {
        if (own !== undefined) this.#report('work', job, 'its job is gone, and the row is there')
      } else if (own === undefined) this.#report('work', job, 'it is missing')
      else if (!isSmall(rows as number, entries as number)) {
        // Nor do those of an earlier job with this id.
        const first = own[WORK_COLUMN_AT.position] as number
        await this.#checkLargeJob(
          own,
          events.filter(
            (one) => one.job === job && one.position > through && one.position >= first,
          ),
        )
      } else if ((last as number) < position && position > through) {
        const what = `the newest of its rows is of position ${String(last)}, and its newest event of ${position}`
        this.#report('work', job, what)
      } else small.push(job)
    }
    const folded = this.#check.problems(await this.#connection.run(this.#check.reads(small)))
    this.#problems.push(...[...folded.values()].flat())
  }

  /** The rows that these events are about, beside their records. */
  async #checkLargeJob(own: Row, events: readonly EventRow[]): Promise<void> {
    const { statements: sql, jobChecks } = this.#dialect
    const job = own[WORK_COLUMN_AT.job] as string
    const isPipeline = own[WORK_COLUMN_AT.state] === 'PIPELINE'
    const newest = new Map<string, { address: Row; position: number }>()
    for (const event of events) {
      const { entry } = readEvent(event, this.#records)
      const isSegment = isPipeline && entry !== null && 'segment' in entry
      const [stage, segment] = isSegment ? [entry.stage, entry.segment] : [JOB_ROW, 0]
      const name = rowName(job, stage, segment)
      if (newest.has(name)) continue
      newest.set(name, { address: [job, stage, segment], position: event.position })
    }
    const [found, submitted] = await this.#connection.run([
      { sql: jobChecks.rowsAt, rows: [...newest.values()].map(({ address }) => address) },
      { sql: sql.events, rows: [[own[WORK_COLUMN_AT.position] as number]] },
    ])
    const record = submitted?.rows[0]?.[1] as Uint8Array | undefined
    if (record === undefined) {
      this.#report('work', job, 'what was submitted is not there')
      return
    }
    for (const [name, { address, position }] of newest) {
      const [, stage, segment] = address
      const row = found?.rows.find(
        (one) => one[WORK_COLUMN_AT.stage] === stage && one[WORK_COLUMN_AT.segment] === segment,
      )
      if (row === undefined) this.#report('work', name, 'it is missing')
      else if (row[WORK_COLUMN_AT.last_position] !== position) {
        this.#report(
          'work',
          name,
          `its newest event is at position ${position}, and it names another`,
        )
      } else this.#problems.push(...this.#check.recordProblems(own, row, record, name))
    }
  }

  #report(table: string, row: string | null, what: string, position: number | null = null): void {
    this.#problems.push({ table, row, what, position })
  }
}
