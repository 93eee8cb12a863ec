/**
 * What the transactions of one process share: the statements, the encoding of records, the clock, and
 * what this process remembers from one transaction to the next.
 *
 * Other processes may have written since, so nothing remembered is taken for true:
 * - `QueueCache` is for proposals. What is granted is decided on the queue's locked row.
 * - `SubmissionCache` holds what never changes. The position tells whether the id is still that job's.
 * - `LeasedRowCache` and `NextPosition` are optimistic: the database checks them when the transaction
 *   writes. A transaction that was wrong fails with a conflict, and is done again with what it reads.
 * - `LackingSteps` tells damage from what another transaction wrote meanwhile.
 */
import type { Job, JobSubmitted, Queue } from '../../../kernel/index.ts'
import type { Clock } from '../../clock.ts'
import type { Statement } from '../connection.ts'
import type { Dialect, ForgetCount, Preconditions } from '../dialect.ts'
import { SqlFailed } from '../failures.ts'
import { Records, StepsMissing } from '../rows/records.ts'
import type { LoadedColumns, RowState } from '../rows/work-rows.ts'
import type { ErasureStatements, Statements } from '../statements.ts'
import type { TurnAssigner } from './turn-assignment.ts'
import { TurnAssignment } from './turn-assignment.ts'

export interface TransactionContext {
  /** In the words of the connection that the transaction runs on. */
  readonly sql: Statements
  readonly erasure: ErasureStatements
  readonly records: Records
  readonly turns: TurnAssigner
  /** Null: the database's own clock. */
  readonly now: () => number | null
  readonly queues: QueueCache
  readonly submissions: SubmissionCache
  readonly leasedRows: LeasedRowCache
  readonly lackingSteps: LackingSteps
  /** Null: transactions overlap, and only the database knows. */
  readonly nextPosition: NextPosition | null
  /** Null: transactions do not overlap. */
  readonly forgetCount: ForgetCount | null
}

/** For the store's own connections. */
export function newContext(
  { statements: sql, erasure, where, preconditions, forgetCount }: Dialect,
  clock: Clock | null,
): TransactionContext & { readonly turns: TurnAssignment } {
  return {
    sql,
    erasure,
    records: new Records(where),
    turns: new TurnAssignment(sql),
    now: () => (clock === null ? null : Math.floor(clock.now())),
    queues: new QueueCache(),
    submissions: new SubmissionCache(),
    leasedRows: new LeasedRowCache(),
    lackingSteps: new LackingSteps(),
    nextPosition: preconditions === undefined ? null : new NextPosition(preconditions),
    forgetCount: forgetCount ?? null,
  }
}

/** The same without anything remembered, and for nothing to be remembered in. */
export function withoutMemory(context: TransactionContext): TransactionContext {
  return {
    ...context,
    queues: new QueueCache(),
    submissions: new SubmissionCache(),
    leasedRows: new LeasedRowCache(),
    nextPosition: null,
  }
}

/** How queues rank what waits in them, and whether they may let nothing through. */
export class QueueCache {
  /** Null: the queue was never configured. */
  readonly #queues = new Map<string, Queue | null>()

  has(name: string): boolean {
    return this.#queues.has(name)
  }

  set(queue: Queue): void {
    this.#queues.set(queue.name, { ...queue })
  }

  setAbsent(name: string): void {
    this.#queues.set(name, null)
  }

  ageingMs(name: string): number | null {
    return this.#queues.get(name)?.ageingMs ?? null
  }

  /** It is paused, or has limits of its own, as far as is known: it may let nothing through. */
  isRestricted(name: string): boolean {
    const queue = this.#queues.get(name)
    if (queue == null) return false
    return queue.paused || queue.concurrency !== null || queue.rate !== null
  }

  /** The same, or the queue is not known here. */
  mayBeRestricted(name: string): boolean {
    return !this.#queues.has(name) || this.isRestricted(name)
  }

  clear(): void {
    this.#queues.clear()
  }
}

/**
 * A map in two halves. When the newer one is full the older one is dropped, and the newer one takes
 * its place: no single entry has to be picked to make room.
 */
class TwoHalvesMap<V> {
  #newer = new Map<string, V>()
  #older = new Map<string, V>()

  /** Of the newer half. */
  get size(): number {
    return this.#newer.size
  }

  get(id: string): V | undefined {
    return this.#newer.get(id) ?? this.#older.get(id)
  }

  set(id: string, value: V): void {
    this.#newer.set(id, value)
  }

  delete(id: string): void {
    this.#newer.delete(id)
    this.#older.delete(id)
  }

  dropOlder(): void {
    this.#older = this.#newer
    this.#newer = new Map()
  }
}

/** Of one half: characters of all inputs together, and pipelines. */
const MOST_CHARS = 8_000_000
const MOST_PIPELINES = 10_000

/** The JobSubmitted of pipelines that this process handled lately: the database need not send it again. */
export class SubmissionCache {
  readonly #kept = new TwoHalvesMap<{ position: number; entry: JobSubmitted }>()
  #chars = 0

  /** It may be of another job, which was forgotten since and had the same id. */
  has(job: string): boolean {
    return this.#kept.get(job) !== undefined
  }

  find(job: string, position: number): JobSubmitted | null {
    const kept = this.#kept.get(job)
    return kept?.position === position ? kept.entry : null
  }

  /** What was submitted as the job of a row; null: it was not read with the row, and has to be. */
  submittedAs({ job, position, spec }: LoadedColumns, records: Records): JobSubmitted | null {
    const submitted = spec === null ? this.find(job, position) : records.submitted(spec, position)
    // The cache has another job, which was forgotten and had this id. If the id is a plain job's now,
    // nothing would replace it, and each load would miss.
    if (submitted === null) this.#kept.delete(job)
    // Each segment of a pipeline needs it again. A plain job is in the cache of leased rows.
    else if (spec !== null && submitted.spec.stages !== null) this.add(submitted, position)
    return submitted
  }

  add(entry: JobSubmitted, position: number): void {
    this.#kept.set(entry.job, { position, entry })
    this.#chars += entry.spec.input.length
    if (this.#chars <= MOST_CHARS && this.#kept.size <= MOST_PIPELINES) return
    this.#kept.dropOlder()
    this.#chars = 0
  }
}

/** Of one half. */
const MOST_LEASED = 5_000

export interface LeasedRow {
  readonly job: Job
  readonly row: RowState
}

/**
 * Plain jobs that a worker of this process was granted, or has reported on, as they were committed.
 * The next report is nearly always decided on the same record, because no other process writes to a
 * job while its lease lasts, so it is not read again. It is wrong when an operator cancels the job,
 * or when its lease has run out; then the check of the row's version and position fails.
 */
export class LeasedRowCache {
  readonly #kept = new TwoHalvesMap<LeasedRow>()

  /** AFTER the row was committed as it is. */
  add(leased: LeasedRow): void {
    this.#kept.set(leased.job.id, leased)
    if (this.#kept.size > MOST_LEASED) this.#kept.dropOlder()
  }

  /** Removes it: the transaction changes the record in place, and may be rolled back. */
  take(id: string): LeasedRow | null {
    const leased = this.#kept.get(id) ?? null
    this.#kept.delete(id)
    return leased
  }
}

/**
 * Where the next entry will stand, in a database that runs one transaction after the other: behind
 * the last one that this process sent. It is wrong when another process wrote since, or when that one
 * failed; then all that were sent behind it fail as well.
 */
export class NextPosition {
  readonly #preconditions: Preconditions
  #next: number | null = null

  constructor(preconditions: Preconditions) {
    this.#preconditions = preconditions
  }

  /** Null: nothing was sent yet. */
  get next(): number | null {
    return this.#next
  }

  /** Fails with a conflict unless the next entry stands here. */
  check(next: number): Statement {
    return { sql: this.#preconditions.isLast, rows: [[next - 1]], expect: 1 }
  }

  /** Fails with a conflict unless the queues have these versions. */
  checkQueues(versions: ReadonlyMap<string, number>): Statement {
    return { sql: this.#preconditions.isQueue, rows: [...versions], expect: versions.size }
  }

  /** Entries up to this one were sent. */
  sent(last: number): void {
    this.#next = last + 1
  }
}

const STEP_MEANWHILE = 'Another transaction recorded a step of a task while it was loaded.'

/** Rows that are remembered for having too few steps: they are few, and most of them only once. */
const MOST_LACKING = 1_000

/**
 * Rows of tasks that came with too few steps. A row that was locked may be newer than the events that the same
 * statement sees: then it is to be read again. A statement that begins later sees them all, so if the same row
 * lacks a step again, the step is lost.
 */
export class LackingSteps {
  /** By the row, and the position of its newest entry. */
  readonly #known = new Set<string>()

  /** Reads a record of a row. Throws a conflict the first time, and `CorruptRecord` the next. */
  read<T>(row: string, lastPosition: number, decode: () => T): T {
    try {
      return decode()
    } catch (error) {
      if (!(error instanceof StepsMissing)) throw error
      const key = `${lastPosition} ${row}`
      if (this.#known.has(key)) throw error
      if (this.#known.size >= MOST_LACKING) this.#known.clear()
      this.#known.add(key)
      throw new SqlFailed('conflict', STEP_MEANWHILE, error)
    }
  }
}
