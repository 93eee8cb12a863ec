/**
 * Sends commands that become due by themselves: for leases that ran out, jobs that no worker took
 * in time, stages to open, jobs to forget. The store says which are due, and decides each of them.
 * At the same pace, the engine examines whether all is well.
 */
import type { Command } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { CommandBatcher } from '../../store/command-batcher.ts'
import type { Store } from '../../store/index.ts'
import { StoreEnded } from '../../store/index.ts'
import type { ForgetHook } from './forget-hook.ts'
import type { ForgetPace } from './forget-pace.ts'

/** Between two queries that find nothing. They cost next to nothing. */
const PAUSE_MS = 50
/** The same on a shared database, where they cost something, and news say when something is due. */
const SHARED_PAUSE_MS = 1_000
/** There, each query that finds nothing doubles the pause until the next one, up to this. */
const LONGEST_SHARED_PAUSE_MS = 4_000
/** There, between the end of a round of examinations and the next round. */
const SHARED_ROUND_MS = 10_000
/** There, before the first round: a process that has just been opened has better things to do. */
const SHARED_FIRST_ROUND_MS = 2_000
/** After news: other processes query, too, and news that come together are one query. */
const AFTER_NEWS_MS = 20
/** Commands of one query: few enough that other commands get their turn. */
const BATCH = 512
const AFTER_FAILURE_MS = 1_000

interface UpkeepLoopParts {
  readonly store: Store
  readonly batcher: CommandBatcher
  readonly timing: Timing
  readonly onError: (error: Error) => void
  readonly pace: ForgetPace
  /** Null: jobs are forgotten without being handed over. */
  readonly forgetHook: ForgetHook | null
  /** Examines whether all is well. Whether a round through all jobs is over. */
  readonly examine: () => Promise<boolean>
  /** Told once that the store has ended: no caller will get an answer any more. */
  readonly onEnded: (error: StoreEnded) => void
}

export class UpkeepLoop {
  readonly #parts: UpkeepLoopParts
  readonly #pauseMs: number
  readonly #longestPauseMs: number
  readonly #roundMs: number
  /** Queries that found nothing since there was news, or something to do. */
  #vainQueries = 0
  #timer: Timer | null = null
  #running: Promise<void> | null = null
  #isRunning = false
  #examineFrom = -Infinity
  #runAgain = false
  #hasNews = false
  #nextAt = 0
  #isClosed = false

  constructor(parts: UpkeepLoopParts) {
    this.#parts = parts
    const isShared = parts.store.onNews !== undefined
    this.#pauseMs = isShared ? SHARED_PAUSE_MS : PAUSE_MS
    this.#longestPauseMs = isShared ? LONGEST_SHARED_PAUSE_MS : PAUSE_MS
    this.#roundMs = isShared ? SHARED_ROUND_MS : PAUSE_MS
    if (isShared) this.#examineFrom = parts.timing.now() + SHARED_FIRST_ROUND_MS
    this.#schedule(0)
  }

  /**
   * Sends what is due now, until nothing is. How many commands that were. `isPaced`: jobs to forget may be
   * left for later, because other work goes on.
   */
  async sendDue(isPaced = false): Promise<number> {
    const { timing, pace } = this.#parts
    let sent = 0
    for (;;) {
      if (this.#isClosed) return sent
      const forgets = !isPaced || pace.restMs(timing.now()) === 0
      const due = await this.#parts.store.query({ kind: 'upkeep', limit: BATCH, forgets })
      const commands = this.#parts.forgetHook === null ? due : due.filter((one) => !isForget(one))
      this.#parts.forgetHook?.offer(due.filter(isForget))
      if (commands.length === 0) return sent
      const sentAt = timing.now()
      const answers = await this.#parts.batcher.sendAll(commands)
      sent += commands.length
      const forgotten = commands.filter(isForget).length
      if (forgotten > 0) pace.forgot(forgotten, timing.now() - sentAt, timing.now())
      // If all are refused, they are due again: not at once.
      if (answers.every(({ verdict }) => verdict === 'rejected')) return sent
    }
  }

  /**
   * Something may be due, such as a stage AFTER the last commit of the one before: queries at once.
   * Several calls in one turn of the event loop are one query.
   */
  runNow(): void {
    this.#vainQueries = 0
    if (this.#runAgain || this.#isClosed) return
    this.#runAgain = true
    this.#parts.timing.soon(() => {
      // The query that is under way may have been too early: another follows it.
      if (this.#isRunning) return
      this.#start()
    })
  }

  /** The same by news, which may come often: queries in a moment. */
  runSoon(): void {
    this.#vainQueries = 0
    if (this.#isRunning) this.#hasNews = true
    else if (this.#nextAt > this.#parts.timing.now() + AFTER_NEWS_MS) this.#schedule(AFTER_NEWS_MS)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#running
    await this.#parts.forgetHook?.close()
  }

  #schedule(ms: number): void {
    if (this.#isClosed) return
    const { timing } = this.#parts
    this.#timer?.cancel()
    this.#nextAt = timing.now() + ms
    this.#timer = timing.after(ms, () => this.#start())
  }

  #start(): void {
    if (this.#isClosed) return
    this.#timer?.cancel()
    this.#running = this.#runAndSchedule()
  }

  /** At its own pace, however often the loop runs. */
  async #examineIfDue(): Promise<void> {
    const now = this.#parts.timing.now()
    if (this.#isClosed || now < this.#examineFrom) return
    const isRoundOver = await this.#parts.examine()
    this.#examineFrom = now + (isRoundOver ? this.#roundMs : this.#pauseMs)
  }

  async #runAndSchedule(): Promise<void> {
    this.#isRunning = true
    try {
      this.#hasNews = false
      do {
        this.#runAgain = false
        if ((await this.sendDue(true)) > 0) this.#vainQueries = 0
        await this.#examineIfDue()
      } while (this.#runAgain)
      this.#isRunning = false
      const pauseMs = Math.min(this.#pauseMs * 2 ** this.#vainQueries, this.#longestPauseMs)
      this.#vainQueries += 1
      // There are more to forget, or there may be.
      const restMs = this.#parts.pace.restMs(this.#parts.timing.now())
      if (this.#hasNews) this.#schedule(AFTER_NEWS_MS)
      else this.#schedule(restMs > 0 ? Math.min(restMs, this.#pauseMs) : pauseMs)
    } catch (error) {
      this.#isRunning = false
      if (this.#isClosed) return
      this.#parts.onError(error as Error)
      // A store that has ended stays so.
      if (error instanceof StoreEnded) this.#parts.onEnded(error)
      else this.#schedule(AFTER_FAILURE_MS)
    }
  }
}

function isForget(command: Command): command is Extract<Command, { type: 'ForgetJob' }> {
  return command.type === 'ForgetJob'
}
