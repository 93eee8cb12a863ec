/**
 * How far long work has come: one line on stderr that is written over, on a terminal alone. It begins to show after a
 * moment, so that short work shows nothing.
 */
import { nowUs } from '../store/clock.ts'

const FIRST_US = 300_000
const BETWEEN_US = 100_000
const BAR = 24

export class Progress {
  readonly #what: string
  readonly #isShown = process.stderr.isTTY
  readonly #beganUs = nowUs()
  #lastUs = 0
  #isDrawn = false

  constructor(what: string) {
    this.#what = what
  }

  /** `total` 0: how much there is, is not known. */
  readonly update = (done: number, total = 0): void => {
    if (!this.#isShown) return
    const us = nowUs()
    if (us - this.#beganUs < FIRST_US || us - this.#lastUs < BETWEEN_US) return
    this.#lastUs = us
    this.#isDrawn = true
    const columns = process.stderr.columns ?? 80
    process.stderr.write(`\r${this.#text(done, total).slice(0, columns - 1)}\u001b[K`)
  }

  end(): void {
    if (this.#isDrawn) process.stderr.write('\r\u001b[K')
    this.#isDrawn = false
  }

  #text(done: number, total: number): string {
    if (total <= 0) return `${this.#what} ${done}`
    const part = Math.min(1, done / total)
    const full = Math.round(part * BAR)
    return `${this.#what} [${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${Math.floor(part * 100)} %`
  }
}

export async function withProgress<T>(
  what: string,
  task: (update: Progress['update']) => Promise<T>,
): Promise<T> {
  const progress = new Progress(what)
  try {
    return await task(progress.update)
  } finally {
    progress.end()
  }
}
