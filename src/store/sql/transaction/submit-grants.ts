/**
 * PostgreSQL: grants within the transaction of a submit. A claim that travels with a submit gets
 * jobs that are submitted in the same transaction, if no ready task comes before them: such a job
 * starts one transaction, with its round trips and its sync, sooner than by a claim that follows.
 *
 * - idle: no claim came with the batch, or it has been answered.
 * - planned: for each channel it is known which jobs of the batch may go to which claim.
 *
 * A transaction that is repeated, because its connection was lost, may have been committed the first
 * time. Then the leases are those that it granted: they carry the number of their claim.
 */
import type { Command, Job, Lease, Task } from '../../../kernel/index.ts'
import { decideIn, invalidFields, noReads } from '../../../kernel/index.ts'
import { claimed } from '../../views/claimed.ts'
import type { ClaimRequest } from '../../claim-request.ts'
import { isForSubmitClaim } from '../../claim-request.ts'
import type { Claimed } from '../../store.ts'
import type { Statement } from '../connection.ts'
import type { WorkingSet } from './working-set.ts'
import type { LockPlan } from './lock-plan.ts'
import type { QueueCache } from './context.ts'
import { channelName, JOB_ROW, LOWEST_LEVEL, rowKey } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'

/** A claim on its way with a submit, and what it was granted so far. */
export interface SubmitClaim {
  readonly request: ClaimRequest
  readonly granted: Claimed[]
}

/** Jobs of one channel that may go to one claim. */
interface PlannedGrants {
  readonly queue: string
  readonly type: string
  readonly jobs: ReadonlySet<string>
  readonly claim: SubmitClaim
  readonly most: number
  granted: readonly Claimed[]
}

export class SubmitGrants {
  readonly #queues: QueueCache
  /** About the authority's time. */
  readonly #now: () => number
  readonly #reads = noReads()
  #planned: PlannedGrants[] = []

  /** `queues`: what is known of them; nothing is planned where a queue may let nothing through. */
  constructor(queues: QueueCache, now: () => number) {
    this.#queues = queues
    this.#now = now
  }

  get isIdle(): boolean {
    return this.#planned.length === 0
  }

  /** How many may be granted. */
  get most(): number {
    return this.#planned.reduce((sum, { most }) => sum + most, 0)
  }

  /** BEFORE the transaction that submits them. */
  plan(commands: readonly Command[], claims: readonly SubmitClaim[]): void {
    if (!this.isIdle || claims.length === 0) return
    // A queue that is changed is locked first, and others with it, in one order.
    if (commands.some(({ type }) => QUEUE_COMMANDS.has(type))) return
    const left = new Map(claims.map((one) => [one, one.request.max - one.granted.length]))
    for (const { queue, type, jobs } of inOrder(commands)) {
      if (this.#queues.isRestricted(queue)) continue
      let unplanned = jobs.size
      for (const claim of claims) {
        const most = Math.min(left.get(claim) as number, unplanned)
        if (most === 0 || !isFor(claim, queue, type)) continue
        left.set(claim, (left.get(claim) as number) - most)
        unplanned -= most
        this.#planned.push({ queue, type, jobs, claim, most, granted: [] })
      }
    }
  }

  /** A grant is decided on the queue as well. */
  addQueues(plan: LockPlan): void {
    for (const { queue } of this.#planned) plan.addQueue(queue)
  }

  /** → a row if a ready task comes before them, or one that is due. */
  readyStatement({ channelsWithReady }: Statements): Statement {
    const now = Math.floor(this.#now())
    const channels = new Set(this.#planned.map(({ queue, type }) => channelName(queue, type, null)))
    return { sql: channelsWithReady, rows: [...channels].map((name) => [name, LOWEST_LEVEL, now]) }
  }

  /** Grants what was submitted in this transaction. `positions`: of all its entries. */
  grantJobs(loaded: WorkingSet, positions: readonly number[], now: number): void {
    for (const planned of this.#planned) {
      const { worker, request, started, session = '' } = planned.claim.request
      const granted: Claimed[] = []
      for (const job of planned.jobs) {
        if (granted.length === planned.most) break
        if (loaded.rows.get(rowKey(job, JOB_ROW, 0))?.version !== 0) continue
        const address = { job, stage: 0, segment: 0 }
        const grant = { type: 'GrantLease', ...address, worker, request, started, session } as const
        const { entry } = decideIn(loaded.world, loaded, grant, this.#reads, now)
        if (entry === null) continue
        loaded.apply(entry, positions[loaded.applied.length] as number)
        granted.push(claimedOf(loaded.jobs.get(job) as Job, now))
      }
      planned.granted = granted
    }
  }

  /** What was granted the first time that this transaction was run. */
  findGranted(loaded: WorkingSet, now: number): void {
    for (const planned of this.#planned) {
      planned.granted = [...planned.jobs].flatMap((id) => {
        const job = loaded.jobs.isLoaded(id) ? loaded.jobs.get(id) : undefined
        return job !== undefined && isOf(planned.claim, job) ? [claimedOf(job, now)] : []
      })
    }
  }

  /** AFTER the transaction is durable: each claim has what it was granted. */
  finish(): void {
    const planned = this.#planned
    this.#planned = []
    for (const { claim, granted } of planned) claim.granted.push(...granted)
  }
}

const QUEUE_COMMANDS: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'ConfigureQueue',
  'PauseQueue',
  'ResumeQueue',
])

function isFor({ request }: SubmitClaim, queue: string, type: string): boolean {
  return request.channels.some((one) => {
    return one.queue === queue && one.type === type && one.stage === null
  })
}

function isOf({ request: { worker, request } }: SubmitClaim, { task }: Job): boolean {
  return task?.lease?.worker === worker && task.lease.request === request
}

function claimedOf(job: Job, now: number): Claimed {
  const task = job.task as Task
  return claimed(job, null, task, task.lease as Lease, now, null)
}

interface ChannelJobs {
  readonly queue: string
  readonly type: string
  /** An id that is submitted twice is one job. */
  readonly jobs: Set<string>
}

/** The jobs that may be granted, in the order of the queue: by priority, then as they come. */
function inOrder(commands: readonly Command[]): ChannelJobs[] {
  const submits = commands.flatMap((command) => {
    if (command.type !== 'SubmitJob' || !isForSubmitClaim(command.spec)) return []
    if (invalidFields(command.spec) !== null) return []
    const { type, priority, policy } = command.spec
    return [{ job: command.job, type, queue: policy.queue, priority }]
  })
  const runs: ChannelJobs[] = []
  for (const { job, type, queue } of submits.toSorted((a, b) => b.priority - a.priority)) {
    const last = runs.at(-1)
    if (last?.queue === queue && last.type === type) last.jobs.add(job)
    else runs.push({ queue, type, jobs: new Set([job]) })
  }
  return runs
}
