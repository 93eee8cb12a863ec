/**
 * An audit: entries are applied one after the other, and each must have been legitimate when it
 * was written. What is wrong is said, and the audit goes on.
 *
 * It has a ledger of its own with every job in memory, so that its indexes are those of a store
 * that was never stopped.
 */
import type { Entry } from '../../kernel/index.ts'
import { worldViolations } from '../../kernel/index.ts'
import type { Disk, Manifest } from '../../log/index.ts'
import { readCheckpoint } from '../../log/index.ts'
import { checkEntry, texts } from '../state/entry-check.ts'
import { Ledger } from '../state/ledger.ts'

export class LogAudit {
  readonly ledger = new Ledger()
  /** What is wrong stays wrong: it is said once. */
  readonly #said = new Set<string>()

  /** Begins with the state that a checkpoint holds. */
  static async from(disk: Disk, folder: string, manifest: Manifest): Promise<LogAudit> {
    const audit = new LogAudit()
    const { ledger } = audit
    const { marker, queues, schedules } = manifest
    ledger.tick(marker.now)
    for (const queue of queues) ledger.restoreQueue({ ...queue })
    for (const schedule of schedules) ledger.restoreSchedule({ ...schedule })
    ledger.ready.restoreBuckets(marker.queues, marker.limits)
    await readCheckpoint(disk, folder, manifest, ({ record }) => ledger.restore(record))
    return audit
  }

  /** What is wrong with the next entry. */
  apply(entry: Entry, position: number): string[] {
    const { ledger } = this
    const { step, task } = checkEntry(ledger.world, entry, () => {
      const job = ledger.apply(entry)
      if (job === null) return
      if (entry.type === 'JobSubmitted') job.firstPosition = position
      job.lastPosition = position
    })
    return [...step, ...this.#unsaid(task)]
  }

  /** Which invariants do not hold now. */
  violations(): string[] {
    const { ledger } = this
    try {
      return this.#unsaid(texts(worldViolations(ledger.world, ledger, ledger.now)))
    } catch (error) {
      return [`the invariants cannot be checked: ${(error as Error).message}`]
    }
  }

  #unsaid(problems: readonly string[]): string[] {
    const fresh = problems.filter((what) => !this.#said.has(what))
    for (const what of fresh) this.#said.add(what)
    return fresh
  }
}
