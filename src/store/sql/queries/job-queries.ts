/**
 * Queries about jobs. Each answer is read with one statement where it can be, so that it is of one
 * moment.
 */
import type { Job, StageTasks, Tallies, Task, TaskAddress } from '../../../kernel/index.ts'
import {
  emptyTally,
  hasHeldEffects,
  jobState,
  NO_TALLIES,
  segmentsOf,
  stageIndex,
  stagesOf,
} from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import {
  endedOf,
  outcomeOf,
  outputsPage,
  PAGE_CHARS,
  PageOfOutputs,
  PageOfSegments,
} from '../../views/job-views.ts'
import { described, matches, MOST_HELD_TASKS, quarantinedJob } from '../../views/job-pages.ts'
import { PageOfStream } from '../../views/stream-pages.ts'
import type { SegmentsPage } from '../../read-model.ts'
import type {
  Ended,
  Outcome,
  OutputsPage,
  PositionedEntry,
  QuarantinedJob,
  QuarantinePage,
  QueryOf,
  StreamPage,
} from '../../store.ts'
import type { Connection, Row } from '../connection.ts'
import type { Records } from '../rows/records.ts'
import { tallyRow } from '../rows/tally-rows.ts'
import { JOB_ROW, jobRecords, jobRecord, loadedColumns, rowKey } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'
import type { SubmissionCache } from '../transaction/context.ts'

/** What queries need of the store. */
export interface QueryContext {
  readonly sql: Statements
  readonly records: Records
  readonly submissions: SubmissionCache
  /** Null: the database's own clock. */
  readonly now: () => number | null
}

interface JobWithTask {
  readonly job: Job
  readonly task: Task
}

interface JobWithTallies {
  readonly job: Job
  readonly tallies: Tallies
}

interface FoundTask {
  readonly task: Task
  /** Of its own newest entry. */
  readonly lastPosition: number
}

/** Jobs that are read at once; a filter may let none of them through. */
const PAGE = 200
/** Segments that are read at once. */
const MOST_OUTPUTS = 1_000
/** Segments that one page looks at. */
const MOST_FILTERED = 20_000
/** Entries of a task that are gone back over at once, for a page of a stream. */
const ENTRIES_AT_ONCE = 256

export class JobQueries {
  readonly #sql: Statements
  readonly #records: Records
  readonly #submissions: SubmissionCache
  readonly #now: () => number | null

  constructor({ sql, records, submissions, now }: QueryContext) {
    this.#sql = sql
    this.#records = records
    this.#submissions = submissions
    this.#now = now
  }

  /** The store's time. */
  async now(connection: Connection): Promise<number> {
    const [clock] = await connection.run([{ sql: this.#sql.clock, values: [this.#now()] }])
    return clock?.rows[0]?.[0] as number
  }

  /** A job with all of its tasks; null: there is none. */
  async record(connection: Connection, id: string): Promise<JobRecord | null> {
    const [result] = await connection.run([{ sql: this.#sql.wholeJobs, rows: [[id]] }])
    return jobRecords(result?.rows ?? [], this.#records)[0] ?? null
  }

  /** Jobs by their own rows, without the tasks of pipelines. Those that are not there are missing. */
  async ownRecords(connection: Connection, ids: readonly string[]): Promise<Job[]> {
    const jobs: Job[] = []
    let asked = ids
    while (asked.length > 0) {
      const rows = asked.map((id) => [id, JOB_ROW, 0, !this.#submissions.has(id)])
      const [found] = await connection.run([{ sql: this.#sql.readRows, rows }])
      const again: string[] = []
      for (const columns of (found?.rows ?? []).map((row) => loadedColumns(row))) {
        const submitted = this.#submissions.submittedAs(columns, this.#records)
        if (submitted === null) again.push(columns.job)
        else jobs.push(jobRecord(columns, submitted, this.#records).job)
      }
      asked = again
    }
    return jobs
  }

  /** One task of a job; null: there is none. */
  async task(connection: Connection, address: TaskAddress): Promise<Task | null> {
    return (await this.#foundTask(connection, address))?.task ?? null
  }

  async #foundTask(
    connection: Connection,
    { job: id, stage, segment }: TaskAddress,
  ): Promise<FoundTask | null> {
    const [job] = await this.ownRecords(connection, [id])
    if (job === undefined) return null
    const { task, lastPosition } = job
    if (task !== null) return stage === 0 && segment === 0 ? { task, lastPosition } : null
    if (segment < 0 || segment >= segmentsOf(job, stage)) return null
    const rows = [[id, stage, segment, false]]
    const [found] = await connection.run([{ sql: this.#sql.readRows, rows }])
    const [own] = this.#tasksOf(job, found?.rows ?? [])
    const [row] = found?.rows ?? []
    if (own === undefined || row === undefined) return null
    return { task: own, lastPosition: loadedColumns(row).lastPosition }
  }

  /** Each with its job; null: there is none. */
  async tasksAt(
    connection: Connection,
    addresses: readonly TaskAddress[],
  ): Promise<readonly (JobWithTask | null)[]> {
    const ids = [...new Set(addresses.map(({ job }) => job))]
    const own = ids.length === 0 ? [] : await this.ownRecords(connection, ids)
    const jobs = new Map(own.map((job) => [job.id, job]))
    const ofSegments = addresses.filter(({ job }) => jobs.get(job)?.task === null)
    const segments = new Map<string, Task>()
    if (ofSegments.length > 0) {
      const rows = ofSegments.map(({ job, stage, segment }) => [job, stage, segment, false])
      const [found] = await connection.run([{ sql: this.#sql.readRows, rows }])
      for (const row of found?.rows ?? []) {
        const { job: id, stage, segment } = loadedColumns(row)
        const [task] = this.#tasksOf(jobs.get(id) as Job, [row])
        if (task !== undefined) segments.set(rowKey(id, stage, segment), task)
      }
    }
    return addresses.map(({ job: id, stage, segment }) => {
      const job = jobs.get(id)
      const task = job?.task ?? segments.get(rowKey(id, stage, segment))
      return job === undefined || task === undefined ? null : { job, task }
    })
  }

  /** None of another job that had the same id. */
  #tasksOf(job: Job, rows: readonly Row[]): Task[] {
    return rows.flatMap((row) => {
      const { stage, segment, position, record } = loadedColumns(row)
      if (position !== job.firstPosition) return []
      return [this.#records.task(record as Uint8Array, job, stage, segment)]
    })
  }

  /** Those of the jobs that are over, in quarantine, or not there. */
  async ended(connection: Connection, jobs: readonly string[]): Promise<Ended[]> {
    const rows = [...new Set(jobs)].map((id) => [id])
    const [result] = await connection.run([{ sql: this.#sql.notEnded, rows }])
    const open = new Set(result?.rows.map(([id]) => id as string))
    const rest = rows.filter(([id]) => !open.has(id as string))
    const ids = rest.map(([id]) => id as string)
    if (ids.length === 0) return []
    const outcomes = await this.outcomes(connection, ids)
    const found = new Map(ids.map((id, i) => [id, outcomes[i] ?? null]))
    return endedOf(ids, (id) => found.get(id) ?? null)
  }

  /** The state of each job; null: there is none. Of a pipeline only failed tasks are read. */
  async outcomes(connection: Connection, ids: readonly string[]): Promise<(Outcome | null)[]> {
    const rows = [...new Set(ids)].map((id) => [id])
    const [clock, result] = await connection.run([
      { sql: this.#sql.clock, values: [this.#now()] },
      { sql: this.#sql.jobRows, rows },
    ])
    const now = clock?.rows[0]?.[0] as number
    const found = new Map<string, Outcome>()
    for (const { job, tallies } of await this.withTallies(connection, result?.rows ?? [])) {
      if (job.task === null) job.lastPosition = await this.#lastPosition(connection, job)
      const isWrong = tallies.some(({ failed, dead }) => failed + dead > 0)
      const stages = isWrong ? await this.#failedStages(connection, job) : null
      found.set(job.id, outcomeOf({ job, stages }, tallies, now))
    }
    return ids.map((id) => found.get(id) ?? null)
  }

  async #lastPosition(connection: Connection, { id, lastPosition }: Job): Promise<number> {
    const [result] = await connection.run([{ sql: this.#sql.lastPosition, values: [id] }])
    return (result?.rows[0]?.[0] as number | null) ?? lastPosition
  }

  async #failedStages(connection: Connection, job: Job): Promise<StageTasks> {
    const stages: StageTasks = stagesOf(job).map(() => [])
    for (const task of await this.#failedTasks(connection, job)) stages[task.stage]?.push(task)
    return stages
  }

  async outputs(
    connection: Connection,
    { job: id, stage, after, limit }: QueryOf<'outputs'>,
  ): Promise<OutputsPage | null> {
    const [job] = await this.ownRecords(connection, [id])
    if (job === undefined) return null
    if (job.task !== null) return outputsPage(stage === 0 ? [job.task] : [], after, limit)
    const page = new PageOfOutputs(after, limit)
    const last = segmentsOf(job, stage) - 1
    // One more than a page has: it says whether there is a next one.
    const most = Math.min(limit, MOST_OUTPUTS) + 1
    for (let read = after; read < last;) {
      const values = [id, stage, read, most, PAGE_CHARS]
      const [found] = await connection.run([{ sql: this.#sql.segmentsAfter, values }])
      const tasks = this.#tasksOf(job, found?.rows ?? [])
      // A stage that was opened has all of its segments, until the job is forgotten.
      if (tasks.length === 0) return null
      for (const task of tasks) if (!page.add(task)) return page.page
      read = tasks.at(-1)?.segment ?? last
    }
    return page.page
  }

  /** With a state, it looks at so many segments at most: a page may be short. */
  async segments(connection: Connection, query: QueryOf<'segments'>): Promise<SegmentsPage | null> {
    const { job: id, after, limit, state } = query
    const [job] = await this.ownRecords(connection, [id])
    const stage = job === undefined ? -1 : stageIndex(job, query.stage)
    if (job === undefined || stage === -1) return null
    const page = new PageOfSegments(query)
    const last = segmentsOf(job, stage) - 1
    const most = state === undefined ? Math.min(limit, MOST_OUTPUTS) + 1 : MOST_OUTPUTS
    const end = Math.min(last, after + MOST_FILTERED)
    let read = after
    while (read < end) {
      const values = [id, stage, read, most, PAGE_CHARS]
      const [found] = await connection.run([{ sql: this.#sql.segmentsAfter, values }])
      const tasks = this.#tasksOf(job, found?.rows ?? [])
      if (tasks.length === 0) return null
      for (const task of tasks) if (!page.add(task)) return page.page
      read = tasks.at(-1)?.segment ?? last
    }
    return read < last ? { ...page.page, next: read } : page.page
  }

  async quarantine(connection: Connection, query: QueryOf<'quarantine'>): Promise<QuarantinePage> {
    const now = await this.now(connection)
    const jobs: QuarantinedJob[] = []
    const isOfHeld = query.heldEffects === true
    const ofPipelines = query.pipelines === true
    const { deadJobsAfter, deadPipelinesAfter, heldJobsAfter, jobRows } = this.#sql
    const sql = isOfHeld ? heldJobsAfter : ofPipelines ? deadPipelinesAfter : deadJobsAfter
    let after = query.after ?? 0
    for (;;) {
      const statement =
        query.jobs === undefined
          ? { sql, values: [after, PAGE] }
          : { sql: jobRows, rows: query.jobs.map((id) => [id]) }
      const [result] = await connection.run([statement])
      const found = await this.withTallies(connection, result?.rows ?? [])
      for (const { job, tallies } of inOrder(found, query.jobs)) {
        after = job.firstPosition
        const isMeant = isOfHeld
          ? hasHeldEffects(job, tallies)
          : jobState(job, tallies, now) === 'QUARANTINED'
        if (!isMeant || (ofPipelines && job.task !== null)) continue
        if (!matches(job.spec, job.task, query)) continue
        const one = isOfHeld
          ? described(job, await this.#heldTasks(connection, job))
          : quarantinedJob(job, await this.#failedTasks(connection, job), tallies)
        // It left after its tallies were read.
        if (one.tasks.length === 0) continue
        jobs.push(one)
        if (jobs.length === query.limit) return { jobs, next: after, now }
      }
      if (query.jobs !== undefined || found.length < PAGE) return { jobs, next: null, now }
    }
  }

  /** Jobs by their own rows, with the tallies of those that are pipelines. */
  async withTallies(connection: Connection, rows: readonly Row[]): Promise<JobWithTallies[]> {
    const jobs = jobRecords(rows, this.#records).map(({ job }) => job)
    const pipelines = jobs.filter(({ task }) => task === null)
    const byJob = await this.talliesOf(connection, pipelines)
    return jobs.map((job) => ({ job, tallies: byJob.get(job.id) ?? NO_TALLIES }))
  }

  async talliesOf(
    connection: Connection,
    pipelines: readonly Job[],
  ): Promise<ReadonlyMap<string, Tallies>> {
    if (pipelines.length === 0) return new Map()
    const rows = pipelines.map(({ id }) => [id])
    const [result] = await connection.run([{ sql: this.#sql.tallies, rows }])
    const byJob = new Map(pipelines.map((job) => [job.id, stagesOf(job).map(emptyTally)]))
    for (const { job, stage, tally } of (result?.rows ?? []).map(tallyRow)) {
      const tallies = byJob.get(job)
      if (tallies !== undefined && stage < tallies.length) tallies[stage] = tally
    }
    return byJob
  }

  /** The tasks of a pipeline that are FAILED or DEAD; of a plain job its only one. */
  async #failedTasks(connection: Connection, job: Job): Promise<Task[]> {
    if (job.task !== null) return [job.task]
    const [result] = await connection.run([{ sql: this.#sql.failedTasks, rows: [[job.id]] }])
    return this.#tasksOf(job, result?.rows ?? [])
  }

  async #heldTasks(connection: Connection, job: Job): Promise<Task[]> {
    if (job.task !== null) return [job.task]
    const values = [job.id, MOST_HELD_TASKS]
    const [result] = await connection.run([{ sql: this.#sql.heldTasks, values }])
    return this.#tasksOf(job, result?.rows ?? [])
  }

  async pausedAmong(connection: Connection, names: Iterable<string>): Promise<Set<string>> {
    const rows = [...names].map((name) => [name])
    const [result] = await connection.run([{ sql: this.#sql.readQueues, rows }])
    const paused = new Set<string>()
    for (const [name, record] of result?.rows ?? []) {
      const queue = this.#records.queue(record as Uint8Array, name as string)
      if (queue.paused) paused.add(queue.name)
    }
    return paused
  }

  /** Along the entries of its task, from the newest back: most readers want what is new. */
  async stream(connection: Connection, query: QueryOf<'stream'>): Promise<StreamPage | null> {
    const found = await this.#foundTask(connection, query)
    if (found === null) return null
    const page = new PageOfStream(query, found.task)
    let position: number | null = page.isEmpty ? null : found.lastPosition
    while (position !== null) {
      const values: Row = [position, ENTRIES_AT_ONCE]
      const [result] = await connection.run([{ sql: this.#sql.streamEntries, values }])
      position = this.#addEntries(page, result?.rows ?? [])
    }
    return page.page
  }

  /** Where to go on; null: there is nothing more for the page. */
  #addEntries(page: PageOfStream, rows: readonly Row[]): number | null {
    for (const [position, , record] of rows) {
      if (record === null) continue
      const entry = this.#records.entry(record as Uint8Array, position as number)
      if (!page.add(entry)) return null
    }
    return (rows.at(-1)?.[1] as number | null | undefined) ?? null
  }

  async history(
    connection: Connection,
    { job, after = 0, limit, newest = false }: QueryOf<'history'>,
  ): Promise<PositionedEntry[]> {
    const values = [job, after, limit, newest ? -1 : 1]
    const [result] = await connection.run([{ sql: this.#sql.jobHistory, values }])
    const found = positionedEntries(result?.rows ?? [], this.#records)
    return newest ? found.toReversed() : found
  }
}

/** Rows of position and record. */
export function positionedEntries(rows: readonly Row[], records: Records): PositionedEntry[] {
  return rows.map(([position, record]) => ({
    position: position as number,
    entry: records.entry(record as Uint8Array, position as number),
  }))
}

/** As they were named, or by position. */
function inOrder(
  found: readonly JobWithTallies[],
  named: readonly string[] | undefined,
): readonly JobWithTallies[] {
  if (named === undefined) return found
  const byId = new Map(found.map((one) => [one.job.id, one]))
  return named.flatMap((id) => byId.get(id) ?? [])
}
