/**
 * Examines jobs, a few at a time, round after round: whether what must always hold does hold, and which of
 * them have waited for long without a sign of a worker. It changes nothing.
 *
 * Two cursors go through the jobs in the order of their submits:
 * - one through those that are not over: their invariants, and since when they wait;
 * - one through all that should be there, over or not: each is folded from its events and compared with its
 *   rows, and a job that has no row and was never forgotten is found missing.
 *
 * Besides, all rows and submits are passed far more quickly, and what looks wrong by itself is folded at once (see
 * `RowScan`). Of a job that is too large to be folded, what its rows say of themselves is reported.
 *
 * A round is over when the first cursor and that pass are through, and the second cursor is as well, or has been
 * moved on so often. What was found is examined again with each call until it is right: of a large store a round
 * folds only a part.
 */
import type { Task, Violation } from '../../../kernel/index.ts'
import { createWorld, isFinal, isHeldBack, jobState, jobViolations } from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import { recordTallies } from '../../../log/index.ts'
import type { Examined, QueryOf, WaitsLong } from '../../store.ts'
import { waitingSince } from '../../state/task-snapshot.ts'
import type { Connection, Row, Statement, StatementResult } from '../connection.ts'
import type { Dialect } from '../dialect.ts'
import type { JobQueries, QueryContext } from '../queries/job-queries.ts'
import type { DatabaseProblem } from '../failures.ts'
import { CorruptRecord } from '../rows/records.ts'
import { channelName, jobRecords, loadedColumns } from '../rows/work-rows.ts'
import type { RowFinding } from './row-scan.ts'
import { RowScan } from './row-scan.ts'
import { isSmall, JobCheck, MOST_ENTRIES, MOST_ROWS } from '../verify/job-check.ts'

/** A job with more tasks than this is not examined: reading it takes too long. */
const MOST_TASKS = 200
const MOST_JOBS = 50
/** Submitted jobs that one call passes at most, nearly all of them over for long. */
const MOST_PASSED = 5_000
/** Jobs that one call folds at most, and submitted ones that it passes for that, most of them forgotten. */
const MOST_FOLDED = 50
const MOST_PASSED_TO_FOLD = 1_000
/** Calls of one round that fold; in a longer round, of those that follow one in so many. */
const FOLDS_A_ROUND = 10
const FOLD_EACH = 2
/** Calls of a long round between two passes. */
const CALLS_BETWEEN = 5
/** Broken jobs that are examined again with each call; more are found again in their turn. */
const MOST_BROKEN = 50
/** Where more than these look wrong, no more are noted. */
const MOST_NOTED = 1_000
/** Its state is not the fold of the log. */
const FOLD_INVARIANT = 8

/** A job that was submitted, and should be there. */
interface ExaminedJob {
  readonly position: number
  readonly job: string
  readonly hasRow: boolean
  readonly isForgotten: boolean
  readonly isSmall: boolean
  readonly entries: number
}

export class SqlExamination {
  readonly #context: QueryContext
  readonly #queries: JobQueries
  readonly #dialect: Dialect
  readonly #check: JobCheck
  /** The position that the round has come to. */
  #after = 0
  /** The position that the folding has come to. */
  #foldedTo = 0
  #foldsInRound = 0
  /** What is wrong with jobs, by the position of their submit. */
  readonly #broken = new Map<number, readonly string[]>()
  readonly #rowScan: RowScan
  /** What looks wrong in jobs that are too large to be folded, by the same, and in which pass it was seen. */
  readonly #seenInRows = new Map<number, { readonly what: string; readonly pass: number }>()
  #pass = 0
  /** In this round, the first cursor is through, and so is the pass. */
  #isOpenThrough = false
  #hasPassed = false
  #calls = 0
  /** The call in which the last pass ended. */
  #passedAt = 0

  constructor(context: QueryContext, queries: JobQueries, dialect: Dialect) {
    this.#context = context
    this.#queries = queries
    this.#dialect = dialect
    this.#check = new JobCheck(dialect, context.records)
    this.#rowScan = new RowScan(dialect, context.records)
  }

  /** Two round trips, some for the rows, and another if a job has waited for long. */
  async examine(
    connection: Connection,
    { limit, waitedMs }: QueryOf<'examination'>,
  ): Promise<Examined> {
    const violations: Violation[] = []
    const waiting: WaitsLong[] = []
    // A round passes the rows once, and a long one again and again.
    if (this.#hasPassed && this.#calls - this.#passedAt >= CALLS_BETWEEN) this.#hasPassed = false
    if (!this.#hasPassed) this.#noteRows(await this.#rowScan.next(connection))
    const { now, open, looked, submitted } = await this.#readNext(connection, limit, violations)
    const { statements: sql } = this.#dialect
    const folded = submitted.filter(({ hasRow, isForgotten, isSmall: small }) => {
      return hasRow && !isForgotten && small
    })
    const [, whole, ...answers] = await connection.run([
      { sql: sql.beginReading, values: [] },
      { sql: sql.wholeJobs, rows: open.map((id) => [id]) },
      ...this.#check.reads([...new Set(folded.map(({ job }) => job))]),
      { sql: sql.commit, values: [] },
    ])
    for (const group of byJob(whole?.rows ?? [])) {
      for (const record of this.#read(group, violations)) {
        violations.push(...violationsOf(record, now))
        noteWaiting(record, now - waitedMs, waiting)
      }
    }
    this.#noteBroken(submitted, this.#check.problems(answers))
    for (const what of [...this.#broken.values()].flat()) violations.push(broken(what))
    const isFolded = this.#foldedTo === 0 || this.#foldsInRound >= FOLDS_A_ROUND
    const isRoundOver = this.#isOpenThrough && isFolded && this.#hasPassed
    if (isRoundOver) {
      this.#foldsInRound = 0
      this.#isOpenThrough = false
      this.#hasPassed = false
    }
    const unserved = waiting.length === 0 ? [] : await this.#withoutWorkers(connection, waiting)
    return { looked, isRoundOver, violations, waiting: unserved }
  }

  /**
   * Moves both cursors on. `open`: the next jobs that are not over, and not too large. `submitted`: the next ones
   * to be folded, over or not, and those that were found broken before.
   */
  async #readNext(
    connection: Connection,
    limit: number,
    violations: Violation[],
  ): Promise<{
    readonly now: number
    readonly open: readonly string[]
    readonly looked: number
    readonly submitted: readonly ExaminedJob[]
  }> {
    const { statements: sql, jobChecks } = this.#dialect
    const most = Math.min(limit, MOST_JOBS)
    const again = [...this.#broken.keys()].slice(0, MOST_BROKEN)
    const folding = [this.#foldedTo, MOST_PASSED_TO_FOLD] as const
    this.#calls += 1
    const isOpenDue = !this.#isOpenThrough
    const isFoldDue = this.#foldsInRound < FOLDS_A_ROUND || this.#calls % FOLD_EACH === 0
    const reading: readonly (readonly Statement[])[] = [
      [{ sql: sql.clock, values: [this.#context.now()] }],
      isOpenDue
        ? [
            { sql: sql.openJobsAfter, values: [this.#after, MOST_PASSED, most] },
            { sql: sql.submitsAfter, values: [this.#after, MOST_PASSED] },
          ]
        : [],
      isFoldDue
        ? [
            { sql: jobChecks.submits, values: [...folding, MOST_FOLDED, MOST_ROWS + 1] },
            { sql: sql.submitsAfter, values: folding },
          ]
        : [],
      again.map((position) => {
        return { sql: jobChecks.submits, values: [position - 1, 1, 1, MOST_ROWS + 1] }
      }),
    ]
    const answers = [...(await connection.run(reading.flat()))]
    const [clock] = answers.splice(0, 1)
    const [open, passed] = answers.splice(0, isOpenDue ? 2 : 0)
    const [next, passedToFold] = answers.splice(0, isFoldDue ? 2 : 0)
    const before = answers
    const rows = open?.rows ?? []
    const jobs = rows.flatMap((row) => this.#read([row], violations)).map(({ job }) => job)
    const lastOpen = rows.length === most ? loadedColumns(rows.at(-1) as Row).position : null
    if (isOpenDue) {
      this.#after = lastOpen ?? endOf(passed, MOST_PASSED)
      this.#isOpenThrough = this.#after === 0
    }
    const found = (next?.rows ?? []).map(submittedJob)
    const taken = upToEntries(found)
    const isCut = taken.length < found.length || found.length === MOST_FOLDED
    const lastTaken = isCut ? (taken.at(-1)?.position ?? 0) : null
    if (isFoldDue) {
      this.#foldedTo = lastTaken ?? endOf(passedToFold, MOST_PASSED_TO_FOLD)
      this.#foldsInRound += 1
    }
    for (const position of again) this.#broken.delete(position)
    return {
      now: clock?.rows[0]?.[0] as number,
      open: jobs.flatMap(({ id, opened }) => (countTasks(opened) <= MOST_TASKS ? [id] : [])),
      looked: rows.length,
      submitted: [...before.flatMap((one) => one.rows.map(submittedJob)), ...taken],
    }
  }

  /** The jobs in these rows, or that one of them cannot be read. */
  #read(rows: readonly Row[], violations: Violation[]): readonly JobRecord[] {
    try {
      return jobRecords(rows, this.#context.records)
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error
      violations.push(broken(error.message))
      return []
    }
  }

  /** Those that can be folded are, in this call. */
  #noteRows(findings: readonly RowFinding[]): void {
    for (const { position, what } of findings) {
      if (this.#broken.size >= MOST_NOTED) break
      if (!this.#broken.has(position)) this.#broken.set(position, [what])
      this.#seenInRows.set(position, { what, pass: this.#pass })
    }
    if (this.#rowScan.passes === this.#pass) return
    this.#hasPassed = true
    this.#passedAt = this.#calls
    // What a whole pass did not find again is right by now.
    for (const [position, { pass }] of this.#seenInRows) {
      if (pass !== this.#pass) this.#seenInRows.delete(position)
    }
    this.#pass = this.#rowScan.passes
  }

  #noteBroken(
    jobs: readonly ExaminedJob[],
    problems: ReadonlyMap<string, readonly DatabaseProblem[]>,
  ): void {
    for (const { job, position, hasRow, isForgotten, isSmall: small } of jobs) {
      const missing = `${job}: it was submitted at position ${position} and not forgotten, and its row is missing`
      const what = !hasRow
        ? [missing]
        : isForgotten
          ? [`${job}: it was forgotten, and its row is there`]
          : small
            ? (problems.get(job) ?? []).map(inWords)
            : this.#seenIn(position)
      if (what.length > 0) this.#broken.set(position, what)
    }
  }

  #seenIn(position: number): readonly string[] {
    const seen = this.#seenInRows.get(position)
    return seen === undefined ? [] : [seen.what]
  }

  /** Without those in a channel where a worker of any process holds a lease, or in a paused queue. */
  async #withoutWorkers(
    connection: Connection,
    waiting: readonly WaitsLong[],
  ): Promise<readonly WaitsLong[]> {
    const { sql, records } = this.#context
    const [found] = await connection.run([{ sql: sql.leased, values: [] }])
    const served = new Set<string>()
    for (const { job, stages } of jobRecords(found?.rows ?? [], records)) {
      const tasks = job.task === null ? (stages ?? []).flat() : [job.task]
      for (const task of tasks) {
        if (task == null) continue
        const stage = job.spec.stages?.[task.stage]?.name ?? null
        served.add(channelName(task.policy.queue, job.spec.type, stage))
      }
    }
    const queues = new Set(waiting.map(({ queue }) => queue))
    const paused = await this.#queries.pausedAmong(connection, queues)
    return waiting.filter(({ queue, type, stage }) => {
      return !paused.has(queue) && !served.has(channelName(queue, type, stage))
    })
  }
}

/** Where a cursor stands that has passed these; 0: it begins anew. */
function endOf(passed: StatementResult | undefined, most: number): number {
  const [count, last] = passed?.rows[0] ?? [0, null]
  return count === most ? (last as number) : 0
}

/** The first ones, up to so many entries in all. */
function upToEntries(jobs: readonly ExaminedJob[]): readonly ExaminedJob[] {
  let entries = 0
  const end = jobs.findIndex((one) => {
    if (one.isSmall) entries += one.entries
    return entries >= MOST_ENTRIES
  })
  return end < 0 ? jobs : jobs.slice(0, end + 1)
}

function submittedJob([position, job, hasRow, isForgotten, rows, entries]: Row): ExaminedJob {
  return {
    position: position as number,
    job: job as string,
    hasRow: Boolean(hasRow),
    isForgotten: Boolean(isForgotten),
    isSmall: isSmall(rows as number, entries as number),
    entries: entries as number,
  }
}

/** Its state is not what the log leads to. */
function broken(what: string): Violation {
  return { invariant: FOLD_INVARIANT, what }
}

function inWords({ row, what, position }: DatabaseProblem): string {
  return position === null ? `${row}: ${what}` : `${row}: ${what} (position ${position})`
}

/** Rows of one job after the other. */
function byJob(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = []
  for (const row of rows) {
    const last = groups.at(-1)
    if (last?.[0]?.[0] === row[0]) last?.push(row)
    else groups.push([row])
  }
  return groups
}

function countTasks(opened: readonly number[] | null): number {
  return (opened ?? []).reduce((sum, segments) => sum + Math.max(0, segments), 0)
}

function violationsOf({ job, stages }: JobRecord, now: number): Violation[] {
  const world = createWorld(new Map([[job.id, job]]))
  if (stages !== null) world.tasks.set(job.id, stages)
  const tallies = recordTallies({ job, stages })
  if (isFinal(jobState(job, tallies, now))) return []
  return jobViolations(world, job, tallies, now)
}

/** Tasks that a worker could have taken since before this time. */
function noteWaiting({ job, stages }: JobRecord, before: number, waiting: WaitsLong[]): void {
  if (isHeldBack(job)) return
  const tasks: readonly Task[] =
    job.task === null ? (stages ?? []).flatMap((one) => one ?? []) : [job.task]
  for (const task of tasks) {
    const since = waitingSince(task)
    if (task.state !== 'WAITING' || since > before) continue
    const stage = job.task === null ? (job.spec.stages?.[task.stage]?.name ?? null) : null
    waiting.push({ queue: task.policy.queue, type: job.spec.type, stage, since })
  }
}
