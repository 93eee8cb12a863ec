/**
 * A worker as a user would write one: it asks, and does only what it was told it may do.
 *
 * Told `committed` for a commit without effects, it charges the card at once. Told `committed`
 * for the start of an effect, it does what the effect says. Told anything else, it does nothing.
 * A worker dies by not being called any more.
 */
import type { Decision, EffectPromise, Failure, WaitSpec } from '../kernel/index.ts'
import { effectKey } from '../kernel/index.ts'
import type { Authority } from './authority.ts'
import { failure, policy } from './specs.ts'
import type { DeedLedger } from './deed-ledger.ts'
import type { ToldAnswer } from './story.ts'
import { answerOf } from './story.ts'

/** How long a lease lasts in these stories. */
export const LEASE_MS = policy().leaseMs

export interface Take {
  readonly job?: string
  readonly segment?: number
  /** Whether the grant also records the start. Default: true. */
  readonly started?: boolean
}

export interface CommitReport {
  readonly output?: string
  readonly effects?: readonly EffectPromise[]
  /** False: the answer is lost on the way, so the worker does not act on it. Default: true. */
  readonly heard?: boolean
}

export class StoryWorker {
  readonly name: string
  readonly #authority: Authority
  readonly #ledger: DeedLedger
  #at = { job: 'a', stage: 0, segment: 0 }
  #lease = 0
  #request = 0

  constructor(name: string, authority: Authority, ledger: DeedLedger) {
    this.name = name
    this.#authority = authority
    this.#ledger = ledger
  }

  /** Asks for the task. */
  take({ job = 'a', segment = 0, started = true }: Take = {}): ToldAnswer {
    this.#at = { job, stage: 0, segment }
    this.#request += 1
    const { name: worker } = this
    const request = this.#request
    const decision = this.#authority.send({
      type: 'GrantLease',
      ...this.#at,
      worker,
      request,
      started,
    })
    if (decision.verdict === 'committed') this.#lease = Number(decision.value)
    return answerOf(decision)
  }

  commit({ output = '"paid"', effects = [], heard = true }: CommitReport = {}): ToldAnswer {
    const report = { ...this.#report(), output, effects }
    const decision = this.#authority.send({ type: 'CommitExecution', ...report })
    if (heard && told(decision) && effects.length === 0) this.#ledger.record('charge', this.name)
    return answerOf(decision)
  }

  /** Asks to wait: if it may, its lease is over. */
  suspend(...waits: readonly WaitSpec[]): ToldAnswer {
    return answerOf(this.#authority.send({ type: 'SuspendExecution', ...this.#report(), waits }))
  }

  /** Ends a wait in place, by a message or, null, by its time. Told `committed`, it acts on what it says. */
  endWait(wait: WaitSpec, message: string | null): ToldAnswer {
    const report = { ...this.#report(), wait, message }
    const decision = this.#authority.send({ type: 'EndWait', ...report })
    if (told(decision)) this.#ledger.record(`${decision.value}`, this.name)
    return answerOf(decision)
  }

  fail(error: Failure = failure()): ToldAnswer {
    return answerOf(this.#authority.send({ type: 'FailTask', ...this.#report(), error }))
  }

  /** Asks to start a promised effect and, if it may, carries it out. Does not report the end. */
  perform(effect: number): ToldAnswer {
    const decision = this.#authority.send({ type: 'StartEffect', ...this.#report(), effect })
    if (told(decision)) {
      const { job, stage, segment } = this.#at
      const promise = this.#authority.task(job, stage, segment).commit?.effects[effect]?.promise
      const key = effectKey(job, stage, segment, effect)
      this.#ledger.record(promise?.name ?? 'nothing', this.name, key)
    }
    return answerOf(decision)
  }

  finish(effect: number): ToldAnswer {
    return answerOf(this.#authority.send({ type: 'FinishEffect', ...this.#report(), effect }))
  }

  #report(): { job: string; stage: number; segment: number; worker: string; lease: number } {
    return { ...this.#at, worker: this.name, lease: this.#lease }
  }
}

function told(decision: Decision): boolean {
  return decision.verdict === 'committed'
}
