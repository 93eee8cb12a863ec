/**
 * Those who wait for a job to end.
 *
 * Most ends come by a commit without effects that was answered here: those say themselves how the
 * job ended. After any other command about a job that is waited for, the store is asked. Where
 * others change jobs, too, it is asked about all that are waited for when there are news, and now
 * and then: several jobs with one question.
 *
 * A job that was submitted here under an id that nobody had before, and that nothing happened to
 * since, is not asked about when somebody begins to wait for it: it is as new as what an answer
 * would say.
 */
import type { Command } from '../../kernel/index.ts'
import { stateByCommit } from '../../kernel/index.ts'
import type { Answer, Outcome, Store } from '../../store/index.ts'
import { isThrough } from '../../store/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'

interface Waiter {
  readonly outcome: Promise<Outcome | null>
  readonly settle: (outcome: Outcome | null) => void
  readonly fail: (error: Error) => void
}

interface WaitingCaller {
  readonly all: Waiter[]
  /** The type of a job that is known to have one task only; null: not known. */
  plainType: string | null
  /** The store is being asked. */
  isLooking: boolean
  /** Something happened meanwhile: it is to be asked again. */
  isOutdated: boolean
}

/** Jobs of one question. */
const PORTION = 500
/** Jobs that were submitted last. Those before them are asked about. */
const MOST_NEW = 10_000
const NOBODY: readonly Waiter[] = []
/** If nothing is heard: news may be lost. */
const ASK_EVERY_MS = 1_000

export class Results {
  readonly #store: Store
  readonly #timing: Timing
  readonly #isShared: boolean
  readonly #waiting = new Map<string, WaitingCaller>()
  /**
   * Jobs under ids that were made here, and that nothing happened to since they were submitted, with
   * their types; null: on the way to the store.
   */
  readonly #new = new Map<string, string | null>()
  #timer: Timer | null = null
  #isAsking = false
  /** News came while it was asked. */
  #isLate = false
  #notBefore = -Infinity
  /** Why nobody is told how a job ended any more; null: they are. */
  #ending: Error | null = null

  constructor(store: Store, timing: Timing) {
    this.#store = store
    this.#timing = timing
    this.#isShared = store.onNews !== undefined
  }

  /** Settled when the job is over, or waits for a person. `null`: there is no such job. */
  ended(job: string): Waiter {
    const waiter = awaited()
    if (this.#ending !== null) {
      waiter.fail(this.#ending)
      return waiter
    }
    const plainType = this.#new.get(job) ?? null
    const waiting = this.#waiting.get(job)
    if (waiting === undefined) {
      this.#waiting.set(job, { all: [waiter], plainType, isLooking: false, isOutdated: false })
    } else {
      waiting.all.push(waiter)
    }
    if (plainType === null) void this.#look(job)
    if (this.#isShared && this.#timer === null) this.#askIn(ASK_EVERY_MS)
    return waiter
  }

  /** Jobs are about to be submitted, under ids that were made for them. */
  making(jobs: readonly string[]): void {
    for (const job of jobs) this.#new.set(job, null)
  }

  /** AFTER their submit was answered, or failed. */
  made(jobs: readonly string[]): void {
    for (const job of jobs) if (this.#new.get(job) === null) this.#new.delete(job)
  }

  /** To be told of every command that was answered. */
  answered(commands: readonly Command[], answers: readonly Answer[]): void {
    this.#noteNew(commands, answers)
    if (this.#waiting.size === 0) return
    for (let i = 0; i < commands.length; i++) {
      const command = commands[i] as Command
      if (!('job' in command)) continue
      const waiting = this.#waiting.get(command.job)
      if (waiting === undefined || answers[i]?.verdict !== 'committed') continue
      const type = waiting.plainType
      const state = command.type === 'CommitExecution' ? stateByCommit(command.effects) : null
      if (type !== null && command.type === 'CommitExecution' && state !== null) {
        const { output } = command
        this.#settle(command.job, {
          type,
          state,
          output,
          error: null,
          cancelled: null,
          held: [],
          endedBy: 'ExecutionCommitted',
          at: null,
          last: null,
          lastPosition: 0,
        })
      } else {
        if (this.#isShared) this.#askSoon()
        else void this.#look(command.job)
      }
    }
  }

  #noteNew(commands: readonly Command[], answers: readonly Answer[]): void {
    if (this.#new.size === 0) return
    for (let i = 0; i < commands.length; i++) {
      const command = commands[i] as Command
      if (!('job' in command)) continue
      const type = answers[i]?.verdict === 'committed' ? this.#typeIfNew(command) : null
      if (type === null) this.#new.delete(command.job)
      else this.#new.set(command.job, type)
    }
    if (this.#new.size > MOST_NEW) this.#forgetOldest()
  }

  /** Of a job that this command has submitted, if its commit will say all; else null. */
  #typeIfNew(command: Command): string | null {
    if (command.type !== 'SubmitJob' || !this.#new.has(command.job)) return null
    const { type, stages, key } = command.spec
    return stages === null && key === null ? type : null
  }

  #forgetOldest(): void {
    for (const job of this.#new.keys()) {
      if (this.#new.size <= MOST_NEW) return
      this.#new.delete(job)
    }
  }

  /** Any of the jobs may be over. */
  news(): void {
    // Also those that are on their way: they are in the store before this process hears of it.
    this.#new.clear()
    this.#askSoon()
  }

  /** The store is closed, or has failed. Whoever waits is told: jobs go on when it is opened again. */
  end(why: Error): void {
    if (this.#ending !== null) return
    this.#ending = why
    for (const job of this.#waiting.keys()) this.#fail(job, why)
  }

  /** It is not waited for any longer. */
  stop(job: string, waiter: Waiter): void {
    const waiting = this.#waiting.get(job)
    const place = waiting?.all.indexOf(waiter) ?? -1
    if (place >= 0) waiting?.all.splice(place, 1)
    if (waiting?.all.length === 0) this.#waiting.delete(job)
    this.#rest()
  }

  #askSoon(): void {
    if (this.#waiting.size > 0) this.#askIn(this.#notBefore - this.#timing.now())
  }

  /** Instead of what was planned. Whoever waits for a result keeps the process alive by it. */
  #askIn(ms: number): void {
    if (this.#isAsking) {
      this.#isLate = true
      return
    }
    this.#timer?.cancel()
    this.#timer = null
    if (ms <= 0) void this.#ask()
    else this.#timer = this.#timing.after(ms, () => void this.#ask(), true)
  }

  /** About all that are waited for. It takes at most half of the time, however many they are. */
  async #ask(): Promise<void> {
    this.#isAsking = true
    this.#isLate = false
    const since = this.#timing.now()
    const jobs = [...this.#waiting.keys()]
    for (let at = 0; at < jobs.length; at += PORTION) {
      await this.#askAbout(jobs.slice(at, at + PORTION))
    }
    const now = this.#timing.now()
    const tookMs = now - since
    this.#notBefore = now + tookMs
    this.#isAsking = false
    if (this.#waiting.size > 0) this.#askIn(this.#isLate ? tookMs : ASK_EVERY_MS)
  }

  async #askAbout(jobs: readonly string[]): Promise<void> {
    try {
      const ended = await this.#store.query({ kind: 'ended', jobs })
      for (const { job, outcome } of ended) this.#settle(job, outcome)
    } catch (error) {
      for (const job of jobs) this.#fail(job, error as Error)
    }
  }

  #rest(): void {
    if (this.#waiting.size > 0) return
    this.#timer?.cancel()
    this.#timer = null
  }

  /** Nobody knows, so nobody should go on waiting. */
  #fail(job: string, error: Error): void {
    for (const { fail } of this.#takeWaiters(job)) fail(error)
  }

  /** A pipeline may have many thousand commits: those that come while it looks are one look more. */
  async #look(job: string): Promise<void> {
    const waiting = this.#waiting.get(job)
    if (waiting === undefined) return
    waiting.isOutdated = true
    if (waiting.isLooking) return
    waiting.isLooking = true
    try {
      while (waiting.isOutdated) {
        waiting.isOutdated = false
        const outcome = await this.#store.query({ kind: 'outcome', job })
        if (this.#waiting.get(job) !== waiting) return
        if (outcome === null || isThrough(outcome)) return this.#settle(job, outcome)
        // Only the job itself can say so: a definition may have changed since it was submitted.
        waiting.plainType = outcome.last === null ? outcome.type : null
      }
    } catch (error) {
      if (this.#waiting.get(job) === waiting) this.#fail(job, error as Error)
      else for (const { fail } of waiting.all) fail(error as Error)
    } finally {
      waiting.isLooking = false
    }
  }

  #settle(job: string, outcome: Outcome | null): void {
    for (const { settle } of this.#takeWaiters(job)) settle(outcome)
  }

  #takeWaiters(job: string): readonly Waiter[] {
    const waiting = this.#waiting.get(job)
    if (waiting === undefined) return NOBODY
    this.#waiting.delete(job)
    this.#rest()
    // Taken out of it: the map may keep what it has removed for a while, and they all that they wait for.
    return waiting.all.splice(0)
  }
}

function awaited(): Waiter {
  let settle!: Waiter['settle']
  let fail!: Waiter['fail']
  const outcome = new Promise<Outcome | null>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  return { outcome, settle, fail }
}
