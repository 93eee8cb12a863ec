/**
 * Jobs that are granted with their submit. Where a worker of this process has room for a job, and no
 * ready task comes before it, it is granted in the transaction that it is submitted in: it runs one
 * transaction, with its round trips and its sync, sooner than if a claim came for it.
 *
 * - idle: no room is reserved.
 * - begun: workers have reserved room for jobs that are to be submitted.
 * - settled: the workers were told what was granted. It is idle again.
 *
 * A transaction that is done again, because its connection was lost, may have been committed the first
 * time. Then its leases are those that were granted then: they bear the number of the reservation.
 */
import type { Command, Job, JobSpec, Lease, Task } from '../../../kernel/index.ts'
import { decideIn, invalidFields, noReads } from '../../../kernel/index.ts'
import { claimed } from '../../views/claimed.ts'
import type { Claimed } from '../../store.ts'
import type { Reservation, Taker } from '../../taker.ts'
import type { Statement } from '../connection.ts'
import type { WorkingSet } from './working-set.ts'
import type { LockPlan } from './lock-plan.ts'
import type { QueueCache } from './context.ts'
import { channelName, JOB_ROW, LOWEST_LEVEL, rowKey } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'

/** The workers of this process that take jobs with their submit. */
export class Takers {
  readonly #takers = new Set<Taker>()
  /** About the authority's time. */
  readonly now: () => number

  constructor(now: () => number) {
    this.now = now
  }

  /** Gives its end. */
  add(taker: Taker): () => void {
    this.#takers.add(taker)
    return () => void this.#takers.delete(taker)
  }

  get isEmpty(): boolean {
    return this.#takers.size === 0
  }

  reserve(queue: string, type: string, most: number): Reservation | null {
    for (const taker of this.#takers) {
      const reservation = taker.reserve({ queue, type, stage: null }, most)
      if (reservation !== null) return reservation
    }
    return null
  }
}

/** Jobs of one channel that there is room for. */
interface ReservedGrants {
  readonly queue: string
  readonly type: string
  readonly jobs: ReadonlySet<string>
  readonly reservation: Reservation
  taken: readonly Claimed[]
}

export class SubmitGrants {
  readonly #takers: Takers
  readonly #queues: QueueCache
  readonly #reads = noReads()
  #reserved: ReservedGrants[] = []

  /** `queues`: what is known of them; nothing is taken where it may not be let through. */
  constructor(takers: Takers, queues: QueueCache) {
    this.#takers = takers
    this.#queues = queues
  }

  get isIdle(): boolean {
    return this.#reserved.length === 0
  }

  /** How many may be granted. */
  get places(): number {
    return this.#reserved.reduce((sum, { reservation }) => sum + reservation.places, 0)
  }

  /** BEFORE the transaction that submits them. */
  begin(commands: readonly Command[]): void {
    if (!this.isIdle || this.#takers.isEmpty) return
    // A queue that is changed is locked first, and others with it, in one order.
    if (commands.some(({ type }) => QUEUE_COMMANDS.has(type))) return
    for (const { queue, type, jobs } of channelJobs(commands)) {
      if (this.#queues.isRestricted(queue)) continue
      const reservation = this.#takers.reserve(queue, type, jobs.size)
      if (reservation !== null) this.#reserved.push({ queue, type, jobs, reservation, taken: [] })
    }
  }

  /** A grant is decided on the queue as well. */
  addQueues(plan: LockPlan): void {
    for (const { queue } of this.#reserved) plan.addQueue(queue)
  }

  /** → a row if a ready task comes before them, or one that is due. */
  readyStatement({ channelsWithReady }: Statements): Statement {
    const now = Math.floor(this.#takers.now())
    const channels = new Set(
      this.#reserved.map(({ queue, type }) => channelName(queue, type, null)),
    )
    return { sql: channelsWithReady, rows: [...channels].map((name) => [name, LOWEST_LEVEL, now]) }
  }

  /** Grants what was submitted in this transaction. `positions`: of all its entries. */
  grantJobs(loaded: WorkingSet, positions: readonly number[], now: number): void {
    for (const reserved of this.#reserved) {
      const { worker, request, places } = reserved.reservation
      const taken: Claimed[] = []
      for (const job of reserved.jobs) {
        if (taken.length === places) break
        if (loaded.rows.get(rowKey(job, JOB_ROW, 0))?.version !== 0) continue
        const address = { job, stage: 0, segment: 0 }
        const grant = { type: 'GrantLease', ...address, worker, request, started: true } as const
        const { entry } = decideIn(loaded.world, loaded, grant, this.#reads, now)
        if (entry === null) continue
        loaded.apply(entry, positions[loaded.applied.length] as number)
        taken.push(claimedOf(loaded.jobs.get(job) as Job, now))
      }
      reserved.taken = taken
    }
  }

  /** What was granted the first time that this was done. */
  findGranted(loaded: WorkingSet, now: number): void {
    for (const reserved of this.#reserved) {
      reserved.taken = [...reserved.jobs].flatMap((id) => {
        const job = loaded.jobs.isLoaded(id) ? loaded.jobs.get(id) : undefined
        return job !== undefined && isOf(reserved.reservation, job) ? [claimedOf(job, now)] : []
      })
    }
  }

  /** AFTER it is durable: tells the workers what was granted. */
  settle(): void {
    const reserved = this.#reserved
    this.#reserved = []
    for (const { reservation, taken } of reserved) reservation.settle(taken)
  }

  /** The transaction failed: what was granted is not known. */
  drop(): void {
    for (const reserved of this.#reserved) reserved.taken = []
    this.settle()
  }
}

const QUEUE_COMMANDS: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'ConfigureQueue',
  'PauseQueue',
  'ResumeQueue',
])

function isOf({ worker, request }: Reservation, { task }: Job): boolean {
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

/** Jobs that may be granted, in the order of a claim: by priority, then as they come. */
function channelJobs(commands: readonly Command[]): ChannelJobs[] {
  const submits = commands.flatMap((command) => {
    if (command.type !== 'SubmitJob' || !mayBeGranted(command.spec)) return []
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

type PlainSpec = JobSpec & { readonly policy: NonNullable<JobSpec['policy']> }

/** A plain job that can be granted at once, and takes no turns with others. It may yet be refused. */
function mayBeGranted(spec: Partial<JobSpec> | null | undefined): spec is PlainSpec {
  return (
    spec?.stages === null &&
    spec.policy?.limits?.length === 0 &&
    spec.group === null &&
    spec.held === false &&
    spec.delayMs === 0 &&
    spec.dueAt === null &&
    invalidFields(spec as JobSpec) === null
  )
}
