/**
 * Sends what time asks for: leases that ran out, jobs that nobody took in time, stages to
 * open, jobs to forget. The store says which commands are due, and decides each of them. At the
 * same pace, the engine looks whether all is well.
 */
import type { Command } from '../../kernel/index.ts'
import type { Store } from '../../store/index.ts'
import { StoreEnded } from '../../store/index.ts'
import type { ForgetHook } from './forget-hook.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Timer, Timing } from '../../store/clock.ts'

/** Between two looks, when there is nothing to do. Looking costs next to nothing. */
const PAUSE_MS = 50
/** The same where it costs others something, and news say when it is worth to look. */
const SHARED_PAUSE_MS = 1_000
/** After news: others look too, and what comes close together is one look. */
const AFTER_NEWS_MS = 20
/** Commands of one look: small enough that others get their turn. */
const BATCH = 512
const AFTER_FAILURE_MS = 1_000

interface UpkeepLoopParts {
  readonly store: Store
  readonly batcher: CommandBatcher
  readonly timing: Timing
  readonly onError: (error: Error) => void
  /** Null: nobody wants to keep what is forgotten. */
  readonly handingOver: ForgetHook | null
  /** A look whether all is well. */
  readonly examine: () => Promise<unknown>
  /** Told once that the store has ended: nobody will hear of anything any more. */
  readonly onEnded: (error: StoreEnded) => void
}

export class UpkeepLoop {
  readonly #parts: UpkeepLoopParts
  readonly #pauseMs: number
  #timer: Timer | null = null
  #looking: Promise<void> | null = null
  #isLooking = false
  #examinedAt = -Infinity
  #isHurrying = false
  #isNews = false
  #plannedAt = 0
  #isClosed = false

  constructor(parts: UpkeepLoopParts) {
    this.#parts = parts
    this.#pauseMs = parts.store.onNews === undefined ? PAUSE_MS : SHARED_PAUSE_MS
    this.#plan(0)
  }

  /** Looks now, and as long as there is something to do. How many commands it sent. */
  async look(): Promise<number> {
    let sent = 0
    for (;;) {
      if (this.#isClosed) return sent
      const due = await this.#parts.store.query({ kind: 'upkeep', limit: BATCH })
      const commands =
        this.#parts.handingOver === null ? due : due.filter((one) => !isForgetting(one))
      this.#parts.handingOver?.offer(due.filter(isForgetting))
      if (commands.length === 0) return sent
      const answers = await this.#parts.batcher.sendAll(commands)
      sent += commands.length
      // What is refused again and again is no reason to go on at once.
      if (answers.every(({ verdict }) => verdict === 'rejected')) return sent
    }
  }

  /**
   * Something happened that may have made work for it, such as the last commit of a stage: it
   * looks at once, and not only when it is time. Those that come together are one look.
   */
  hurry(): void {
    if (this.#isHurrying || this.#isClosed) return
    this.#isHurrying = true
    this.#parts.timing.soon(() => {
      // A look that is under way may have been too early.
      if (this.#isLooking) return
      this.#begin()
    })
  }

  /** The same by news, which may come often: it looks in a moment. */
  hurrySoon(): void {
    if (this.#isLooking) this.#isNews = true
    else if (this.#plannedAt > this.#parts.timing.now() + AFTER_NEWS_MS) this.#plan(AFTER_NEWS_MS)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#looking
    await this.#parts.handingOver?.close()
  }

  #plan(ms: number): void {
    if (this.#isClosed) return
    const { timing } = this.#parts
    this.#timer?.cancel()
    this.#plannedAt = timing.now() + ms
    this.#timer = timing.after(ms, () => this.#begin())
  }

  #begin(): void {
    if (this.#isClosed) return
    this.#timer?.cancel()
    this.#looking = this.#lookAndPlan()
  }

  /** However often it is hurried. */
  async #examineIfItIsTime(): Promise<void> {
    const now = this.#parts.timing.now()
    if (this.#isClosed || now < this.#examinedAt + this.#pauseMs) return
    this.#examinedAt = now
    await this.#parts.examine()
  }

  async #lookAndPlan(): Promise<void> {
    this.#isLooking = true
    try {
      this.#isNews = false
      do {
        this.#isHurrying = false
        await this.look()
        await this.#examineIfItIsTime()
      } while (this.#isHurrying)
      this.#isLooking = false
      this.#plan(this.#isNews ? AFTER_NEWS_MS : this.#pauseMs)
    } catch (error) {
      this.#isLooking = false
      if (this.#isClosed) return
      this.#parts.onError(error as Error)
      // A store that has ended stays so.
      if (error instanceof StoreEnded) this.#parts.onEnded(error)
      else this.#plan(AFTER_FAILURE_MS)
    }
  }
}

function isForgetting(command: Command): command is Extract<Command, { type: 'ForgetJob' }> {
  return command.type === 'ForgetJob'
}
