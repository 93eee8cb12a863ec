/**
 * When the next group is written, so that neither the disk nor the callers wait for nothing.
 *
 * Callers that were just answered go on at once, and what they write next could join the group that
 * forms. If that is less work than a write takes, the group waits for them: one write for all. If it is
 * more, the disk would be idle meanwhile, and then the callers would wait for the disk: the group is
 * written without them, and they make the next one meanwhile.
 *
 * Without a clock that measures, a group always waits for them.
 */

export class GroupTiming {
  readonly #nowUs: () => number
  /** How long the last write took, or less: its end is not noticed while callers work. */
  #writeUs = Infinity
  /** What an entry cost the callers, when they were answered last. */
  #workUs = 0
  #startedAt = 0
  #idleSince = 0
  #appended = 0

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  /** The disk is idle, and the callers that were answered go on; `appended`: entries so far. */
  noteIdle(appended: number): void {
    this.#idleSince = this.#nowUs()
    this.#appended = appended
  }

  /** All callers that were answered have gone on. */
  noteTurn(appended: number): void {
    const entries = appended - this.#appended
    if (entries > 0) this.#workUs = (this.#nowUs() - this.#idleSince) / entries
  }

  noteWriteStart(): void {
    this.#startedAt = this.#nowUs()
  }

  noteWriteEnd(): void {
    this.#writeUs = this.#nowUs() - this.#startedAt
  }

  /** The disk has been idle for as long as a write takes. */
  get isLate(): boolean {
    return this.#nowUs() - this.#idleSince > this.#writeUs
  }

  /** To make so many entries again takes longer than a write. */
  takeLongerThanWrite(entries: number): boolean {
    return entries * this.#workUs > this.#writeUs
  }
}
