/**
 * Loads what a transaction needs, in as few round trips as there are things that follow from others.
 */
import type { Job } from '../../../kernel/index.ts'
import { stagesOf } from '../../../kernel/index.ts'
import type { StatementResult, Statement, Connection, Row } from '../connection.ts'
import { NotLoaded, LoadedTallies } from './working-set.ts'
import type { WorkingSet } from './working-set.ts'
import type { LockPlan } from './lock-plan.ts'
import type { LoadedColumns } from '../rows/work-rows.ts'
import { JOB_ROW, loadedColumns, tallyRow } from '../rows/work-rows.ts'
import type { TransactionContext } from './context.ts'

/** A part of a load: what is asked, and what is done with the answers. */
interface LoadPart {
  readonly ask: Statement
  readonly take: (rows: readonly Row[]) => void
}

/** So many loads that follow from each other; more would be a bug. */
const MOST_ROUNDS = 8

export class RowLoader {
  readonly #connection: Connection
  readonly #loaded: WorkingSet
  readonly #parts: TransactionContext
  readonly #outdated: LoadedColumns[] = []

  constructor(connection: Connection, parts: TransactionContext, loaded: WorkingSet) {
    this.#connection = connection
    this.#parts = parts
    this.#loaded = loaded
  }

  /**
   * Loads until nothing is missing. `last` is sent behind each load, so that it is answered AFTER the
   * last lock: the answers to it.
   */
  async load(
    missing: () => LockPlan,
    last: readonly Statement[],
  ): Promise<readonly StatementResult[]> {
    let needs = missing()
    for (let round = 1; ; round++) {
      // Where nothing is loaded, nothing follows from it.
      const isLast = needs.isEmpty
      const answers = await this.#round(needs, last)
      if (isLast) return answers
      needs = missing()
      if (needs.isEmpty) return answers
      if (round === MOST_ROUNDS) throw new NotLoaded('Something that is not to be found')
    }
  }

  /** The tasks of these pipelines that FAILED or are DEAD: why they end. */
  async loadTroubled(jobs: ReadonlySet<string>): Promise<void> {
    const rows = [...jobs].map((id) => [id])
    const [answered] = await this.#connection.run([{ sql: this.#parts.sql.troubled, rows }])
    for (const row of answered?.rows ?? []) this.#loaded.addRow(loadedColumns(row), null)
  }

  /** Limits that are there, as far as nobody else has them: it waits for none. The answers to `last`. */
  async tryLimits(
    needs: LockPlan,
    last: readonly Statement[],
  ): Promise<readonly StatementResult[]> {
    const ask = { sql: this.#parts.sql.tryLimits, rows: named(needs.limits) }
    const [answered, ...rest] = await this.#connection.run([ask, ...last])
    this.#takeLimits(answered?.rows ?? [])
    return rest
  }

  async #round(needs: LockPlan, last: readonly Statement[]): Promise<readonly StatementResult[]> {
    const parts = this.#partsOf(needs)
    const answers = await this.#connection.run([...parts.map(({ ask }) => ask), ...last])
    parts.forEach(({ take }, i) => take((answers[i] as StatementResult).rows))
    await this.#takeOutdated()
    return answers.slice(parts.length)
  }

  #partsOf(needs: LockPlan): LoadPart[] {
    const { sql } = this.#parts
    const parts: LoadPart[] = []
    const add = (
      text: string,
      rows: readonly Row[],
      take: (rows: readonly Row[]) => void,
    ): void => {
      if (rows.length > 0) parts.push({ ask: { sql: text, rows }, take })
    }
    const own = named(needs.ownQueues)
    // In one order everywhere: queues, rows, keys, tasks of jobs, schedules, limits.
    add(sql.lockQueues, own, () => undefined)
    add(sql.shareQueues, named(needs.queues), () => undefined)
    const queues = [...own, ...named(needs.queues)]
    add(sql.lockLimited, queues, () => undefined)
    add(sql.queues, queues, (rows) => this.#takeQueues(queues, rows))
    add(sql.heldInQueues, queues, (rows) => this.#takeHeld(queues, rows))
    add(sql.seeQueues, named(needs.ranks), (rows) => this.#lookAtQueues(needs.ranks, rows))
    const seen = [...needs.seen].flatMap(([key, row]) => (needs.locked.has(key) ? [] : [row]))
    add(sql.seeRows, seen, (rows) => this.#takeRows(seen, rows))
    const locked = [...needs.locked.values()]
    const wanted = locked.map((row) => [...row, !this.#parts.submissions.has(row[0])])
    add(sql.lockRows, wanted, (rows) => this.#takeRows(locked, rows))
    add(sql.lockKeys, named(needs.keys), (rows) => this.#takeKeys(needs.keys, rows))
    add(sql.lockTasks, named(needs.tasks), () => undefined)
    add(sql.tallies, named(needs.tallies), (rows) => this.#takeTallies(needs.tallies, rows))
    const schedules = named(needs.schedules)
    add(sql.lockSchedules, schedules, (rows) => this.#takeSchedules(needs.schedules, rows))
    const limits = named(needs.limits)
    add(sql.makeLimits, limits, () => undefined)
    add(sql.lockLimits, limits, (rows) => this.#takeLimits(rows))
    return parts
  }

  #takeRows(asked: readonly Row[], rows: readonly Row[]): void {
    const found = rows.map((row) => loadedColumns(row))
    // A job comes before its segments.
    for (const columns of found.toSorted((a, b) => a.stage - b.stage)) this.take(columns)
    for (const [job] of asked) this.#loaded.jobs.setAbsent(job as string)
  }

  /** A row, with what was submitted: as it was sent, or as it is known here. */
  take(columns: LoadedColumns): void {
    const { records, submissions: submitted } = this.#parts
    const { job, stage, position, spec } = columns
    if (stage !== JOB_ROW) {
      // Its job is not there yet: what is known of that is of an earlier life.
      if (this.#outdated.some((one) => one.job === job)) this.#outdated.push(columns)
      else this.#loaded.addRow(columns, null)
      return
    }
    const known = spec === null ? submitted.find(job, position) : records.submitted(spec, position)
    if (known === null) {
      // Nothing takes its place if the id is a plain job's now: it would be asked for each time.
      submitted.delete(job)
      this.#outdated.push(columns)
      return
    }
    // Each segment asks for it again; of a plain job, whoever has its lease has it already (`Held`).
    if (spec !== null && known.spec.stages !== null) submitted.add(known, position)
    this.#loaded.addRow(columns, known)
  }

  /** The id was used again since: what was kept under it is of its earlier life. */
  async #takeOutdated(): Promise<void> {
    const rows = this.#outdated.splice(0)
    if (rows.length === 0) return
    const jobs = rows.filter(({ stage }) => stage === JOB_ROW)
    const ask = { sql: this.#parts.sql.events, rows: jobs.map(({ position }) => [position]) }
    const [answered] = await this.#connection.run([ask])
    const records = new Map((answered?.rows ?? []).map(([at, record]) => [at, record]))
    for (const columns of jobs) {
      const spec = (records.get(columns.position) ?? null) as Uint8Array | null
      if (spec === null) throw new NotLoaded(`What was submitted as job ${columns.job}`)
      this.take({ ...columns, spec })
    }
    for (const columns of rows) if (columns.stage !== JOB_ROW) this.take(columns)
  }

  #takeKeys(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    for (const row of rows) {
      this.take(loadedColumns(row, 1))
      this.#loaded.keys.set(row[0] as string, row[1] as string)
    }
    for (const key of asked) this.#loaded.keys.setAbsent(key)
  }

  #takeTallies(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    const counted = rows.map(tallyRow)
    for (const id of asked) {
      const job = this.#loaded.jobs.get(id) as Job
      const tallies = new LoadedTallies(stagesOf(job).length)
      for (const row of counted) if (row.job === id) tallies.set(row)
      this.#loaded.addTallies(job, tallies)
    }
  }

  #takeQueues(asked: readonly Row[], rows: readonly Row[]): void {
    for (const [name] of asked) {
      this.#loaded.queues.setAbsent(name as string)
      this.#parts.queues.setAbsent(name as string)
    }
    for (const [name, record, fullAt] of rows) {
      const queue = this.#parts.records.queue(record as Uint8Array, name as string)
      this.#loaded.addQueue(queue, fullAt as number)
      this.#parts.queues.set(queue)
    }
  }

  /** Only to know how they rank what waits in them. */
  #lookAtQueues(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    const { records, queues } = this.#parts
    for (const name of asked) queues.setAbsent(name)
    for (const [name, record] of rows)
      queues.set(records.queue(record as Uint8Array, name as string))
  }

  /** AFTER the queues themselves. */
  #takeHeld(asked: readonly Row[], rows: readonly Row[]): void {
    const held = new Map(rows.map((row) => [row[0] as string, row[1] as number]))
    for (const row of asked) {
      const name = row[0] as string
      const fullAt = this.#loaded.queueUsage(name)?.fullAt ?? 0
      this.#loaded.setQueueUsage(name, held.get(name) ?? 0, fullAt)
    }
  }

  #takeSchedules(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    for (const [id, record] of rows) {
      const schedule = this.#parts.records.schedule(record as Uint8Array, id as string)
      this.#loaded.addSchedule(schedule)
    }
    for (const id of asked) this.#loaded.schedules.setAbsent(id)
  }

  #takeLimits(rows: readonly Row[]): void {
    for (const [key, held, fullAt] of rows) {
      this.#loaded.usage.set(key as string, { held: held as number, fullAt: fullAt as number })
    }
  }
}

function named(names: ReadonlySet<string>): Row[] {
  return [...names].map((name) => [name])
}
