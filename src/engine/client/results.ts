/**
 * The calls of `result()` that wait for jobs to end.
 *
 * A commit without effects that this engine sent says itself how the job ended. After any other
 * command about a job that a caller waits for, the engine queries the store. On a store that other
 * processes use, it queries all waited-for jobs when there are news, and now and then: several jobs
 * with one query.
 *
 * Where no other process has the store, nothing ends a job once this process has nothing left to do: then the
 * process would end in the middle of a wait, and callers are told so.
 *
 * A job that this engine submitted under an id of its own, and that no command was about since, is
 * not queried when a caller begins to wait: the store would say the same.
 */
import type { Command, SubmitJob } from '../../kernel/index.ts'
import { stateByCommit } from '../../kernel/index.ts'
import type { Timer, Timing } from '../../store/clock.ts'
import type { Answer, Outcome, Store } from '../../store/index.ts'
import { isSettled } from '../../store/index.ts'
import { NoWorker } from '../errors.ts'
import { onceNothingIsLeft } from './process-end.ts'

interface Waiter {
  readonly outcome: Promise<Outcome | null>
  readonly settle: (outcome: Outcome | null) => void
  readonly fail: (error: Error) => void
}

interface WaitedJob {
  readonly waiters: Waiter[]
  /** The type of a job that is known to have one task only; null: not known. */
  plainType: string | null
  /** A query is under way. */
  isQuerying: boolean
  /** A command came meanwhile: another query follows. */
  isOutdated: boolean
}

/** Jobs of one query. */
const BATCH = 500
/** New jobs that are remembered, in each of two halves; older ones are queried. */
const MOST_NEW = 5_000
/** Jobs that something happened to during submits. */
const MOST_TOUCHED = 50_000
const NO_WAITERS: readonly Waiter[] = []
/** A fallback for lost news. */
const QUERY_EVERY_MS = 1_000

export class Results {
  readonly #store: Store
  readonly #timing: Timing
  readonly #isShared: boolean
  readonly #waiting = new Map<string, WaitedJob>()
  /**
   * Jobs under ids that were made here, and that nothing happened to since they were submitted, with
   * their types. When the newer half is full it becomes the older one.
   */
  #new = new Map<string, string>()
  #older = new Map<string, string>()
  /** Submits under way, and the jobs that other commands were about meanwhile. */
  #submits = 0
  readonly #touched = new Set<string>()
  /** Raised when something may have happened to any job. */
  #age = 0
  #timer: Timer | null = null
  #isQuerying = false
  /** News came during the query. */
  #hasNews = false
  #notBefore = -Infinity
  /** Why no caller hears how a job ended any more; null: they do. */
  #ending: Error | null = null
  /** Stops listening for the end of all work of this process; null: it does not listen. */
  #stopListening: (() => void) | null = null

  constructor(store: Store, timing: Timing) {
    this.#store = store
    this.#timing = timing
    this.#isShared = store.onNews !== undefined
  }

  /** Settled when the job is over, or waits for a person. `null`: there is no such job. */
  waitFor(job: string): Waiter {
    const waiter = newWaiter()
    if (this.#ending !== null) {
      waiter.fail(this.#ending)
      return waiter
    }
    const plainType = this.#new.get(job) ?? this.#older.get(job) ?? null
    const waiting = this.#waiting.get(job)
    if (waiting === undefined) {
      this.#waiting.set(job, { waiters: [waiter], plainType, isQuerying: false, isOutdated: false })
    } else {
      waiting.waiters.push(waiter)
    }
    if (plainType === null) void this.#queryJob(job)
    if (!this.#isShared) this.#stopListening ??= onceNothingIsLeft(() => this.#noWorker())
    else if (this.#timer === null) this.#queryIn(QUERY_EVERY_MS)
    return waiter
  }

  #noWorker(): void {
    this.#stopListening = null
    for (const job of this.#waiting.keys()) this.#fail(job, new NoWorker(job))
  }

  /** Jobs are about to be submitted. What `noteNew` is to be given. */
  submitting(): number {
    this.#submits += 1
    return this.#age
  }

  /** AFTER it was submitted, under an id that was made for it. Noted if its commit will say all. */
  noteNew(since: number, { job, spec }: SubmitJob): void {
    if (since !== this.#age || spec.stages !== null || spec.key !== null) return
    if (this.#touched.size > 0 && this.#touched.has(job)) return
    this.#new.set(job, spec.type)
    if (this.#new.size <= MOST_NEW) return
    this.#older = this.#new
    this.#new = new Map()
  }

  /** AFTER the submit was answered, or failed. */
  submitted(): void {
    this.#submits -= 1
    if (this.#submits === 0) this.#touched.clear()
  }

  /** To be told of every command that was answered. */
  answered(commands: readonly Command[], answers: readonly Answer[]): void {
    // A batch has new work, or reports.
    if (commands[0]?.type !== 'SubmitJob') this.#touch(commands)
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
        this.#resolve(command.job, {
          type,
          state,
          output,
          cause: null,
          error: null,
          cancelled: null,
          erased: null,
          held: [],
          endedBy: 'ExecutionCommitted',
          at: null,
          last: null,
          lastPosition: 0,
        })
      } else {
        if (this.#isShared) this.#querySoon()
        else void this.#queryJob(command.job)
      }
    }
  }

  #touch(commands: readonly Command[]): void {
    for (const command of commands) {
      if (!('job' in command)) continue
      this.#new.delete(command.job)
      this.#older.delete(command.job)
      if (this.#submits > 0) this.#touched.add(command.job)
    }
    if (this.#touched.size > MOST_TOUCHED) this.#forgetNew()
  }

  #forgetNew(): void {
    this.#age += 1
    this.#new.clear()
    this.#older.clear()
    this.#touched.clear()
  }

  /** Another process may have ended any of the jobs. */
  onNews(): void {
    // Also those whose submit is on its way: it may be in the store already.
    this.#forgetNew()
    this.#querySoon()
  }

  /** The store is closed, or has failed: every waiter fails. Jobs go on when it is opened again. */
  end(why: Error): void {
    if (this.#ending !== null) return
    this.#ending = why
    this.#stopListening?.()
    for (const job of this.#waiting.keys()) this.#fail(job, why)
  }

  /** The caller does not wait any longer. */
  stopWaiting(job: string, waiter: Waiter): void {
    const waiting = this.#waiting.get(job)
    const place = waiting?.waiters.indexOf(waiter) ?? -1
    if (place >= 0) waiting?.waiters.splice(place, 1)
    if (waiting?.waiters.length === 0) this.#waiting.delete(job)
    this.#cancelIfIdle()
  }

  #querySoon(): void {
    if (this.#waiting.size > 0) this.#queryIn(this.#notBefore - this.#timing.now())
  }

  /** In place of the timer that is set. A caller that waits keeps the process alive by it. */
  #queryIn(ms: number): void {
    if (this.#isQuerying) {
      this.#hasNews = true
      return
    }
    this.#timer?.cancel()
    this.#timer = null
    if (ms <= 0) void this.#queryAll()
    else this.#timer = this.#timing.after(ms, () => void this.#queryAll(), true)
  }

  /** Queries take at most half of the time, however many jobs there are. */
  async #queryAll(): Promise<void> {
    this.#isQuerying = true
    this.#hasNews = false
    const since = this.#timing.now()
    const jobs = [...this.#waiting.keys()]
    for (let at = 0; at < jobs.length; at += BATCH) {
      await this.#queryJobs(jobs.slice(at, at + BATCH))
    }
    const now = this.#timing.now()
    const tookMs = now - since
    this.#notBefore = now + tookMs
    this.#isQuerying = false
    if (this.#waiting.size > 0) this.#queryIn(this.#hasNews ? tookMs : QUERY_EVERY_MS)
  }

  async #queryJobs(jobs: readonly string[]): Promise<void> {
    try {
      const ended = await this.#store.query({ kind: 'ended', jobs })
      for (const { job, outcome } of ended) this.#resolve(job, outcome)
    } catch (error) {
      for (const job of jobs) this.#fail(job, error as Error)
    }
  }

  #cancelIfIdle(): void {
    if (this.#waiting.size > 0) return
    this.#timer?.cancel()
    this.#timer = null
  }

  #fail(job: string, error: Error): void {
    for (const { fail } of this.#takeWaiters(job)) fail(error)
  }

  /** A pipeline may have many thousand commits: those that come during a query are one query more. */
  async #queryJob(job: string): Promise<void> {
    const waiting = this.#waiting.get(job)
    if (waiting === undefined) return
    waiting.isOutdated = true
    if (waiting.isQuerying) return
    waiting.isQuerying = true
    try {
      while (waiting.isOutdated) {
        waiting.isOutdated = false
        const outcome = await this.#store.query({ kind: 'outcome', job })
        if (this.#waiting.get(job) !== waiting) return
        if (outcome === null || isSettled(outcome)) return this.#resolve(job, outcome)
        // Only the job itself can say so: a definition may have changed since it was submitted.
        waiting.plainType = outcome.last === null ? outcome.type : null
      }
    } catch (error) {
      if (this.#waiting.get(job) === waiting) this.#fail(job, error as Error)
      else for (const { fail } of waiting.waiters) fail(error as Error)
    } finally {
      waiting.isQuerying = false
    }
  }

  #resolve(job: string, outcome: Outcome | null): void {
    for (const { settle } of this.#takeWaiters(job)) settle(outcome)
  }

  #takeWaiters(job: string): readonly Waiter[] {
    const waiting = this.#waiting.get(job)
    if (waiting === undefined) return NO_WAITERS
    this.#waiting.delete(job)
    this.#cancelIfIdle()
    // Emptied: the map may keep the removed entry for a while, and with it every waiter.
    return waiting.waiters.splice(0)
  }
}

function newWaiter(): Waiter {
  let settle!: Waiter['settle']
  let fail!: Waiter['fail']
  const outcome = new Promise<Outcome | null>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  return { outcome, settle, fail }
}
