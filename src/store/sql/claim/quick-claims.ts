/**
 * Claims of plain jobs without limits, where the next position is known (see `NextPosition`): the store
 * reads candidates outside of a transaction, and grants them with one message, so that the database
 * works for other calls while the kernel decides.
 *
 * What was read may be out of date by then, so the message checks everything that the grants were
 * decided on: the versions of the jobs and of their queues. (The position alone does not prove it:
 * another process may have written before something that this process sent.) If a check fails, or a
 * candidate is not plain, the claim is done in a transaction. Claims of one process take turns, so
 * that no two of them read the same candidates.
 */
import type { Job, Lease, Task } from '../../../kernel/index.ts'
import { decideIn, isSuspect, noReads } from '../../../kernel/index.ts'
import type { ClaimRequest } from '../../claim-request.ts'
import { mayBeClaimedAhead, mostLeases } from '../../claim-request.ts'
import { claimed } from '../../views/claimed.ts'
import type { Connection } from '../connection.ts'
import type { ConnectionPool } from '../connection-pool.ts'
import { JOB_ROW } from '../rows/work-rows.ts'
import { buildWrites } from '../transaction/build-writes.ts'
import type { TransactionContext } from '../transaction/context.ts'
import { RowLoader } from '../transaction/row-loader.ts'
import { cacheLeased, LazyTransaction } from '../transaction/transaction.ts'
import { WorkingSet } from '../transaction/working-set.ts'
import type { Candidate, ClaimResult } from './candidates.ts'
import { candidatesInOrder, channelsOf, firstReads, suspectChannelsOf } from './candidates.ts'

/** So many claims are done in a transaction after one that had to be. */
const PESSIMISTIC_CLAIMS = 20

/** The claim has to be done in a transaction. */
interface NeedsTransaction {
  /** Its message may have been committed. */
  readonly mayRepeat: boolean
}

const NEEDS_TRANSACTION: NeedsTransaction = { mayRepeat: false }

interface SeenCandidates {
  readonly loaded: WorkingSet
  readonly candidates: readonly Candidate[]
}

export class QuickClaims {
  readonly #pool: ConnectionPool
  readonly #context: TransactionContext
  #turn: Promise<void> = Promise.resolve()
  #pessimisticLeft = 0

  constructor(pool: ConnectionPool, context: TransactionContext) {
    this.#pool = pool
    this.#context = context
  }

  /** A request that was never sent before. */
  claim(request: ClaimRequest): Promise<ClaimResult | NeedsTransaction> {
    const isPessimistic = this.#pessimisticLeft > 0
    if (isPessimistic) this.#pessimisticLeft -= 1
    if (isPessimistic || this.#context.nextPosition?.next == null)
      return Promise.resolve(NEEDS_TRANSACTION)
    const before = this.#turn
    return new Promise((resolve, reject) => {
      this.#turn = new Promise((pass) => {
        const claiming = before.then(() => this.#claim(request, pass))
        claiming.then(resolve, reject).finally(pass)
      })
    })
  }

  async #claim(request: ClaimRequest, onSent: () => void): Promise<ClaimResult | NeedsTransaction> {
    const done = await this.#grantOnce(request, onSent)
    if ('mayRepeat' in done) this.#pessimisticLeft = PESSIMISTIC_CLAIMS
    return done
  }

  async #grantOnce(
    request: ClaimRequest,
    onSent: () => void,
  ): Promise<ClaimResult | NeedsTransaction> {
    const seen = await this.#pool.run((connection) => this.#readCandidates(connection, request))
    if (seen === null) return NEEDS_TRANSACTION
    let isFirst = true
    return this.#pool.run(async (connection) => {
      // A check failed, or the connection was lost with the answer.
      if (!isFirst) return { mayRepeat: true }
      isFirst = false
      return this.#grant(connection, request, seen, onSent)
    })
  }

  async #readCandidates(
    connection: Connection,
    request: ClaimRequest,
  ): Promise<SeenCandidates | null> {
    const { queues, records, lackingSteps } = this.#context
    const { channels, max } = request
    const most = mostLeases(request)
    const loaded = new WorkingSet(records, lackingSteps)
    const loader = new RowLoader(connection, this.#context, loaded)
    const suspects = suspectChannelsOf(request)
    const candidateChannels = [...channelsOf(request, most), ...suspects]
    const first = firstReads(loaded, request, candidateChannels, 1, this.#context)
    const [due, toWake, found] = await loader.load(first.missing, first.statements)
    if (due?.rows.length !== 0 || toWake?.rows.length !== 0) return null
    if (channels.some(({ queue }) => queues.isRestricted(queue))) return null
    const all = candidatesInOrder(found?.rows ?? []).slice(0, most + suspects.length)
    const stageAt = all.findIndex(({ columns }) => columns.stage !== JOB_ROW)
    // Behind the places, a claim may end anywhere.
    if (stageAt !== -1 && stageAt < max) return null
    const candidates = stageAt === -1 ? all : all.slice(0, stageAt)
    for (const { columns } of candidates) loader.addRow(columns)
    return { loaded, candidates }
  }

  /** It waits for no I/O before the message is sent: no other call sends anything meanwhile. */
  async #grant(
    connection: Connection,
    claim: ClaimRequest,
    { loaded, candidates }: SeenCandidates,
    onSent: () => void,
  ): Promise<ClaimResult | NeedsTransaction> {
    const { nextPosition, sql } = this.#context
    const { worker, request, max, started: isStarting, session = '' } = claim
    const first = nextPosition?.next ?? null
    const time = this.#context.now()
    if (nextPosition === null || first === null || time === null) return NEEDS_TRANSACTION
    const now = Math.max(time, loaded.latestTime)
    const reads = noReads()
    const granted: Job[] = []
    const versions = new Map<string, number>()
    for (const { columns } of candidates) {
      const job = loaded.jobs.get(columns.job) as Job
      const { stage, segment, policy } = job.task as Task
      const mayKill = isSuspect(job.task as Task)
      // Only the best of all is granted, alone.
      if (mayKill && granted.length > 0) continue
      if (granted.length === mostLeases(claim)) break
      const isAhead = granted.length >= max
      const queue = loaded.queues.get(policy.queue)
      if (isAhead && !mayBeClaimedAhead(job.task as Task, job.spec.group, queue)) break
      const started = isStarting && !isAhead
      if (policy.limits.length > 0) return NEEDS_TRANSACTION
      const address = { job: job.id, stage, segment }
      const grant = { worker, request, started, session } as const
      const command = { type: 'GrantLease', ...address, ...grant } as const
      const { entry } = decideIn(loaded.world, loaded, command, reads, now)
      if (entry === null) return NEEDS_TRANSACTION
      loaded.apply(entry, first + granted.length)
      granted.push(job)
      versions.set(policy.queue, queue?.version ?? 0)
      if (mayKill) break
    }
    if (granted.length > 0) {
      const own = new LazyTransaction(connection, [
        { sql: sql.begin, values: [] },
        nextPosition.check(first),
        nextPosition.checkQueues(versions),
      ])
      const writes = await buildWrites(loaded, own, now, this.#context)
      nextPosition.sent(first + granted.length - 1)
      const saved = own.run([...writes, { sql: sql.commit, values: [] }])
      onSent()
      await saved
      cacheLeased(loaded, loaded.applied, this.#context.leasedRows)
    }
    const leases = granted.map((job) => {
      const task = job.task as Task
      return claimed(job, null, task, task.lease as Lease, now, null)
    })
    return { leases, applied: loaded.applied, retryInMs: null, enqueuedForOthers: false }
  }
}
