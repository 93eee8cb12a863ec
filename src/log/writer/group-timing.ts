/**
 * When the next group takes off, so that neither the disk nor those who write wait for nothing.
 *
 * Those who were just answered go on at once, and what they write next could join the group that
 * forms. If that is less work than a write takes, the group waits for them: one write for all. If
 * it is more, the disk would stand still meanwhile, and then they for the disk: the group takes
 * off without them, and they make the next one while it flies.
 *
 * Without a clock that measures, a group always waits for them.
 */

export class GroupTiming {
  readonly #nowUs: () => number
  /** How long the last write took, or less: a landing is not noticed while others work. */
  #flightUs = Infinity
  /** What an entry cost those who made it, when they were answered last. */
  #workUs = 0
  #begunAt = 0
  #restingSince = 0
  #appended = 0

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  /** The disk has nothing to do, and those who were answered go on; `appended`: entries so far. */
  rest(appended: number): void {
    this.#restingSince = this.#nowUs()
    this.#appended = appended
  }

  /** All who were answered have gone on. */
  turned(appended: number): void {
    const entries = appended - this.#appended
    if (entries > 0) this.#workUs = (this.#nowUs() - this.#restingSince) / entries
  }

  begin(): void {
    this.#begunAt = this.#nowUs()
  }

  land(): void {
    this.#flightUs = this.#nowUs() - this.#begunAt
  }

  /** The disk has stood still for as long as a write takes. */
  get isLate(): boolean {
    return this.#nowUs() - this.#restingSince > this.#flightUs
  }

  /** To make so many entries again takes longer than a write. */
  isWorthIt(entries: number): boolean {
    return entries * this.#workUs > this.#flightUs
  }
}
