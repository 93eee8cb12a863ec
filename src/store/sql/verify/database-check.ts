/**
 * One pass over a whole database: every event is read and folded, job by job, and every row is
 * compared with what the events say. It only reads, and reports each problem with what would put it
 * right.
 *
 * Events of different jobs commute, so each job is folded by itself, and memory holds one page of
 * them, jobs that hold a lease, the queues, the schedules and the limits. What one entry says of
 * another job (the child of an effect, the job of a tick) is counted, and must come out even.
 */
import type { World } from '../../../kernel/index.ts'
import {
  countTallies,
  createWorld,
  isEnding,
  openableStages,
  sharedViolations,
  stagesOf,
  tasksOf,
} from '../../../kernel/index.ts'
import { texts } from '../../state/entry-check.ts'
import { WORK_COLUMN_AT } from '../statements.ts'
import type { Connection, Row, Value } from '../connection.ts'
import { CallFold } from './call-check.ts'
import type { Baseline, EventRow, HistoryMark } from '../rows/event-rows.ts'
import { baseline, eventRow, historyMark } from '../rows/event-rows.ts'
import type { TallyRow } from '../rows/tally-rows.ts'
import { TallyChange, tallyRow } from '../rows/tally-rows.ts'
import { JOB_ROW } from '../rows/work-rows.ts'
import type { FoldListener, JobFromRows } from './job-fold.ts'
import { JobFold, jobFromRows } from './job-fold.ts'
import { checkLimits, CountedLimitUses } from './limit-check.ts'
import type { DatabaseProblem } from '../failures.ts'
import type { Fix, ReportProblem } from './database-problem.ts'
import { rowName } from './database-problem.ts'
import type { Records } from '../rows/records.ts'
import type { ExpectedJob } from './row-check.ts'
import { expectedJob, RowCheck, tallyProblems } from './row-check.ts'
import { ReadModelCheck } from './read-model-check.ts'
import { checkQueues, checkSchedules, QueueScheduleFold } from './queue-and-schedule-check.ts'
import type { HistoryStatements, Statements } from '../statements.ts'

interface DatabaseCheckParts {
  readonly connection: Connection
  readonly sql: Statements
  readonly records: Records
  readonly history: HistoryStatements
  /** Whether the database remembers how many of the sorted events were read. */
  readonly hasCursor: boolean
  /** Without a fix nothing in the database says what is right. */
  onProblem(problem: DatabaseProblem, fix: Fix | null): void
  /** What follows from the other fixes. */
  onFix(fix: Fix): void
  /**
   * The events of a job do not check. `stored`: what its rows say; null: they do not check, either. It
   * answers whether the events are given up and the job is `kept`, or the job is `gone`, or neither.
   */
  onDamaged(fold: JobFold, stored: JobFromRows | null): 'kept' | 'gone' | null
  /** Between two pages, with how many events were read. */
  onPage(events: number): Promise<void>
}

export interface CheckedDatabase {
  readonly events: number
  readonly jobs: number
  readonly rows: number
  /** The newest event. */
  readonly newest: number
}

/** What the database has of pipelines. */
interface StoredTallies {
  readonly rows: readonly TallyRow[]
  /** Those that the orchestrator will look at. */
  readonly toCheck: ReadonlySet<string>
}

/** Rows without events are named up to this number. */
const MOST_STRAYS = 100_000

export class DatabaseCheck implements FoldListener {
  readonly #parts: DatabaseCheckParts
  readonly #uses = new CountedLimitUses()
  readonly #readModel: ReadModelCheck
  /** Queues of which some rows are to be repaired. */
  readonly #rewritten = new Set<string>()
  readonly #check: RowCheck
  /** Jobs that hold leases: their limits are checked in the end. */
  readonly #leased: World = createWorld()
  /** How many more were submitted than recorded, where that is not even. */
  readonly #unmatched = new Map<string, { balance: number; position: number }>()
  /** Rows of `work` that a problem was reported of. */
  readonly #reported = new Set<string>()
  #queuesAndSchedules!: QueueScheduleFold
  #hasBaselines = false
  #history!: HistoryMark
  readonly #calls = new CallFold()
  #events = 0
  #jobs = 0
  #rows = 0
  #newest = 0

  constructor(parts: DatabaseCheckParts) {
    this.#parts = parts
    this.#readModel = new ReadModelCheck(parts.sql, parts.connection, (...problem) => {
      this.#report(...problem)
    })
    this.#check = new RowCheck(parts.records, (queue) => {
      const { queues, ageings } = this.#queuesAndSchedules
      return [queues.get(queue)?.ageingMs ?? null, ...(ageings.get(queue) ?? [])]
    })
  }

  /** Inside of a transaction. */
  async run(): Promise<CheckedDatabase> {
    const { sql, records } = this.#parts
    const [mark] = await this.#rowsOf(this.#parts.history.read)
    this.#history = historyMark(mark)
    await this.#rowsOf(sql.sortEvents)
    const baselines = [
      ...(await this.#rowsOf(sql.baselines, 'queue')),
      ...(await this.#rowsOf(sql.baselines, 'schedule')),
    ]
    this.#queuesAndSchedules = new QueueScheduleFold(baselines.map(baseline), records, this)
    await this.#readEvents()
    await this.#rowsOf(sql.dropSortedEvents)
    await this.#checkSmallTables()
    await this.#checkStrays()
    await this.#checkTables()
    await this.#checkCalls()
    this.#checkBetween()
    return { events: this.#events, jobs: this.#jobs, rows: this.#rows, newest: this.#newest }
  }

  granted(...grant: Parameters<FoldListener['granted']>): void {
    this.#uses.countGrant(...grant)
  }

  submitted(id: string): void {
    this.#count(id, 1, 0)
  }

  recorded(id: string, position: number): void {
    // The job may have been forgotten since, and be removed.
    if (position > this.#history.through) this.#count(id, -1, position)
  }

  #count(id: string, by: number, position: number): void {
    const before = this.#unmatched.get(id)
    const balance = (before?.balance ?? 0) + by
    if (balance === 0) this.#unmatched.delete(id)
    else this.#unmatched.set(id, { balance, position: Math.max(position, before?.position ?? 0) })
  }

  async #readEvents(): Promise<void> {
    const { sql, hasCursor } = this.#parts
    let fold: JobFold | null = null
    const finished: JobFold[] = []
    for (;;) {
      const values = hasCursor ? [] : [this.#events]
      const page = (await this.#rowsOf(sql.nextEvents, ...values)).map(eventRow)
      this.#events += page.length
      const baselines = await this.#baselinesOf(page)
      for (const event of page) {
        this.#newest = Math.max(this.#newest, event.position)
        if (event.job === null) {
          this.#queuesAndSchedules.apply(event)
          continue
        }
        if (fold?.id !== event.job) {
          if (fold !== null) finished.push(fold)
          const own = baselines.get(event.job) ?? []
          fold = new JobFold(event.job, own, this.#parts.records, this, this.#history.through)
        }
        fold.apply(event)
      }
      if (page.length === 0 && fold !== null) finished.push(fold)
      await this.#compare(finished.splice(0))
      await this.#parts.onPage(this.#events)
      if (page.length === 0) return
    }
  }

  async #baselinesOf(page: readonly EventRow[]): Promise<Map<string, Baseline[]>> {
    const found = new Map<string, Baseline[]>()
    const names = new Set(page.flatMap(({ job }) => job ?? []))
    const rows = await this.#rowsFor(this.#parts.sql.baselinesOf, names)
    for (const one of rows.map(baseline)) {
      this.#hasBaselines = true
      // Entries of other jobs may record it as submitted: that is no problem any more.
      if (one.kind === 'gone') this.#count(one.name, Infinity, 0)
      found.set(one.name, [...(found.get(one.name) ?? []), one])
    }
    return found
  }

  /** Jobs of which all events were read, beside their rows. */
  async #compare(folds: readonly JobFold[]): Promise<void> {
    if (folds.length === 0) return
    const { sql } = this.#parts
    for (const fold of folds) fold.finish()
    const rows = await this.#rowsFor(sql.wholeRows, new Set(folds.map(({ id }) => id)))
    const pipelines = folds.filter(({ record }) => record !== null && record.job.task === null)
    const names = new Set(pipelines.map(({ id }) => id))
    const marked = await this.#rowsFor(sql.markedPipelines, names)
    const tallies: StoredTallies = {
      rows: (await this.#rowsFor(sql.tallies, names)).map(tallyRow),
      toCheck: new Set(marked.map(([job]) => job as string)),
    }
    this.#rows += rows.length
    const byJob = new Map<string, Row[]>()
    for (const row of rows) {
      const known = byJob.get(row[WORK_COLUMN_AT.job] as string)
      if (known === undefined) byJob.set(row[WORK_COLUMN_AT.job] as string, [row])
      else known.push(row)
    }
    for (const fold of folds) this.#compareJob(fold, byJob.get(fold.id) ?? [], tallies)
    await this.#readModel.checkLabels()
  }

  #compareJob(fold: JobFold, rows: readonly Row[], tallies: StoredTallies): void {
    const { id, wrong, record } = fold
    for (const one of wrong) this.#report('events', id, one.what, null, one.position)
    const stored = wrong.length > 0 ? jobFromRows(fold, rows, this.#parts.records) : null
    const givenUp = wrong.length > 0 ? this.#parts.onDamaged(fold, stored) : null
    // Where nothing is known but the rows, they must at least agree with each other.
    const isByRows = givenUp !== null || fold.isDamaged
    const known = isByRows ? (stored?.record ?? null) : record
    if (givenUp === 'gone' || (isByRows && known === null)) {
      for (const row of rows) this.#noteReported(row)
      return
    }
    if (known !== null) {
      this.#jobs += 1
      this.#noteLeases(known)
      this.#calls.note(known)
      this.#readModel.noteJob(known, tallies.toCheck.has(id))
    }
    const expected = known === null ? null : expectedJob(known, this.#lastIn(fold, stored, givenUp))
    this.#compareRows(id, expected, rows, isByRows && givenUp === null)
    if (expected !== null && expected.job.task === null)
      this.#compareTallies(expected, rows, tallies)
  }

  /** The position of a row's newest entry; of what was given up, that of the JobSubmitted. */
  #lastIn(
    fold: JobFold,
    stored: JobFromRows | null,
    givenUp: 'kept' | 'gone' | null,
  ): (stage: number, segment: number) => number {
    if (givenUp !== null) return () => fold.submitted?.position ?? 0
    if (fold.isDamaged && stored !== null) return stored.lastPosition
    return (...at) => fold.lastPosition(...at)
  }

  #noteLeases(record: NonNullable<JobFold['record']>): void {
    const { job, stages } = record
    const tasks = job.task === null ? (stages ?? []).flatMap((one) => one ?? []) : [job.task]
    for (const task of tasks) this.#uses.countLease(task)
    if (!tasks.some(({ lease }) => lease !== null)) return
    this.#leased.jobs.set(job.id, job)
    if (stages !== null) this.#leased.tasks.set(job.id, stages)
  }

  #compareRows(
    id: string,
    expected: ExpectedJob | null,
    rows: readonly Row[],
    isByRows: boolean,
  ): void {
    const found = new Map<string, Row[]>()
    for (const row of rows) {
      const name = rowName(
        id,
        row[WORK_COLUMN_AT.stage] as number,
        row[WORK_COLUMN_AT.segment] as number,
      )
      found.set(name, [...(found.get(name) ?? []), row])
    }
    for (const row of expected?.rows ?? []) {
      const name = rowName(id, row.stage, row.segment)
      const same = found.get(name) ?? []
      found.delete(name)
      const [first] = same
      const wrong = first === undefined ? ['it is missing'] : []
      if (same.length > 1) wrong.push(`it is there ${same.length} times`)
      if (first !== undefined) {
        wrong.push(...this.#check.problems(expected as ExpectedJob, row, first))
        if (row.task !== null) this.#uses.countWaiting(first, row.task)
      }
      // A row that is written anew has no turn.
      const turn = wrong.length === 0 || isByRows ? first?.[WORK_COLUMN_AT.turn] : null
      this.#readModel.noteTask((expected as ExpectedJob).job, row.task, turn as number | null)
      if (wrong.length === 0) continue
      if (row.task !== null) this.#rewritten.add(row.task.policy.queue)
      const address = [id, row.stage, row.segment] as const
      const columns = isByRows ? null : this.#check.row(expected as ExpectedJob, row)
      const fix: Fix | null = isByRows ? null : { table: 'work', address, row: columns }
      for (const what of wrong) this.#report('work', name, what, fix)
      if (first !== undefined) this.#noteReported(first)
    }
    for (const [name, [row]] of found) {
      const address = this.#noteReported(row as Row)
      const fix: Fix | null = isByRows ? null : { table: 'work', address, row: null }
      this.#report('work', name, 'no event leads to it', fix)
    }
  }

  #compareTallies(expected: ExpectedJob, rows: readonly Row[], stored: StoredTallies): void {
    const { job, isOver } = expected
    const changes = stagesOf(job).map(() => new TallyChange())
    for (const { task } of expected.rows) if (task !== null) changes[task.stage]?.count(task, 1)
    const fix: Fix = {
      table: 'tallies',
      job: job.id,
      rows: changes.map((change, stage) => change.columns(job.id, stage, true)),
    }
    const own = stored.rows.filter((row) => row.job === job.id)
    for (const [stage, { name }] of stagesOf(job).entries()) {
      const row = own.find((one) => one.stage === stage)
      const wrong = tallyProblems(changes[stage] as TallyChange, row, isOver)
      for (const what of wrong) this.#report('tallies', job.id, `${name}: ${what}`, fix)
    }
    const hasRow = rows.some((row) => row[WORK_COLUMN_AT.stage] === JOB_ROW)
    if (own.length > 0 && !hasRow) this.#reported.add(rowName(job.id, JOB_ROW, 0))
    if (own.some(({ stage }) => stage < 0 || stage >= changes.length))
      this.#report('tallies', job.id, 'they have a stage that the job has not', fix)
    if (stored.toCheck.has(job.id) || !this.#isDue(expected, rows)) return
    const what = 'something is to be done about it, and the orchestrator would not look'
    this.#report('tallies', job.id, what, fix)
  }

  /** The orchestrator has something to do: then the job's tallies must say so. */
  #isDue({ job, isOver, rows: expected }: ExpectedJob, rows: readonly Row[]): boolean {
    const own = rows.find((row) => (row[WORK_COLUMN_AT.stage] as number) < 0)
    const isNoted = own === undefined || own[WORK_COLUMN_AT.over_at] !== null
    const world = createWorld(new Map([[job.id, job]]))
    const stages = stagesOf(job).map((_, stage) => {
      const tasks = expected.flatMap((row) => (row.stage === stage ? (row.task ?? []) : []))
      return tasks.length === 0 ? null : tasks
    })
    world.tasks.set(job.id, stages)
    const tallies = countTallies(world, job)
    const isStopping =
      isEnding(job, tallies) &&
      tasksOf(world, job).some(
        ({ state, commit, stage }) =>
          (state === 'WAITING' || state === 'LEASED') &&
          commit === null &&
          stagesOf(job)[stage]?.onFailure !== true,
      )
    return (isOver && !isNoted) || isStopping || openableStages(job, tallies).length > 0
  }

  async #checkSmallTables(): Promise<void> {
    const { sql, records } = this.#parts
    const folded = this.#queuesAndSchedules
    for (const { what, position } of folded.wrong) {
      this.#report('events', null, what, null, position)
    }
    const report: ReportProblem = (...problem) => this.#report(...problem)
    // Of grants that were removed it is only known that they are as old.
    this.#uses.noteRemovedGrants(this.#history)
    checkQueues(await this.#rowsOf(sql.allQueues), folded, this.#uses, records, report)
    checkSchedules(await this.#rowsOf(sql.allSchedules), folded, records, report)
    await this.#readModel.checkCounts(this.#rewritten, (fix) => this.#parts.onFix(fix))
    checkLimits(await this.#rowsOf(sql.allLimits), this.#uses, this.#hasBaselines, report)
    await this.#parts.onPage(this.#events)
  }

  /** Rows of jobs without events. */
  async #checkStrays(): Promise<void> {
    const { sql } = this.#parts
    for (const row of await this.#rowsOf(sql.strayRows, MOST_STRAYS)) {
      const [job, stage, segment, position] = row as unknown as [string, number, number, number]
      const name = rowName(job, stage, segment)
      if (this.#reported.has(name)) continue
      const what = `no JobSubmitted of its job stands at position ${position}`
      this.#report('work', name, what, { table: 'work', address: [job, stage, segment], row: null })
    }
    for (const [job] of await this.#rowsOf(sql.strayTallies)) {
      const what = 'there is no such job'
      const fix: Fix = { table: 'tallies', job: job as string, rows: [] }
      const isReported = this.#reported.has(rowName(job as string, JOB_ROW, 0))
      if (!isReported) this.#report('tallies', job as string, what, fix)
    }
    await this.#parts.onPage(this.#events)
  }

  async #checkTables(): Promise<void> {
    const { sql } = this.#parts
    for (const [table, name, times] of await this.#rowsOf(sql.duplicates)) {
      const position = table === 'events' ? Number(name) : null
      this.#report(
        table as string,
        name as string,
        `it is there ${Number(times)} times`,
        null,
        position,
      )
    }
    const [[missing] = []] = await this.#rowsOf(sql.missingTriggers)
    if (Number(missing) > 0) {
      const what = `${Number(missing)} of the triggers that keep events as they are are missing or off`
      this.#report('meta', 'triggers', what, null)
    }
    const [[newest, given] = []] = await this.#rowsOf(sql.lastPositions)
    if ((given as number) < (newest as number)) {
      const what = `the next position would be ${Number(given) + 1}, and ${Number(newest)} is taken`
      this.#report('meta', 'positions', what, { table: 'meta', position: newest as number })
    }
    await this.#parts.onPage(this.#events)
  }

  async #checkCalls(): Promise<void> {
    const { jobs } = this.#calls
    if (jobs.size === 0) return
    const marked = await this.#rowsFor(this.#parts.sql.markedCalls, jobs)
    for (const { job, stage, segment } of this.#calls.missing(marked)) {
      const what = 'something is to be done about a call, and upkeep would not look'
      const fix: Fix = { table: 'calls', row: [job, stage, segment] }
      this.#report('calls', rowName(job, stage, segment), what, fix)
    }
    await this.#parts.onPage(this.#events)
  }

  /** What entries of one job record of another, and the limits that jobs share. */
  #checkBetween(): void {
    for (const [id, { balance, position }] of this.#unmatched) {
      if (balance > 0) continue
      this.#report('events', id, 'it was recorded as submitted, and never was', null, position)
    }
    for (const [name, queue] of this.#queuesAndSchedules.queues)
      this.#leased.queues.set(name, queue)
    for (const what of texts(sharedViolations(this.#leased)))
      this.#report('events', null, what, null)
  }

  #noteReported(row: Row): [job: string, stage: number, segment: number] {
    const address = [
      row[WORK_COLUMN_AT.job],
      row[WORK_COLUMN_AT.stage],
      row[WORK_COLUMN_AT.segment],
    ] as [string, number, number]
    this.#reported.add(rowName(...address))
    return address
  }

  #report(
    table: string,
    row: string | null,
    what: string,
    fix: Fix | null,
    position: number | null = null,
  ): void {
    this.#parts.onProblem({ what, table, row, position }, fix)
  }

  async #rowsOf(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    const [answered] = await this.#parts.connection.run([{ sql, values }])
    return answered?.rows ?? []
  }

  async #rowsFor(sql: string, names: ReadonlySet<string>): Promise<readonly Row[]> {
    const rows = [...names].map((name) => [name])
    const [answered] = await this.#parts.connection.run([{ sql, rows }])
    return answered?.rows ?? []
  }
}
