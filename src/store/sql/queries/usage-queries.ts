/**
 * What is asked about queues, limits and workers: how much of each is used, and by whom.
 */
import { createQueue } from '../../../kernel/index.ts'
import type { Holder, InUse, LimitView, QueueView, WorkerView } from '../../store.ts'
import type { StatementResult, Connection, Row } from '../connection.ts'
import type { JobQueries } from './job-queries.ts'
import type { TaskWithLease } from '../rows/work-rows.ts'
import type { Records } from '../rows/records.ts'
import type { Statements } from '../statements.ts'

/** More than a person looks at. */
const MOST_HOLDERS = 20

export class UsageQueries {
  readonly #sql: Statements
  readonly #queries: JobQueries
  readonly #records: Records

  constructor(sql: Statements, queries: JobQueries, records: Records) {
    this.#sql = sql
    this.#queries = queries
    this.#records = records
  }

  /** `now`: null is the database's own clock. */
  async queue(connection: Connection, name: string, now: number | null): Promise<QueueView> {
    const [clock, answered] = await connection.run([
      { sql: this.#sql.clock, values: [now] },
      { sql: this.#sql.queueView, values: [now, name] },
    ])
    const [record, fullAt, held, ready] = (answered as StatementResult).rows[0] as Row
    const queue =
      record === null ? createQueue(name) : this.#records.queue(record as Uint8Array, name)
    const use = await this.#inUse(
      connection,
      held as number,
      fullLater((fullAt as number | null) ?? 0, clock),
      ({ policy }) => policy.queue === name,
    )
    return { queue, ready: ready as number, ...use }
  }

  async limit(connection: Connection, key: string, now: number | null): Promise<LimitView> {
    const [clock, answered] = await connection.run([
      { sql: this.#sql.clock, values: [now] },
      { sql: this.#sql.limitView, values: [key] },
    ])
    const [held, fullAt] = answered?.rows[0] ?? [0, 0]
    const later = fullLater(fullAt as number, clock)
    const use = await this.#inUse(connection, held as number, later, ({ policy }) => {
      return policy.limits.some((limit) => limit.key === key)
    })
    return { key, ...use }
  }

  async worker(connection: Connection, worker: string): Promise<WorkerView> {
    const holders = await this.#holders(connection, ({ lease }) => lease.worker === worker)
    return { worker, held: holders.length, holders: holders.slice(0, MOST_HOLDERS) }
  }

  async #inUse(
    connection: Connection,
    held: number,
    fullAt: number,
    isMeant: (task: TaskWithLease) => boolean,
  ): Promise<InUse> {
    const holders = await this.#holders(connection, isMeant)
    return { held, fullAt, holders: holders.slice(0, MOST_HOLDERS) }
  }

  async #holders(
    connection: Connection,
    isMeant: (task: TaskWithLease) => boolean,
  ): Promise<Holder[]> {
    const leased = await this.#queries.leased(connection)
    return leased.filter(isMeant).map(({ job, stage, segment, lease }) => {
      return { job, stage, segment, worker: lease.worker, since: lease.grantedAt }
    })
  }
}

/** 0: the bucket is full by now. */
function fullLater(fullAt: number, clock: StatementResult | undefined): number {
  return fullAt > (clock?.rows[0]?.[0] as number) ? fullAt : 0
}
