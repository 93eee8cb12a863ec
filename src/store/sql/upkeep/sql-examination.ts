/**
 * Examines jobs that are not over, a few at a time, round after round: whether what must always hold
 * does hold, and which of them have waited for long without a sign of a worker. It changes nothing.
 */
import type { Task, Violation } from '../../../kernel/index.ts'
import { createWorld, isFinal, isHeldBack, jobState, jobViolations } from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import { recordTallies } from '../../../log/index.ts'
import type { Examined, QueryOf, WaitsLong } from '../../store.ts'
import { waitingSince } from '../../state/task-snapshot.ts'
import type { Connection } from '../connection.ts'
import type { JobQueries, QueryContext } from '../queries/job-queries.ts'
import { channelName, channelOf, jobRecords } from '../rows/work-rows.ts'

/** A job with more tasks than this is not examined: reading it takes too long. */
const MOST_TASKS = 200
const MOST_JOBS = 50
/** Submitted jobs that one call passes at most, nearly all of them over for long. */
const MOST_PASSED = 5_000

export class SqlExamination {
  readonly #context: QueryContext
  readonly #queries: JobQueries
  /** The position that the round has come to. */
  #after = 0

  constructor(context: QueryContext, queries: JobQueries) {
    this.#context = context
    this.#queries = queries
  }

  async examine(
    connection: Connection,
    { limit, waitedMs }: QueryOf<'examination'>,
  ): Promise<Examined> {
    const { sql, records } = this.#context
    const now = await this.#queries.now(connection)
    const most = Math.min(limit, MOST_JOBS)
    const [found, passed] = await connection.run([
      { sql: sql.openJobsAfter, values: [this.#after, MOST_PASSED, most] },
      { sql: sql.submitsAfter, values: [this.#after, MOST_PASSED] },
    ])
    const jobs = jobRecords(found?.rows ?? [], records).map(({ job }) => job)
    const [count, last] = passed?.rows[0] ?? [0, null]
    if (jobs.length === most) this.#after = jobs.at(-1)?.firstPosition ?? 0
    else this.#after = count === MOST_PASSED ? (last as number) : 0
    const small = jobs.filter(({ opened }) => countTasks(opened) <= MOST_TASKS)
    const rows = small.map(({ id }) => [id])
    const [whole] = await connection.run([{ sql: sql.wholeJobs, rows }])
    const violations: Violation[] = []
    const waiting: WaitsLong[] = []
    for (const record of jobRecords(whole?.rows ?? [], records)) {
      violations.push(...violationsOf(record, now))
      noteWaiting(record, now - waitedMs, waiting)
    }
    const isRoundOver = this.#after === 0
    const unserved = waiting.length === 0 ? [] : await this.#withoutWorkers(connection, waiting)
    return { looked: jobs.length, isRoundOver, violations, waiting: unserved }
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
      for (const task of tasks) if (task != null) served.add(channelOf(job, task))
    }
    const queues = new Set(waiting.map(({ queue }) => queue))
    const paused = await this.#queries.pausedAmong(connection, queues)
    return waiting.filter(({ queue, type, stage }) => {
      return !paused.has(queue) && !served.has(channelName(queue, type, stage))
    })
  }
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
