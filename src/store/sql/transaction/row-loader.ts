/**
 * Loads what a transaction needs into its working set. Rows that follow from no other row are loaded in
 * one round trip.
 */
import type { Job } from '../../../kernel/index.ts'
import { stagesOf } from '../../../kernel/index.ts'
import type { StatementResult, Statement, Connection, Row } from '../connection.ts'
import { NotLoaded, LoadedTallies } from './working-set.ts'
import type { WorkingSet } from './working-set.ts'
import type { LockPlan, RowAddress } from './lock-plan.ts'
import type { LoadedColumns } from '../rows/work-rows.ts'
import { tallyRow } from '../rows/tally-rows.ts'
import { JOB_ROW, loadedColumns } from '../rows/work-rows.ts'
import type { TransactionContext } from './context.ts'

/** One statement of a load, and what adds its rows to the working set. */
interface LoadStep {
  readonly statement: Statement
  readonly add: (rows: readonly Row[]) => void
}

/** Loads that follow from each other; more would be a bug. */
const MOST_ROUNDS = 8

export class RowLoader {
  readonly #connection: Connection
  readonly #loaded: WorkingSet
  readonly #context: TransactionContext
  /** Rows of jobs whose JobSubmitted is still to be read, with their segments. */
  readonly #withoutSpec: LoadedColumns[] = []

  constructor(connection: Connection, context: TransactionContext, loaded: WorkingSet) {
    this.#connection = connection
    this.#context = context
    this.#loaded = loaded
  }

  /**
   * Loads until the plan is empty. `last` is sent behind each load, so that it is answered AFTER the
   * last lock: the results of `last`.
   */
  async load(
    missing: () => LockPlan,
    last: readonly Statement[],
  ): Promise<readonly StatementResult[]> {
    let plan = missing()
    for (let round = 1; ; round++) {
      const isLast = plan.isEmpty
      const results = await this.#round(plan, last)
      // Where nothing was loaded, nothing follows from it.
      if (isLast) return results
      plan = missing()
      if (plan.isEmpty) return results
      if (round === MOST_ROUNDS) throw new NotLoaded('Something that is not to be found')
    }
  }

  /** The tasks of these pipelines that are FAILED or DEAD: why they end. */
  async loadFailedTasks(jobs: ReadonlySet<string>): Promise<void> {
    const statement = { sql: this.#context.sql.failedTasks, rows: inRows(jobs) }
    const [found] = await this.#connection.run([statement])
    for (const row of found?.rows ?? []) this.#loaded.addRow(loadedColumns(row), null)
  }

  /** Locks those limits that no other transaction has locked, without waiting. The results of `last`. */
  async tryLockLimits(
    plan: LockPlan,
    last: readonly Statement[],
  ): Promise<readonly StatementResult[]> {
    const statement = { sql: this.#context.sql.tryLockLimits, rows: inRows(plan.limits) }
    const [limits, ...rest] = await this.#connection.run([statement, ...last])
    this.#addLimits(limits?.rows ?? [])
    return rest
  }

  async #round(plan: LockPlan, last: readonly Statement[]): Promise<readonly StatementResult[]> {
    const steps = this.#stepsOf(plan)
    const sent = [...steps.map(({ statement }) => statement), ...last]
    const results = await this.#connection.run(sent)
    steps.forEach(({ add }, i) => add((results[i] as StatementResult).rows))
    await this.#addWithoutSpec()
    return results.slice(steps.length)
  }

  #stepsOf(plan: LockPlan): LoadStep[] {
    const { sql, submissions } = this.#context
    const steps: LoadStep[] = []
    const step = (
      text: string,
      rows: readonly Row[],
      add: (rows: readonly Row[]) => void = () => undefined,
    ): void => {
      if (rows.length > 0) steps.push({ statement: { sql: text, rows }, add })
    }
    // In one order everywhere: queues, rows, keys, tasks of jobs, schedules, limits.
    const exclusive = inRows(plan.exclusiveQueues)
    const shared = inRows(plan.sharedQueues)
    const queues = [...exclusive, ...shared]
    step(sql.lockQueues, exclusive)
    step(sql.lockQueuesShared, shared)
    step(sql.lockLimitedQueues, queues)
    step(sql.queues, queues, (rows) => this.#addQueues(queues, rows))
    step(sql.leasesInQueues, queues, (rows) => this.#addQueueUsage(queues, rows))
    const ranked = plan.queuesToRead
    step(sql.readQueues, inRows(ranked), (rows) => this.#cacheQueues(ranked, rows))
    const read = [...plan.rowsToRead].flatMap(([key, row]) => {
      return plan.rowsToLock.has(key) ? [] : [row]
    })
    const locked = [...plan.rowsToLock.values()]
    const withSpec = ([job, stage, segment]: RowAddress): Row => {
      return [job, stage, segment, !submissions.has(job)]
    }
    step(sql.readRows, read.map(withSpec), (rows) => this.#addRows(read, rows))
    step(sql.lockRows, locked.map(withSpec), (rows) => this.#addRows(locked, rows))
    step(sql.lockKeys, inRows(plan.keys), (rows) => this.#addKeys(plan.keys, rows))
    step(sql.lockOpenTasks, inRows(plan.jobsWithTasks))
    step(sql.tallies, inRows(plan.tallies), (rows) => this.#addTallies(plan.tallies, rows))
    step(sql.lockSchedules, inRows(plan.schedules), (rows) => {
      this.#addSchedules(plan.schedules, rows)
    })
    step(sql.insertLimits, inRows(plan.limits))
    step(sql.lockLimits, inRows(plan.limits), (rows) => this.#addLimits(rows))
    return steps
  }

  #addRows(asked: readonly Row[], rows: readonly Row[]): void {
    const found = rows.map((row) => loadedColumns(row))
    // A job comes before its segments.
    for (const columns of found.toSorted((a, b) => a.stage - b.stage)) this.addRow(columns)
    for (const [job] of asked) this.#loaded.jobs.setAbsent(job as string)
  }

  /** The JobSubmitted of a job comes with its row, or from the cache. */
  addRow(columns: LoadedColumns): void {
    const { records, submissions } = this.#context
    const { job, stage } = columns
    if (stage !== JOB_ROW) {
      if (this.#withoutSpec.some((one) => one.job === job)) this.#withoutSpec.push(columns)
      else this.#loaded.addRow(columns, null)
      return
    }
    const submitted = submissions.submittedAs(columns, records)
    if (submitted === null) this.#withoutSpec.push(columns)
    else this.#loaded.addRow(columns, submitted)
  }

  async #addWithoutSpec(): Promise<void> {
    const rows = this.#withoutSpec.splice(0)
    if (rows.length === 0) return
    const jobs = rows.filter(({ stage }) => stage === JOB_ROW)
    const statement = {
      sql: this.#context.sql.events,
      rows: jobs.map(({ position }) => [position]),
    }
    const [events] = await this.#connection.run([statement])
    const records = new Map((events?.rows ?? []).map(([at, record]) => [at, record]))
    for (const columns of jobs) {
      const spec = (records.get(columns.position) ?? null) as Uint8Array | null
      if (spec === null) throw new NotLoaded(`What was submitted as job ${columns.job}`)
      this.addRow({ ...columns, spec })
    }
    for (const columns of rows) if (columns.stage !== JOB_ROW) this.addRow(columns)
  }

  #addKeys(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    for (const row of rows) {
      this.addRow(loadedColumns(row, 1))
      this.#loaded.keys.set(row[0] as string, row[1] as string)
    }
    for (const key of asked) this.#loaded.keys.setAbsent(key)
  }

  #addTallies(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    const counted = rows.map(tallyRow)
    for (const id of asked) {
      const job = this.#loaded.jobs.get(id) as Job
      const tallies = new LoadedTallies(stagesOf(job).length)
      for (const row of counted) if (row.job === id) tallies.set(row)
      this.#loaded.addTallies(job, tallies)
    }
  }

  #addQueues(asked: readonly Row[], rows: readonly Row[]): void {
    for (const [name] of asked) {
      this.#loaded.queues.setAbsent(name as string)
      this.#context.queues.setAbsent(name as string)
    }
    for (const [name, record, fullAt] of rows) {
      const queue = this.#context.records.queue(record as Uint8Array, name as string)
      this.#loaded.addQueue(queue, fullAt as number)
      this.#context.queues.set(queue)
    }
  }

  #cacheQueues(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    const { records, queues } = this.#context
    for (const name of asked) queues.setAbsent(name)
    for (const [name, record] of rows) {
      queues.set(records.queue(record as Uint8Array, name as string))
    }
  }

  /** AFTER the queues themselves. */
  #addQueueUsage(asked: readonly Row[], rows: readonly Row[]): void {
    const leases = new Map(rows.map((row) => [row[0] as string, row[1] as number]))
    for (const row of asked) {
      const name = row[0] as string
      const fullAt = this.#loaded.queueUsage(name)?.fullAt ?? 0
      this.#loaded.setQueueUsage(name, leases.get(name) ?? 0, fullAt)
    }
  }

  #addSchedules(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    for (const [id, record] of rows) {
      const schedule = this.#context.records.schedule(record as Uint8Array, id as string)
      this.#loaded.addSchedule(schedule)
    }
    for (const id of asked) this.#loaded.schedules.setAbsent(id)
  }

  #addLimits(rows: readonly Row[]): void {
    for (const [key, held, fullAt] of rows) {
      this.#loaded.usage.set(key as string, { held: held as number, fullAt: fullAt as number })
    }
  }
}

function inRows(names: ReadonlySet<string>): Row[] {
  return [...names].map((name) => [name])
}
