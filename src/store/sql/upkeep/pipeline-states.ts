/**
 * Counts pipelines again that upkeep looks at. The state of a pipeline, and whether it has held effects, follows from the tallies of its stages,
 * so no transaction that changes a segment knows it.
 *
 * The state is derived AFTER the pipeline's row in `pipelines` is locked: of several processes that look at
 * once, the last one has seen the most. What changes later makes upkeep look again.
 */
import type { Job, JobState, Tallies } from '../../../kernel/index.ts'
import { hasHeldEffects, jobState } from '../../../kernel/index.ts'
import type { Connection, Row } from '../connection.ts'
import type { JobQueries } from '../queries/job-queries.ts'
import { tagsColumn } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'

export class PipelineStates {
  readonly #sql: Statements
  readonly #queries: JobQueries

  constructor(sql: Statements, queries: JobQueries) {
    this.#sql = sql
    this.#queries = queries
  }

  async countAgain(connection: Connection, jobs: readonly Job[]): Promise<void> {
    const { begin, lockPipelines, commit, rollback } = this.#sql
    const rows = jobs.map(({ id }) => [id])
    try {
      const [, locked] = await connection.run([
        { sql: begin, values: [] },
        { sql: lockPipelines, rows },
      ])
      const writes = await this.#writes(connection, jobs, locked?.rows ?? [])
      await connection.run([...writes, { sql: commit, values: [] }])
    } catch (error) {
      await connection.run([{ sql: rollback, values: [] }]).catch(() => undefined)
      throw error
    }
  }

  async #writes(
    connection: Connection,
    jobs: readonly Job[],
    locked: readonly Row[],
  ): Promise<{ sql: string; rows: readonly Row[] }[]> {
    const counted = new Map(
      locked.map(([job, state, held]) => [job as string, { state, held: Boolean(held) }]),
    )
    const now = await this.#queries.now(connection)
    // AFTER the lock, as the tallies: a job that was cancelled meanwhile is in another state.
    const own = await this.#queries.ownRecords(
      connection,
      jobs.flatMap(({ id }) => (counted.has(id) ? [id] : [])),
    )
    const byJob = await this.#queries.talliesOf(connection, own)
    const changed: Row[] = []
    for (const job of own) {
      const tallies = byJob.get(job.id) ?? []
      const state = jobState(job, tallies, now)
      const held = hasHeldEffects(job, tallies)
      const before = counted.get(job.id)
      if (state === before?.state && held === before.held) continue
      const { type, tags } = job.spec
      const at = until(job, tallies, state)
      changed.push([job.id, job.firstPosition, type, tagsColumn(tags), state, held, at])
    }
    if (changed.length === 0) return []
    const ids = changed.map(([job]) => [job as string])
    return [
      { sql: this.#sql.uncountPipelines, rows: ids },
      { sql: this.#sql.savePipelines, rows: changed },
      { sql: this.#sql.countPipelines, rows: ids },
    ]
  }
}

/** When its state is another one without an entry; null: that takes one. */
function until(job: Job, tallies: Tallies, state: JobState): number | null {
  if (state === 'CREATED') return job.held ? null : job.dueAt
  if (state !== 'RETRYING' && state !== 'SUSPENDED') return null
  const times = tallies.flatMap(({ waiting, retryAt }) => (waiting > 0 ? [retryAt] : []))
  const first = Math.min(...times)
  return Number.isFinite(first) ? first : null
}
