/**
 * Claims of plain jobs without limits, where the next position is known (see `NextPosition`): what is in
 * line is looked at without a transaction, and granted in one message, so that the database works
 * for others while it is decided on.
 *
 * What was seen may be out of date by then, so the message checks everything that the grants were
 * decided on: the versions of the jobs and of their queues. (That nobody else wrote does not follow
 * from the position: others may have, before something that was sent from here.) If one is another, and
 * when anything else comes first, or is not plain, the claim is done in a transaction. Claims of one
 * process take turns, so that no two of them see the same.
 */
import type { Job, Lease, Task } from '../../../kernel/index.ts'
import { decideIn, noReads } from '../../../kernel/index.ts'
import { claimed } from '../../views/claimed.ts'
import type { ClaimRequest } from '../../store.ts'
import { LazyTransaction, cacheLeased } from '../transaction/transaction.ts'
import type { Candidate } from './candidates.ts'
import { channelsOf, firstLook, inOrder } from './candidates.ts'
import type { ClaimResult } from './claim.ts'
import type { Connection } from '../connection.ts'
import type { Preconditions } from '../dialect.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import { WorkingSet } from '../transaction/working-set.ts'
import { RowLoader } from '../transaction/row-loader.ts'
import { JOB_ROW } from '../rows/work-rows.ts'
import { buildWrites } from '../transaction/build-writes.ts'
import type { TransactionContext } from '../transaction/context.ts'

/** So many claims are done in a transaction after one that had to be. */
const WARY_CLAIMS = 20

/** It has to be done in a transaction. */
export interface NeedsTransaction {
  /** It may have been granted before. */
  readonly mayRepeat: boolean
}

const NEEDS_TRANSACTION: NeedsTransaction = { mayRepeat: false }

interface SeenCandidates {
  readonly loaded: WorkingSet
  readonly candidates: readonly Candidate[]
}

export class QuickClaims {
  readonly #pool: ConnectionPool
  /** Null: transactions overlap, and nothing is known before they begin. */
  readonly #checks: Preconditions | null
  readonly #parts: TransactionContext
  #turn: Promise<void> = Promise.resolve()
  #wary = 0

  constructor(pool: ConnectionPool, checks: Preconditions | null, parts: TransactionContext) {
    this.#pool = pool
    this.#checks = checks
    this.#parts = parts
  }

  /** One that was never asked before. */
  claim(request: ClaimRequest): Promise<ClaimResult | NeedsTransaction> {
    const isWary = this.#wary > 0
    if (isWary) this.#wary -= 1
    if (isWary || this.#parts.nextPosition?.next == null) return Promise.resolve(NEEDS_TRANSACTION)
    const before = this.#turn
    return new Promise((resolve, reject) => {
      this.#turn = new Promise((pass) => {
        const claiming = before.then(() => this.#claim(request, pass))
        claiming.then(resolve, reject).finally(pass)
      })
    })
  }

  async #claim(request: ClaimRequest, onSent: () => void): Promise<ClaimResult | NeedsTransaction> {
    const done = await this.#tryTo(request, onSent)
    if ('mayRepeat' in done) this.#wary = WARY_CLAIMS
    return done
  }

  async #tryTo(request: ClaimRequest, onSent: () => void): Promise<ClaimResult | NeedsTransaction> {
    const seen = await this.#pool.run((connection) => this.#look(connection, request))
    if (seen === null) return NEEDS_TRANSACTION
    let isFirst = true
    return this.#pool.run(async (connection) => {
      // Something was wrong, or the connection was lost with the answer.
      if (!isFirst) return { mayRepeat: true }
      isFirst = false
      return this.#grant(connection, request, seen, onSent)
    })
  }

  async #look(connection: Connection, request: ClaimRequest): Promise<SeenCandidates | null> {
    const { queues, records } = this.#parts
    const { channels, max: most } = request
    const loaded = new WorkingSet(records)
    const loading = new RowLoader(connection, this.#parts, loaded)
    const { needed, asks } = firstLook(loaded, request, channelsOf(request, most), 1, this.#parts)
    const [due, woken, found] = await loading.load(needed, asks)
    if (due?.rows.length !== 0 || woken?.rows.length !== 0) return null
    if (channels.some(({ queue }) => queues.isRestricted(queue))) return null
    const candidates = inOrder(found?.rows ?? []).slice(0, most)
    if (candidates.some(({ columns }) => columns.stage !== JOB_ROW)) return null
    for (const { columns } of candidates) loading.take(columns)
    return { loaded, candidates }
  }

  /** Everything up to the message is done at once: nobody else sends anything meanwhile. */
  async #grant(
    connection: Connection,
    { worker, request, started }: ClaimRequest,
    { loaded, candidates }: SeenCandidates,
    onSent: () => void,
  ): Promise<ClaimResult | NeedsTransaction> {
    const { nextPosition: position, sql } = this.#parts
    const first = position?.next ?? null
    const time = this.#parts.now()
    const checks = this.#checks
    if (checks === null || position === null || first === null || time === null)
      return NEEDS_TRANSACTION
    const now = Math.max(time, loaded.latestTime)
    const reads = noReads()
    const granted: Job[] = []
    const versions = new Map<string, number>()
    for (const { columns } of candidates) {
      const job = loaded.jobs.get(columns.job) as Job
      const { stage, segment, policy } = job.task as Task
      if (policy.limits.length > 0) return NEEDS_TRANSACTION
      const address = { job: job.id, stage, segment }
      const command = { type: 'GrantLease', ...address, worker, request, started } as const
      const { entry } = decideIn(loaded.world, loaded, command, reads, now)
      if (entry === null) return NEEDS_TRANSACTION
      loaded.apply(entry, first + granted.length)
      granted.push(job)
      versions.set(policy.queue, loaded.queues.get(policy.queue)?.version ?? 0)
    }
    if (granted.length > 0) {
      const own = new LazyTransaction(connection, [
        { sql: sql.begin, values: [] },
        position.check(first),
        { sql: checks.isQueue, rows: [...versions], expect: versions.size },
      ])
      const asks = await buildWrites(loaded, own, now, this.#parts)
      position.sent(first + granted.length - 1)
      const saved = own.run([...asks, { sql: sql.commit, values: [] }])
      onSent()
      await saved
      cacheLeased(loaded, loaded.applied, this.#parts.leasedRows)
    }
    const leases = granted.map((job) => {
      const task = job.task as Task
      return claimed(job, null, task, task.lease as Lease, now, null)
    })
    return { leases, applied: loaded.applied, retryInMs: null, enqueuedForOthers: false }
  }
}
