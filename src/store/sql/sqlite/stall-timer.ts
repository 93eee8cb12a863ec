/**
 * How long a transaction may have the file to itself while no message comes that it goes on with.
 *
 * The thread that sends the messages may be unable to: it is busy, or waits for this very file with a
 * driver that lets nothing else run. Then neither transaction would come to an end before that driver gives
 * up. So the stalled transaction is rolled back, and its next message is answered by a conflict: the sender
 * does it again.
 *
 * - idle: no transaction has the file, or it began with `beginAlone`.
 * - waiting: for the next message of a transaction.
 * - rolled back: until the next message, which is of that transaction, or begins another.
 */
import { afterMs } from '../../clock.ts'
import { STALLED } from './failures.ts'

/** How such a transaction begins. */
export const BEGIN = 'begin immediate'
export const ROLLBACK = 'rollback'

/** Most that is decided between two messages takes less. */
const STALL_MS = 25

export class StallTimer {
  readonly #rollBack: () => void
  #isRolledBack = false
  #stopTimer: (() => void) | null = null

  constructor(rollBack: () => void) {
    this.#rollBack = rollBack
  }

  /** A message has come. Throws if its transaction was rolled back. */
  receive(firstSql: string | undefined): void {
    this.stop()
    const isRolledBack = this.#isRolledBack
    this.#isRolledBack = false
    if (isRolledBack && firstSql !== BEGIN && firstSql !== ROLLBACK) throw new Error(STALLED)
  }

  /** AFTER the statements of a message were run, if a transaction has the file: waits for its next one. */
  start(): void {
    this.#stopTimer = afterMs(STALL_MS, () => {
      this.#stopTimer = null
      this.#isRolledBack = true
      this.#rollBack()
    })
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
  }
}
