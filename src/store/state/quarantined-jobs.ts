/**
 * The jobs in quarantine, in the order of their submission: to be listed without a look at all
 * the others.
 *
 * It follows from the entries that were applied, so it is never saved. A job that left keeps its
 * place until the list is put in order again, and is passed over.
 */
import type { Job, Tallies } from '../../kernel/index.ts'
import { jobState } from '../../kernel/index.ts'
import { countUpTo } from '../../log/index.ts'

interface QuarantinePlace {
  readonly id: string
  readonly position: number
  hasLeft: boolean
}

/** Below this it is not worth putting in order. */
const FEW = 1_024

export class QuarantinedJobs {
  readonly #find: (id: string) => Job | undefined
  readonly #places = new Map<string, QuarantinePlace>()
  /** Ascending by position, unless something came since. */
  #order: QuarantinePlace[] = []
  #isSorted = true

  /** A job in quarantine is not over, so it is in memory: `find` looks there. */
  constructor(find: (id: string) => Job | undefined) {
    this.#find = find
  }

  get size(): number {
    return this.#places.size
  }

  /** AFTER an entry that may have brought the job here, or away. */
  follow(job: Job, tallies: Tallies): void {
    const place = this.#places.get(job.id)
    const isIn = isQuarantined(job, tallies)
    if (isIn === (place !== undefined)) return
    if (place === undefined) return this.#add(job)
    place.hasLeft = true
    this.#places.delete(job.id)
  }

  /** That job, if it is here. */
  find(id: string): readonly Job[] {
    const job = this.#places.has(id) ? this.#find(id) : undefined
    return job === undefined ? [] : [job]
  }

  /** Those that were submitted behind a position, in order. */
  *after(position: number): IterableIterator<Job> {
    const order = this.#sorted()
    const from = countUpTo(position, order.length, (n) => (order[n] as QuarantinePlace).position)
    for (let i = from; i < order.length; i++) {
      const { id, hasLeft } = order[i] as QuarantinePlace
      const job = hasLeft ? undefined : this.#find(id)
      if (job !== undefined) yield job
    }
  }

  #add({ id, firstPosition: position }: Job): void {
    const place = { id, position, hasLeft: false }
    this.#places.set(id, place)
    this.#isSorted &&= position >= (this.#order.at(-1)?.position ?? 0)
    this.#order.push(place)
    // Nobody may ever list them.
    if (this.#order.length > FEW && this.#order.length > 4 * this.#places.size) this.#sorted()
  }

  /** Another array if it changes: whoever goes through the old one goes on undisturbed. */
  #sorted(): readonly QuarantinePlace[] {
    if (this.#isSorted && this.#order.length <= 2 * this.#places.size) return this.#order
    this.#order = this.#order.filter(({ hasLeft }) => !hasLeft)
    this.#order.sort((a, b) => a.position - b.position)
    this.#isSorted = true
    return this.#order
  }
}

/** Time has no say in it. */
function isQuarantined(job: Job, tallies: Tallies): boolean {
  if (job.task !== null) return job.task.state === 'DEAD'
  return tallies.some(({ dead }) => dead > 0) && jobState(job, tallies, 0) === 'QUARANTINED'
}
