/**
 * One attempt at a task: from the lease to the last report.
 *
 * - prepare: the handler runs. Whatever stops it, nothing has happened yet.
 * - commit: one report. If it is answered `committed`, the rest is finished and never redone.
 * - effects: each is started, run and reported, in the order in which it was promised.
 *
 * Every report may be answered `cancelled`: the lease is lost. Then the work is dropped, and
 * that is no failure.
 */
import type { AnyJob } from '../definition/index.ts'
import type { Command, EffectPromise, Failure, LeaseAddress } from '../kernel/index.ts'
import { childId, effectKey } from '../kernel/index.ts'
import type { Answer, Claimed, Store, UnfinishedEffect } from '../store/index.ts'
import type { AbortReason } from './aborted.ts'
import { Aborted } from './aborted.ts'
import type { Timing } from './clock.ts'
import type { Courier } from './courier.ts'
import type { EffectRequest } from './effect-handler.ts'
import type { Died, Executor } from './executor.ts'
import { failureOf } from './failure.ts'
import type { HandlerOutcome, HandlerPort } from './handler.ts'
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts'
import { Stopper } from './stopper.ts'

/** Told what goes on, for whoever looks. Nothing depends on it. */
export interface Onlookers {
  progress(job: string, value: string): void
  log(job: string, line: string): void
}

export interface AttemptParts {
  readonly store: Store
  readonly courier: Courier
  readonly keeper: LeaseKeeper
  readonly timing: Timing
  readonly executor: Executor
  readonly onlookers: Onlookers
}

export class Attempt {
  readonly claimed: Claimed
  readonly #parts: AttemptParts
  readonly #definition: AnyJob
  readonly #address: LeaseAddress
  readonly #stopper: Stopper
  #isDead = false
  /** Called once, when the handler is through: the next one may run while this one reports. */
  readonly #onHandled: () => void

  constructor(
    parts: AttemptParts,
    definition: AnyJob,
    claimed: Claimed,
    worker: string,
    onHandled: () => void,
  ) {
    const { job, stage, segment, lease } = claimed
    this.#parts = parts
    this.#definition = definition
    this.claimed = claimed
    this.#address = { job, stage, segment, lease, worker }
    this.#stopper = new Stopper(job)
    this.#onHandled = onHandled
  }

  stop(reason: AbortReason): void {
    this.#stopper.stop(reason)
  }

  /** As if its process had died: nothing is reported any more. */
  die(): void {
    this.#isDead = true
    this.#stopper.stop('lease-lost')
  }

  /** `askedAt`: when the claim was sent. Never throws. */
  async run(askedAt: number): Promise<void> {
    const { keeper } = this.#parts
    const { leaseMs, commit } = this.claimed
    const held = keeper.hold(this.#address, leaseMs, askedAt, (why) => void this.#lost(why))
    try {
      if (commit === null) await this.#prepare(held)
      else await this.#finish(commit.unfinished, held)
    } catch {
      // The store could not answer. The lease will run out, and the log says what holds.
    } finally {
      keeper.drop(held)
      this.#onHandled()
    }
  }

  async #prepare(held: HeldLease): Promise<void> {
    const outcome = await this.#untilStopped(this.#handled())
    this.#onHandled()
    if (typeof outcome === 'string') return this.#stopped(outcome)
    if (outcome.kind === 'died') return this.#died(outcome)
    if (outcome.kind === 'failure') return this.#fail(outcome.failure)
    const { output, effects } = outcome
    const { verdict, rejection } = await this.#report({ type: 'CommitExecution', output, effects })
    if (verdict === 'committed') await this.#finish(promised(this.#address, effects), held)
    else if (rejection !== null) await this.#fail(failureOf(refusal(rejection)))
  }

  #handled(): Promise<HandlerOutcome | Died> {
    const { executor } = this.#parts
    const { job: id, type, attempt, lease, queue, priority, version, input, steps } = this.claimed
    const job = { id, type, attempt, lease, queue, priority }
    const request = { job, version, input, steps }
    return executor.runJob(this.#definition, request, this.#port(), this.#stopper)
  }

  /** What came of it, or why it is not waited for any longer. It may take as long as the job's timeout. */
  async #untilStopped<T>(running: Promise<T>): Promise<T | AbortReason> {
    const { timing } = this.#parts
    const { timeoutMs } = this.claimed
    const timer =
      timeoutMs === null ? null : timing.after(timeoutMs, () => this.stop('timed-out'), true)
    try {
      return await new Promise<T | AbortReason>((resolve, reject) => {
        if (this.#stopper.reason !== null) resolve(this.#stopper.reason)
        this.#stopper.onStop = resolve
        running.then(resolve, reject)
      })
    } finally {
      timer?.cancel()
    }
  }

  #port(): HandlerPort {
    const { onlookers } = this.#parts
    const { job } = this.#address
    return {
      record: async (name, value) => {
        const answer = await this.#report({ type: 'RecordStep', name, value })
        if (answer.verdict === 'committed') return String(answer.value)
        if (answer.rejection !== null) throw refusal(answer.rejection)
        await this.#lost('cancelled')
        throw new Aborted(job, this.#stopper.reason ?? 'lease-lost')
      },
      progress: (value) => {
        if (this.#stopper.reason === null) onlookers.progress(job, value)
      },
      log: (line) => {
        if (this.#stopper.reason === null) onlookers.log(job, line)
      },
    }
  }

  /** The handler was told to stop, and is not waited for. */
  async #stopped(reason: AbortReason): Promise<void> {
    if (reason === 'shutdown') await this.#report({ type: 'ReleaseLease' })
    if (reason !== 'timed-out') return
    const ms = this.claimed.timeoutMs
    const message = `This attempt took longer than the timeout of ${ms} ms.`
    await this.#fail({ type: 'RETRYABLE', code: 'TimedOut', message, stack: null })
  }

  /** As if the lease had run out, but at once: it costs a retry, or poison would go on for ever. */
  async #died({ why }: Died): Promise<void> {
    await this.#revoke(why)
  }

  async #revoke(reason: string): Promise<void> {
    const { job, stage, segment, lease, worker: by } = this.#address
    const { courier } = this.#parts
    await courier.send({ type: 'RevokeLease', job, stage, segment, lease, by, reason })
  }

  async #fail(error: Failure): Promise<void> {
    await this.#report({ type: 'FailTask', error })
  }

  async #finish(unfinished: readonly UnfinishedEffect[], held: HeldLease): Promise<void> {
    for (const effect of unfinished) {
      if (effect.state === 'HELD') continue
      // What is not surely held must not act.
      if (this.#stopper.reason !== null) break
      const goesOn =
        effect.promise.child === null ? await this.#carryOut(effect) : await this.#submit(effect)
      if (goesOn === 'next') continue
      if (goesOn === 'stopped') break
      // Left as it is until the lease runs out: then somebody tries again.
      if (goesOn === 'later') this.#parts.keeper.drop(held)
      return
    }
    await this.#leaveEffects()
  }

  /** The worker stops, or an effect takes too long: whoever is next finds out what became of it. */
  async #leaveEffects(): Promise<void> {
    const { reason } = this.#stopper
    if (reason === 'shutdown') await this.#report({ type: 'ReleaseLease' })
    if (reason === 'timed-out') {
      await this.#revoke(`An effect took longer than the timeout of ${this.claimed.timeoutMs} ms.`)
    }
  }

  async #carryOut(effect: UnfinishedEffect): Promise<Next> {
    if (effect.state === 'UNKNOWN' && !effect.promise.idempotent) {
      const found = await this.#reconcile(effect)
      if (found !== 'again') return found
    }
    const start = await this.#report({ type: 'StartEffect', effect: effect.effect })
    if (start.verdict !== 'committed') return 'over'
    const running = this.#runEffect(effect, 'run')
    const outcome = await this.#untilStopped(running)
    if (typeof outcome === 'string') {
      void this.#finishLate(effect, running)
      return 'stopped'
    }
    if (outcome.kind === 'finished') {
      await this.#report({ type: 'FinishEffect', effect: effect.effect })
      return 'next'
    }
    if (outcome.kind === 'died') {
      // Whether it happened is not known: as if the lease had run out, but at once.
      await this.#died(outcome)
      return 'over'
    }
    if (outcome.kind !== 'failure') return 'later'
    await this.#report({ type: 'FailEffect', effect: effect.effect, error: outcome.failure })
    return 'over'
  }

  /** The lease is gone, and the effect goes on: whoever started it knows best that it happened. */
  async #finishLate(
    { effect }: UnfinishedEffect,
    running: ReturnType<Executor['runEffect']>,
  ): Promise<void> {
    const { kind } = await running
    if (kind !== 'finished' || this.#isDead) return
    // If the store does not answer, the next lease will find out.
    await this.#report({ type: 'FinishEffect', effect }).catch(() => undefined)
  }

  /** Asks the user's code whether an effect happened that was started by a worker now gone. */
  async #reconcile(effect: UnfinishedEffect): Promise<Next | 'again'> {
    const asked = await this.#untilStopped(this.#runEffect(effect, 'reconcile'))
    if (typeof asked === 'string') return 'stopped'
    if (asked.kind !== 'reconciled') return 'later'
    const { job, stage, segment, worker: by } = this.#address
    const { verdict } = await this.#parts.courier.send({
      type: 'ResolveEffect',
      job,
      stage,
      segment,
      effect: effect.effect,
      start: effect.starts.at(-1) ?? 0,
      outcome: asked.outcome,
      by,
      reason: 'Reconciled by its definition.',
    })
    if (verdict !== 'committed') return 'over'
    return asked.outcome === 'happened' ? 'next' : 'again'
  }

  #runEffect(
    { key, promise: { name, input } }: UnfinishedEffect,
    ask: EffectRequest['ask'],
  ): ReturnType<Executor['runEffect']> {
    const { job: id, lease: fence } = this.#address
    const job = { id, type: this.claimed.type }
    const request = { name, ask, input, key, fence, job }
    return this.#parts.executor.runEffect(this.#definition, request, this.#stopper)
  }

  /** A child: carried out by the authority itself, so there is nothing that could be unknown. */
  async #submit({ effect, promise }: UnfinishedEffect): Promise<'next' | 'over'> {
    const { job, stage, segment } = this.#address
    const parent = { job, stage, segment, effect }
    const spec = { ...promise.child, parent } as Extract<Command, { type: 'SubmitJob' }>['spec']
    const [start, submit, finish] = (await this.#parts.courier.sendAll([
      { type: 'StartEffect', ...this.#address, effect },
      { type: 'SubmitJob', job: childId(parent), spec },
      { type: 'FinishEffect', ...this.#address, effect },
    ])) as [Answer, Answer, Answer]
    if (finish.verdict === 'committed') return 'next'
    if (start.verdict === 'committed' && submit.rejection !== null) {
      // It will be refused again: that is for a person to look at.
      const error: Failure = { ...failureOf(refusal(submit.rejection)), type: 'TERMINAL' }
      await this.#report({ type: 'FailEffect', effect, error })
    }
    return 'over'
  }

  async #lost(why: 'cancelled' | 'lease-lost'): Promise<void> {
    this.#stopper.stop(why === 'cancelled' ? await this.#whyCancelled() : why)
  }

  /** The authority only says that the lease is over; its record says whether somebody wanted that. */
  async #whyCancelled(): Promise<AbortReason> {
    const { job, stage, segment, lease: number } = this.#address
    const view = await this.#parts.store.query({ kind: 'job', job }).catch(() => undefined)
    if (view === undefined) return 'lease-lost'
    const leases = view?.stages[stage]?.tasks[segment]?.leases ?? []
    const endedBy = leases.find((lease) => lease.number === number)?.endedBy ?? null
    return view === null || WANTED.has(endedBy) ? 'cancelled' : 'lease-lost'
  }

  #report(report: Reported): Promise<Answer> {
    return this.#parts.courier.send({ ...this.#address, ...report })
  }
}

/** A lease that ended so was taken away by somebody who wanted the work to stop. */
const WANTED: ReadonlySet<string | null> = new Set([
  'JobCancelled',
  'TaskForced',
  'TaskStopped',
  'LeaseRevoked',
])

/** How it goes on after an effect: `later` when nobody could say what became of it. */
type Next = 'next' | 'over' | 'later' | 'stopped'

type Reported = Command extends infer C
  ? C extends LeaseAddress & { readonly type: string }
    ? Omit<C, keyof LeaseAddress>
    : never
  : never

/** The authority's no, as something that can be thrown and recorded. */
export function refusal({ code, message }: { code: string; message: string }): Error {
  return Object.assign(new Error(message), { name: code, code })
}

function promised(
  { job, stage, segment }: LeaseAddress,
  effects: readonly EffectPromise[],
): UnfinishedEffect[] {
  return effects.map((promise, effect) => ({
    effect,
    key: effectKey(job, stage, segment, effect),
    promise,
    state: 'PROMISED',
    starts: [],
    retries: 0,
  }))
}
