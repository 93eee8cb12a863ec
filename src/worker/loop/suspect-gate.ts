/**
 * Which tasks that may be what kills their workers (`isSuspect`) the workers of one engine may claim now: a task
 * that kills its process takes along what runs beside it in all of them.
 *
 * - open: none of them runs. Any may be claimed.
 * - with retries: some run, the newest for a second. Others may be claimed beside them, but none whose next loss
 *   would be its last (`isLastChance`).
 * - closed: one began within the last second, or one runs whose next loss would be its last, or a claim on its way
 *   may bring one.
 *
 * A worker that was refused some of them claims again when that may have changed.
 */
import type { Timing } from '../../store/clock.ts'

/** A task that was lost twice in a row has so long to show whether it kills its worker. */
const SUSPECT_MS = 1_000

/** What a claim may be granted of them. */
export interface WantedSuspects {
  readonly suspects: boolean
  readonly lastChances: boolean
}

/** One that runs, or waits in its worker. */
interface RunningSuspect {
  readonly isLastChance: boolean
}

export class SuspectGate {
  readonly #timing: Timing
  readonly #running = new Map<object, RunningSuspect>()
  /** It began within the last second. */
  #newest: object | null = null
  /** The worker whose claim may bring one. */
  #claimant: object | null = null
  /** Workers that are told when less of them run, and those that are told when the claim on its way is over. */
  readonly #refused = new Map<object, () => void>()
  readonly #behindClaim = new Map<object, () => void>()

  constructor(timing: Timing) {
    this.#timing = timing
  }

  /**
   * BEFORE a claim; AFTER it, `claimed` is called. `onMore`: called once if it was refused some, and may get
   * more by then.
   */
  claim(worker: object, onMore: () => void): WantedSuspects {
    // A worker with two claims under way claims again anyway.
    if (this.#claimant === worker) return { suspects: false, lastChances: false }
    const isClosed =
      this.#claimant !== null ||
      this.#newest !== null ||
      [...this.#running.values()].some(({ isLastChance }) => isLastChance)
    const lastChances = !isClosed && this.#running.size === 0
    if (!lastChances)
      (this.#claimant === null ? this.#refused : this.#behindClaim).set(worker, onMore)
    if (!isClosed) this.#claimant = worker
    return { suspects: !isClosed, lastChances }
  }

  /** AFTER `began` was called for what it brought. */
  claimed(worker: object): void {
    if (this.#claimant !== worker) return
    this.#claimant = null
    if (this.#newest === null) return tellAll(this.#behindClaim)
    for (const [other, onMore] of this.#behindClaim) this.#refused.set(other, onMore)
    this.#behindClaim.clear()
  }

  began(attempt: object, suspect: RunningSuspect): void {
    this.#running.set(attempt, suspect)
    this.#newest = attempt
    this.#timing.after(SUSPECT_MS, () => this.#passed(attempt))
  }

  /** Of any attempt. */
  ended(attempt: object): void {
    if (!this.#running.delete(attempt)) return
    if (this.#newest === attempt) this.#newest = null
    tellAll(this.#refused)
  }

  #passed(attempt: object): void {
    if (this.#newest !== attempt) return
    this.#newest = null
    tellAll(this.#refused)
  }
}

function tellAll(refused: Map<object, () => void>): void {
  const all = [...refused.values()]
  refused.clear()
  for (const onMore of all) onMore()
}
