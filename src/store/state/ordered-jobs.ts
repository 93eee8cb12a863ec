/**
 * Jobs of one kind, in the order of their submission: those in quarantine, and those with held effects. A query lists them
 * without passing all the others.
 *
 * It follows from the entries that were applied, so it is never saved. A job that left stays in the
 * array until that is sorted again, and is passed over.
 */
import type { Job, Tallies } from '../../kernel/index.ts'
import { hasHeldEffects, jobState } from '../../kernel/index.ts'
import { countUpTo } from '../../log/index.ts'

interface OrderedRow {
  readonly id: string
  readonly position: number
  hasLeft: boolean
}

/** Below this it is not worth sorting. */
const FEW = 1_024

export class OrderedJobs {
  readonly #isOne: (job: Job, tallies: Tallies) => boolean
  readonly #find: (id: string) => Job | undefined
  readonly #rows = new Map<string, OrderedRow>()
  /** Ascending by position, unless something came since. */
  #order: OrderedRow[] = []
  #isSorted = true

  /** `isOne` does not depend on the time. Such a job is not over, so it is in memory: `find` looks there. */
  constructor(
    isOne: (job: Job, tallies: Tallies) => boolean,
    find: (id: string) => Job | undefined,
  ) {
    this.#isOne = isOne
    this.#find = find
  }

  get size(): number {
    return this.#rows.size
  }

  /** AFTER an entry that may have brought the job here, or away. */
  update(job: Job, tallies: Tallies): void {
    const row = this.#rows.get(job.id)
    const isIn = this.#isOne(job, tallies)
    if (isIn === (row !== undefined)) return
    if (row === undefined) return this.#add(job)
    row.hasLeft = true
    this.#rows.delete(job.id)
  }

  /** That job, if it is here. */
  find(id: string): readonly Job[] {
    const job = this.#rows.has(id) ? this.#find(id) : undefined
    return job === undefined ? [] : [job]
  }

  /** Those that were submitted behind a position, in order. */
  *after(position: number): IterableIterator<Job> {
    const order = this.#sorted()
    const from = countUpTo(position, order.length, (n) => (order[n] as OrderedRow).position)
    for (let i = from; i < order.length; i++) {
      const { id, hasLeft } = order[i] as OrderedRow
      const job = hasLeft ? undefined : this.#find(id)
      if (job !== undefined) yield job
    }
  }

  /** Those that were submitted before a position, the newest first. */
  *before(position: number): IterableIterator<Job> {
    const order = this.#sorted()
    const behind = countUpTo(position, order.length, (n) => (order[n] as OrderedRow).position)
    for (let i = behind - 1; i >= 0; i--) {
      const { id, hasLeft, position: own } = order[i] as OrderedRow
      const job = hasLeft || own === position ? undefined : this.#find(id)
      if (job !== undefined) yield job
    }
  }

  #add({ id, firstPosition: position }: Job): void {
    const row = { id, position, hasLeft: false }
    this.#rows.set(id, row)
    this.#isSorted &&= position >= (this.#order.at(-1)?.position ?? 0)
    this.#order.push(row)
    // Also if no query ever lists them.
    if (this.#order.length > FEW && this.#order.length > 4 * this.#rows.size) this.#sorted()
  }

  /** Another array if it changes: an iteration over the old one goes on undisturbed. */
  #sorted(): readonly OrderedRow[] {
    if (this.#isSorted && this.#order.length <= 2 * this.#rows.size) return this.#order
    this.#order = this.#order.filter(({ hasLeft }) => !hasLeft)
    this.#order.sort((a, b) => a.position - b.position)
    this.#isSorted = true
    return this.#order
  }
}

/** Jobs with a task that was given up: what needs a person. */
export class DeadJobs {
  readonly quarantined: OrderedJobs
  readonly held: OrderedJobs

  constructor(find: (id: string) => Job | undefined) {
    this.quarantined = new OrderedJobs(isQuarantined, find)
    this.held = new OrderedJobs(hasHeldEffects, find)
  }

  /** How many there are. */
  get counts(): { readonly quarantined: number; readonly heldEffects: number } {
    return { quarantined: this.quarantined.size, heldEffects: this.held.size }
  }

  /** AFTER a task of the job may have become DEAD, or is so no more. */
  update(job: Job, tallies: Tallies): void {
    this.quarantined.update(job, tallies)
    this.held.update(job, tallies)
  }
}

/** It does not depend on the time. */
export function isQuarantined(job: Job, tallies: Tallies): boolean {
  if (job.task !== null) return job.task.state === 'DEAD'
  return tallies.some(({ dead }) => dead > 0) && jobState(job, tallies, 0) === 'QUARANTINED'
}
