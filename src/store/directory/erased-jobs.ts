/**
 * Jobs whose `JobErased` the log still has, with the positions between which it has them as they were.
 *
 * A directory never changes what it wrote, so readers of older entries and checkpoints ask here what they may
 * not show. A job stays on the list after it is forgotten, and until the log behind its `JobErased` is gone.
 * A later job of the same id is another one: its entries are at later positions.
 */
import type { Entry, Job } from '../../kernel/index.ts'
import { redactEntry, redactJob, redactTask } from '../../kernel/index.ts'
import type { ErasedJob, JobRecord, LoggedEntry } from '../../log/index.ts'

export class ErasedJobs {
  readonly #byId = new Map<string, ErasedJob[]>()

  /** As a checkpoint has them. */
  restore(erased: readonly ErasedJob[]): void {
    for (const one of erased) this.#add(one)
  }

  /** AFTER its `JobErased` was appended, or read, at this position. */
  note({ id, firstPosition }: Job, position: number): void {
    this.#add({ job: id, from: firstPosition, through: position })
  }

  /** The log before this position is gone. */
  dropBefore(position: number): void {
    for (const [id, known] of this.#byId) {
      const left = known.filter(({ through }) => through >= position)
      if (left.length === 0) this.#byId.delete(id)
      else if (left.length < known.length) this.#byId.set(id, left)
    }
  }

  /** Whether what the log has at this position of a job was erased since. */
  has(id: string, position: number): boolean {
    const known = this.#byId.get(id)
    if (known === undefined) return false
    return known.some(({ from, through }) => from <= position && position <= through)
  }

  /** The entry, without what was erased since. */
  shown<E extends Entry>(entry: E, position: number): E {
    return 'job' in entry && this.has(entry.job, position) ? redactEntry(entry) : entry
  }

  shownAll(entries: readonly LoggedEntry[]): readonly LoggedEntry[] {
    if (this.#byId.size === 0) return entries
    return entries.map((one) => ({ ...one, entry: this.shown(one.entry, one.position) }))
  }

  /** A record of an older checkpoint loses what was erased since: it is what its entries show now, folded. */
  redact({ job, stages }: JobRecord): void {
    if (!this.has(job.id, job.firstPosition)) return
    const tasks = (stages?.flat() ?? [job.task]).filter((task) => task !== null)
    // Erasing drops them; of those that were recorded before, the entries still have the names.
    const steps = tasks.map((task) => task.steps.map((step) => ({ ...step, value: 'null' })))
    redactJob(job)
    if (stages !== null) tasks.forEach(redactTask)
    tasks.forEach((task, i) => (task.steps = steps[i] ?? []))
  }

  #add(one: ErasedJob): void {
    const known = this.#byId.get(one.job)
    if (known === undefined) this.#byId.set(one.job, [one])
    else known.push(one)
  }
}
