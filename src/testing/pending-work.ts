/**
 * The jobs of a test that are not over, when one of them can go on next, and the error of a test
 * whose jobs do not end.
 *
 * It reads the log as it grows and queries every job that an entry is about. A time it gives is the
 * due time of a task, the end of a lease, the last moment to start, or the moment at which a rate
 * lets the next task start.
 */
import type { Entry, JobSpec, Rate, Task } from '../kernel/index.ts'
import { isFinal, mayStartAt, NEVER_DUE, PawlError } from '../kernel/index.ts'
import type { JobView, Store } from '../store/index.ts'

interface PendingJob extends OpenJob {
  /** Nothing but a person can end its waiting. */
  readonly waitsForPerson: boolean
  readonly times: readonly number[]
}

export class PendingWork {
  readonly #store: Store
  readonly #open = new Map<string, PendingJob>()
  readonly #changed = new Set<string>()
  readonly #rates = new Map<string, { kind: 'queue' | 'limit'; key: string; rate: Rate }>()
  #position = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Reads the log until the store is closed. */
  async follow(onEntry: (entry: Entry) => void): Promise<void> {
    for await (const { position, entry } of this.#store.watch(0)) {
      this.#position = position
      if ('job' in entry) this.#changed.add(entry.job)
      if (entry.type === 'JobSubmitted') this.#noteLimits(entry.spec)
      if (entry.type === 'QueueConfigured') this.#noteRate('queue', entry.queue, entry.rate)
      onEntry(entry)
    }
  }

  /** How far the log was read. */
  get position(): number {
    return this.#position
  }

  get open(): readonly OpenJob[] {
    return [...this.#open.values()].map(({ id, type, state, attempt, worker }) => ({
      id,
      type,
      state,
      attempt,
      worker,
    }))
  }

  /** Over, or waiting for a person. */
  hasEnded(job: string): boolean {
    return this.#open.get(job)?.waitsForPerson ?? true
  }

  /** Queries the jobs that changed. To be called BEFORE the other questions. */
  async refresh(): Promise<void> {
    for (const id of this.#changed) {
      this.#changed.delete(id)
      const view = await this.#store.query({ kind: 'job', job: id })
      if (view === null || isFinal(view.state)) this.#open.delete(id)
      else this.#open.set(id, pendingJobOf(view))
    }
  }

  /** The first time after `now` at which something may happen by itself; Infinity: never. */
  async nextAt(now: number): Promise<number> {
    let next = Infinity
    for (const { times } of this.#open.values()) {
      for (const at of times) if (at > now && at < next) next = at
    }
    if (this.#open.size === 0) return next
    for (const { kind, key, rate } of this.#rates.values()) {
      const fullAt = await this.#fullAt(kind, key)
      const at = mayStartAt({ key, concurrency: null, rate }, { held: 0, fullAt }, now)
      if (at > now && at < next) next = at
    }
    return next
  }

  async #fullAt(kind: 'queue' | 'limit', key: string): Promise<number> {
    const { fullAt } =
      kind === 'queue'
        ? await this.#store.query({ kind, queue: key })
        : await this.#store.query({ kind, key })
    return fullAt
  }

  #noteLimits({ policy, stages }: JobSpec): void {
    const policies = policy === null ? (stages ?? []).map((stage) => stage.policy) : [policy]
    for (const { limits } of policies) {
      for (const { key, rate } of limits) this.#noteRate('limit', key, rate)
    }
  }

  #noteRate(kind: 'queue' | 'limit', key: string, rate: Rate | null): void {
    if (rate !== null) this.#rates.set(`${kind} ${key}`, { kind, key, rate })
  }
}

function pendingJobOf({ job, state, stages }: JobView): PendingJob {
  const tasks = stages.flatMap((stage) => stage.tasks)
  const held = tasks.find((task) => task.lease !== null)
  const waitsForPerson = state === 'QUARANTINED'
  const isHeldBack = job.held && job.cancelled === null
  return {
    id: job.id,
    type: job.spec.type,
    state,
    attempt: tasks[0]?.attempt ?? 0,
    worker: held?.lease?.worker ?? null,
    waitsForPerson,
    times: [
      ...(isHeldBack || waitsForPerson ? [] : tasks.flatMap(timesOf)),
      ...(job.deadlineAt === null || job.cancelled !== null ? [] : [job.deadlineAt]),
    ],
  }
}

function timesOf({ state, lease, dueAt, startBy, attempt }: Task): number[] {
  if (state === 'LEASED') return lease === null ? [] : [lease.expiresAt]
  if (state !== 'WAITING' || dueAt === NEVER_DUE) return []
  return startBy === null || attempt > 0 ? [dueAt] : [dueAt, startBy]
}

/** A job that is not over, in words. */
export interface OpenJob {
  readonly id: string
  readonly type: string
  readonly state: string
  readonly attempt: number
  /** The worker that holds its lease; null: none. */
  readonly worker: string | null
}

/** Jobs were run, and something did not come to its end. `open` says what. */
export class NotSettled extends PawlError {
  readonly open: readonly OpenJob[]

  constructor(why: string, open: readonly OpenJob[]) {
    const lines = open.map((one) => `\n  - ${lineOf(one)}`)
    super('NotSettled', 'rejected', `${why} Still open:${lines.join('') || ' nothing.'}`, { open })
    this.open = open
  }
}

function lineOf({ id, type, state, attempt, worker }: OpenJob): string {
  const held = worker === null ? '' : `, held by ${worker}`
  return `job ${id} ('${type}'): ${state}, attempt ${attempt}${held}`
}
