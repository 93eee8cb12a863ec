/**
 * How long a transaction may have the file to itself while nothing comes that it goes on with.
 *
 * Whoever sends the messages may be unable to: its thread is busy, or waits for this very file with
 * a driver that lets nothing else run. Then neither would come to an end before that one gives up. So
 * the transaction is let go of, and what comes next of it is a conflict: it is done again.
 *
 * - free: no transaction has the file, or it began with another word (`beginAlone`).
 * - held: a message is awaited.
 * - let go of: until the next message, which is of the transaction that is gone, or begins another.
 */
import { afterMs } from '../../clock.ts'
import { LET_GO } from './failures.ts'

/** The word that such a transaction begins with. */
export const BEGIN = 'begin immediate'
const ROLLBACK = 'rollback'

/** Most that is decided between two messages takes less. */
const HELD_MS = 25

export class FileHold {
  readonly #letGo: () => void
  #isOver = false
  #stop: (() => void) | null = null

  /** `letGo`: rolls it back. */
  constructor(letGo: () => void) {
    this.#letGo = letGo
  }

  /** A message has come. Throws if it is of a transaction that is gone. */
  goOn(first: string | undefined): void {
    this.end()
    const isOver = this.#isOver
    this.#isOver = false
    if (isOver && first !== BEGIN && first !== ROLLBACK) throw new Error(LET_GO)
  }

  /** AFTER what was sent is done: whether a transaction has the file. */
  rest(isHeld: boolean): void {
    if (isHeld) this.#stop = afterMs(HELD_MS, () => this.#leave())
  }

  /** Nothing is awaited any more. */
  end(): void {
    this.#stop?.()
    this.#stop = null
  }

  #leave(): void {
    this.#stop = null
    this.#isOver = true
    this.#letGo()
  }
}
