/**
 * What is done about a live job whose record in the newest checkpoint does not check.
 *
 * The log has everything, so another checkpoint is made at once, from the one before it. Until then
 * whoever needs the job is refused, and all others go on. If it cannot be made, nothing can be told
 * of that job any more, nor any checkpoint be made: then the store ends, as one that cannot be opened.
 */
import type { CorruptLog, LogWriter } from '../log/index.ts'
import type { Checkpointing } from './checkpointing.ts'
import type { Notice } from './notice.ts'

export class MendingLive {
  readonly #checkpointing: Checkpointing
  readonly #writer: LogWriter
  readonly #onNotice: (notice: Notice) => void
  #mending: Promise<void> | null = null
  /** How often somebody was refused. */
  refusals = 0
  /** Jobs that were told of since the last time that it was mended. */
  readonly #told = new Set<string>()

  constructor(checkpointing: Checkpointing, writer: LogWriter, onNotice: (notice: Notice) => void) {
    this.#checkpointing = checkpointing
    this.#writer = writer
    this.#onNotice = onNotice
  }

  /** Settled when it is over, one way or the other; null: nobody was refused since there were so many. */
  since(refusals: number): Promise<void> | null {
    return this.refusals > refusals ? this.#mending : null
  }

  begin(damage: CorruptLog): void {
    this.refusals += 1
    const { message } = damage
    if (!this.#told.has(message)) this.#onNotice({ kind: 'job-unreadable', error: damage })
    this.#told.add(message)
    this.#mending ??= this.#mend(damage).finally(() => {
      this.#mending = null
      this.#told.clear()
    })
  }

  async #mend(cause: CorruptLog): Promise<void> {
    try {
      await this.#checkpointing.make()
    } catch {
      this.#writer.end(cause)
    }
  }
}
