/**
 * One attempt at a task: from the lease to the last report.
 *
 * - waiting: it holds the lease, and its worker has no place for it yet. It may be given back.
 * - prepare: the handler runs. Whatever stops it, nothing has happened yet.
 * - commit: one report. If it is answered `committed`, the rest is finished and never redone.
 * - effects: each is started, run and reported, in the order in which it was promised.
 *
 * It is the port of its handler, and the holder of its lease. The store may answer any report with
 * `cancelled`: the lease is lost. Then the attempt drops the work, and that is no failure.
 */
import type {
  ArtifactPlace,
  CommitWrites,
  Runnable,
  SubmitDefaults,
} from '../../definition/index.ts'
import type { Command, Failure, LeaseAddress, Payload } from '../../kernel/index.ts'
import { childId, LIMITS, PawlError } from '../../kernel/index.ts'
import type { Timing } from '../../store/clock.ts'
import type { Answer, Claimed, OutputsPage, Store, UnfinishedEffect } from '../../store/index.ts'
import { eventLoopTurn, WritesFailed } from '../../store/index.ts'
import type { AbortReason } from '../abort-handle.ts'
import { Aborted, AbortHandle } from '../abort-handle.ts'
import type { Died, EffectOutcome, EffectRequest, Executor } from '../handler/executor.ts'
import type { FailureReport } from '../handler/failure.ts'
import { childDied, failureOf, failureReport, refusal } from '../handler/failure.ts'
import type { HandlerPort } from '../handler/handler-context.ts'
import { requestOf } from '../handler/handler-context.ts'
import type { HandlerOutcome } from '../handler/handler.ts'
import type { SharedValues } from '../handler/shared-values.ts'
import type {
  CalleeOutcome,
  EndWaitAnswer,
  EndWaitRequest,
  SettledWait,
  SuspendRequest,
} from '../handler/wait-port.ts'
import { LONGEST_REST_MS } from '../handler/wait-port.ts'
import type { WorkerEvents } from '../worker-events.ts'
import { AttemptStreams } from './attempt-streams.ts'
import { AttemptWaits } from './attempt-waits.ts'
import { leaseEnd } from './lease-end.ts'
import { promisedEffects } from './promised-effects.ts'
import { ReconcileFailed } from './reconcile-failed.ts'
import type { HeldLease, LeaseHolder, LeaseKeeper } from './lease-keeper.ts'
import type { OthersParts } from './tell-others.ts'
import { tellOthers } from './tell-others.ts'
import { TimeLimit } from './time-limit.ts'

export interface AttemptParts extends OthersParts {
  readonly store: Store
  readonly keeper: LeaseKeeper
  readonly timing: Timing
  readonly executor: Executor
  /** What segments that run in this thread have in common. */
  readonly shared: SharedValues
  readonly artifacts: ArtifactPlace
  /** Of the engine, for children whose definitions do not say all; null: it has none. */
  readonly defaults: SubmitDefaults | null
  readonly workerEvents: WorkerEvents
  /** Called when the lease of an attempt is lost that waits: it must not begin. */
  readonly onLostWaiting: (attempt: Attempt) => void
  /** Called once an attempt, when its handler has ended: another may run while this one reports. */
  readonly onHandled: () => void
  /** Called once an attempt that ran, last of all. */
  readonly onOver: (attempt: Attempt) => void
  /** Told of errors that no caller waits for. */
  readonly onError: (error: Error) => void
}

export class Attempt implements HandlerPort, LeaseHolder {
  readonly claimed: Claimed
  /** When its claim was sent. */
  readonly askedAt: number
  readonly #parts: AttemptParts
  readonly #definition: Runnable
  readonly #address: LeaseAddress
  readonly #abortHandle: AbortHandle
  readonly #held: HeldLease
  /** Of the handler; null: it was not called. */
  #limit: TimeLimit | null = null
  /** Null: its handler emitted nothing. */
  #streams: AttemptStreams | null = null
  /** Null: its handler never waited. */
  #waits: AttemptWaits | null = null
  #hasBegun = false
  #isDead = false
  #isHandled = false
  /** It was answered that the task is over: committed, with every effect finished. */
  #isTaskOver = false
  /** The worker has no time left, whatever else stopped the handler before. */
  #isShutDown = false

  constructor(
    parts: AttemptParts,
    definition: Runnable,
    claimed: Claimed,
    worker: string,
    askedAt: number,
  ) {
    const { job, stage, segment, lease, leaseMs, isStarted } = claimed
    this.#parts = parts
    this.#definition = definition
    this.claimed = claimed
    this.askedAt = askedAt
    this.#address = { job, stage, segment, lease, worker }
    this.#abortHandle = new AbortHandle(job)
    const { afterMs } = definition.stalled
    this.#held = parts.keeper.keep(this.#address, leaseMs, askedAt, afterMs, isStarted, this)
  }

  stop(reason: AbortReason): void {
    if (reason === 'shutdown') this.#isShutDown = true
    this.#abortHandle.stop(reason)
  }

  /** As if its process had died: nothing is reported any more. */
  die(): void {
    this.#isDead = true
    if (!this.#hasBegun) this.#dropLease()
    this.#abortHandle.stop('lease-lost')
  }

  /** INSTEAD of `run`: it costs nothing, and another worker may have the task. */
  async giveBack(): Promise<void> {
    // BEFORE the lease is released: an extension that comes later would be refused on record.
    this.#dropLease()
    await this.#reportUntilAnswered({ type: 'ReleaseLease' })
  }

  /** Never throws. */
  async run(): Promise<void> {
    const { keeper, onError } = this.#parts
    const { commit } = this.claimed
    this.#hasBegun = true
    try {
      if (this.#held.confirming !== null && !(await this.#isConfirmed(this.#held.confirming)))
        return
      keeper.begin(this.#held)
      if (commit === null) await this.#runAndCommit()
      else this.#isTaskOver = await this.#finishEffects(commit.unfinished)
    } catch (error) {
      // The store could not answer. The lease will run out, and the log says what holds.
      onError(error as Error)
    } finally {
      this.#dropLease()
      this.#endHandler()
      tellOthers(this.#parts, this.claimed, this.#isTaskOver)
      this.#parts.onOver(this)
    }
  }

  /** The answer to its claim took long: whether the lease is still held, and the worker goes on. */
  async #isConfirmed(confirming: Promise<boolean>): Promise<boolean> {
    if (!(await confirming)) return false
    const { reason } = this.#abortHandle
    if (reason !== null) await this.#reportStop(reason)
    return reason === null
  }

  #newLimit(): TimeLimit {
    return new TimeLimit(this.#parts.timing, this.claimed.timeoutMs)
  }

  #endHandler(): void {
    if (this.#isHandled) return
    this.#isHandled = true
    this.#parts.onHandled()
  }

  /** Stops extending the lease. */
  #dropLease(): void {
    this.#parts.keeper.drop(this.#held)
    if (this.#held.isSilent) this.#parts.workerEvents.notStalled(this.#address)
  }

  /** The handler said something: it goes on. */
  heard(): void {
    const { keeper, workerEvents } = this.#parts
    if (this.#abortHandle.reason !== null) return
    if (keeper.heard(this.#held)) workerEvents.notStalled(this.#address)
  }

  /** The handler said nothing for too long: its definition says what is done. */
  fellSilent(): void {
    const { job, stage, segment, worker } = this.#address
    const { type, attempt } = this.claimed
    const { recover: isRecovered } = this.#definition.stalled
    const { heardAt: since } = this.#held
    this.#parts.workerEvents.stalled({
      job,
      stage,
      segment,
      type,
      worker,
      attempt,
      since,
      isRecovered,
    })
    if (isRecovered) this.stop('stalled')
  }

  async #runAndCommit(): Promise<void> {
    const limit = (this.#limit = this.#newLimit())
    const running = this.#runHandler()
    limit.noteReturned()
    const ended = await this.#untilStopped(running, limit)
    const isCommit = typeof ended === 'object' && ended.kind === 'commit'
    const outcome = isCommit && this.#isOutOfTime() ? 'timed-out' : ended
    const hasEffects =
      typeof outcome === 'object' && outcome.kind === 'commit' && outcome.effects.length > 0
    // Effects count as the handler did: the worker has no room for another yet.
    if (!hasEffects) this.#endHandler()
    if (outcome === 'timed-out') return this.#fail(await this.#timeoutFailure(running, limit))
    if (typeof outcome === 'string') return this.#reportStop(outcome)
    if (outcome.kind === 'suspended') return
    const lost = this.#streams === null ? null : await this.#streams.flush()
    if (lost !== null && outcome.kind !== 'failure') return this.#fail(this.#failureBy(lost))
    // Either report says that the work was begun.
    this.#held.isStarted = true
    if (outcome.kind === 'failure') return this.#fail(outcome)
    if (outcome.kind === 'continue') return this.#continue(outcome.input)
    if (outcome.kind === 'died') return this.#fail(this.#failureBy(childDied(outcome)))
    const { output, effects, writes } = outcome
    const { job, stage, segment, lease, worker } = this.#address
    // Spelled out: this is what every job does, and putting objects together is slow.
    const report: Command = {
      type: 'CommitExecution',
      job,
      stage,
      segment,
      lease,
      worker,
      output,
      effects,
    }
    let answer: Answer
    try {
      answer = await (writes === null
        ? this.#sendUntilAnswered(report)
        : this.#commitWith(report, writes))
    } catch (error) {
      if (!(error instanceof WritesFailed)) throw error
      return this.#fail(this.#failureBy(error.cause))
    }
    if (answer.rejection !== null) return this.#fail(failureReport(refusal(answer.rejection)))
    if (answer.verdict !== 'committed') return
    this.#isTaskOver =
      !hasEffects || (await this.#finishEffects(promisedEffects(this.#address, effects)))
  }

  async #continue(input: Payload): Promise<void> {
    const { version: definitionVersion } = this.#definition
    const { rejection } = await this.#reportUntilAnswered({
      type: 'ContinueExecution',
      input,
      definitionVersion,
    })
    if (rejection !== null) await this.#fail(failureReport(refusal(rejection)))
  }

  /** In one transaction with writes of the user's. */
  async #commitWith(report: Command, writes: CommitWrites): Promise<Answer> {
    const { batcher, keeper } = this.#parts
    const held = this.#held
    // The transaction locks the task: an extension would wait for it, and be refused on record.
    keeper.drop(held)
    try {
      return await batcher.sendWith(report, writes)
    } finally {
      keeper.resume(held)
    }
  }

  #runHandler(): Promise<HandlerOutcome | Died> {
    const { executor, store, defaults } = this.#parts
    const request = requestOf(this.claimed, store.id ?? null, defaults)
    return executor.runJob(this.#definition, request, this, this.#abortHandle)
  }

  /** The outcome, or why the worker does not wait for it any longer: a stop, or the job's timeout. */
  #untilStopped<T>(running: Promise<T>, limit: TimeLimit): Promise<T | AbortReason> {
    const { timing } = this.#parts
    const { leftMs } = limit
    const ended = new Promise<T | AbortReason>((resolve, reject) => {
      if (this.#abortHandle.reason !== null) resolve(this.#abortHandle.reason)
      this.#abortHandle.onStop = resolve
      running.then(resolve, reject)
    })
    if (leftMs === null) return ended
    const check = (): void => {
      // What was waited in place does not count.
      if (limit.leftMs === null || limit.leftMs <= 0) return this.stop('timed-out')
      timer = timing.after(limit.leftMs, check, true)
    }
    let timer = timing.after(leftMs, check, true)
    return ended.finally(() => timer.cancel())
  }

  /** No timer fires while the event loop is blocked: whether one would have ended the handler before. */
  #isOutOfTime(): boolean {
    if (this.#limit?.isOver === true) this.stop('timed-out')
    return this.#abortHandle.reason === 'timed-out'
  }

  async record(name: string, value: Payload): Promise<Payload> {
    if (this.#isOutOfTime()) throw this.#abortHandle.aborted()
    const answer = await this.#report({
      type: 'RecordStep',
      name,
      value,
      definitionVersion: this.#definition.version,
    })
    this.heard()
    if (answer.verdict === 'committed') {
      this.#held.isStarted = true
      return String(answer.value)
    }
    if (answer.rejection !== null) throw refusal(answer.rejection)
    await this.#loseLease('cancelled')
    throw this.#abortHandle.aborted()
  }

  async suspend(request: SuspendRequest): Promise<SettledWait> {
    await this.#streams?.flush()
    return this.#ownWaits().suspend(request)
  }

  emit(name: string, value: Payload): Promise<void> {
    this.#streams ??= new AttemptStreams({
      address: this.#address,
      claimed: this.claimed,
      timing: this.#parts.timing,
      send: (command) => this.#sendUntilAnswered(command),
      heard: () => this.heard(),
      abortHandle: this.#abortHandle,
      loseLease: () => this.#loseLease('cancelled'),
    })
    return this.#streams.emit(name, value)
  }

  endWait(request: EndWaitRequest): Promise<EndWaitAnswer> {
    return this.#ownWaits().endWait(request)
  }

  get longestRestMs(): number {
    return this.#parts.timing.passesByItself === false ? 0 : LONGEST_REST_MS
  }

  rest(ms: number): Promise<void> {
    return this.#ownWaits().rest(ms)
  }

  #ownWaits(): AttemptWaits {
    const { timing, keeper, batcher } = this.#parts
    this.#waits ??= new AttemptWaits({
      address: this.#address,
      definitionVersion: this.#definition.version,
      waiting: this.claimed.waiting,
      timing,
      keeper,
      held: this.#held,
      abortHandle: this.#abortHandle,
      limit: this.#limit ?? this.#newLimit(),
      send: (commands) => this.#untilAnswered(() => batcher.sendAll(commands)),
      assertInTime: () => {
        if (this.#isOutOfTime()) throw this.#abortHandle.aborted()
      },
      heard: () => this.heard(),
      loseLease: () => this.#loseLease('cancelled'),
    })
    return this.#waits
  }

  progress(value: Payload): void {
    if (this.#abortHandle.reason !== null) return
    this.heard()
    this.#parts.workerEvents.progress(this.#address.job, value)
  }

  log(line: string): void {
    if (this.#abortHandle.reason !== null) return
    this.heard()
    this.#parts.workerEvents.log(this.#address.job, line)
  }

  async input(): Promise<Payload> {
    const { job } = this.#address
    return this.claimed.input ?? this.#found(await this.#parts.store.query({ kind: 'input', job }))
  }

  async outputs(stage: number, after: number, job = this.#address.job): Promise<OutputsPage> {
    const limit = OUTPUTS_PAGE
    return this.#found(await this.#parts.store.query({ kind: 'outputs', job, stage, after, limit }))
  }

  async callee(job: string): Promise<CalleeOutcome> {
    return this.#found(await this.#parts.store.query({ kind: 'outcome', job }))
  }

  /** A job that is gone has lost its lease: the handler must not take it for a stage without outputs. */
  #found<T>(answer: T | null): T {
    if (answer === null) throw new Aborted(this.#address.job, 'lease-lost')
    return answer
  }

  get shared(): SharedValues {
    return this.#parts.shared
  }

  get artifacts(): ArtifactPlace {
    return this.#parts.artifacts
  }

  get noWrites(): string | null {
    return this.#parts.store.executeWith === undefined ? NO_WRITES_IN_STORE : null
  }

  /** The handler was told to stop, and the worker does not wait for it. */
  async #reportStop(reason: AbortReason): Promise<void> {
    if (reason === 'shutdown') await this.#reportUntilAnswered({ type: 'ReleaseLease' })
    const silence = `Stalled: nothing was heard of it for ${this.#definition.stalled.afterMs} ms.`
    if (reason === 'stalled') await this.#revoke(silence)
  }

  /**
   * A handler that ends with a terminal error as soon as it is told to stop has the last word. Else
   * the definition is asked about the timeout itself.
   */
  async #timeoutFailure(
    running: Promise<HandlerOutcome | Died>,
    limit: TimeLimit,
  ): Promise<FailureReport> {
    const ended = await Promise.race([running, fewTurns()]).catch(() => null)
    if (ended?.kind === 'failure' && ended.failure.type === 'TERMINAL') return ended
    const timedOut = new Aborted(this.#address.job, 'timed-out')
    const { failure, retryAfter } = this.#failureBy(timedOut)
    const message = limit.explain(this.#parts.executor.endsWhatItStops)
    const { type } = failure
    return { failure: { type, code: 'TimedOut', message, stack: null }, retryAfter }
  }

  #failureBy(thrown: unknown): FailureReport {
    return failureReport(thrown, this.#definition.classify ?? undefined)
  }

  /** As if the lease had run out, but at once. It costs a retry: a job that stalls, or kills its child, must not run for ever. */
  async #revoke(why: string): Promise<void> {
    const { job, stage, segment, lease, worker: by } = this.#address
    const { isStarted } = this.#held
    // BEFORE the lease is revoked: an extension that comes later would be refused on record.
    this.#dropLease()
    const reason = why.slice(0, LIMITS.reasonChars)
    const { batcher } = this.#parts
    const isStalled = this.#abortHandle.reason === 'stalled'
    const delayMs = isStalled ? this.#definition.stalled.delayMs : null
    const revoke = { type: 'RevokeLease', job, stage, segment, lease, delayMs, by, reason } as const
    if (isStarted) await batcher.send(revoke)
    else await batcher.sendAll([{ type: 'StartExecution', ...this.#address }, revoke])
  }

  async #fail({ failure: error, retryAfter }: FailureReport): Promise<void> {
    await this.#reportUntilAnswered({ type: 'FailTask', error, ...retryAfter })
  }

  /** Whether none is left. */
  async #finishEffects(unfinished: readonly UnfinishedEffect[]): Promise<boolean> {
    for (const effect of unfinished) {
      if (effect.state === 'HELD') continue
      // A worker that may have lost the lease must not act.
      if (this.#abortHandle.reason !== null) return this.#leaveEffects()
      const next =
        effect.promise.child === null
          ? await this.#carryOut(effect)
          : await this.#submitChild(effect)
      if (next === 'stopped') return this.#leaveEffects()
      // `later`: left as it is until the lease runs out. The next worker tries again.
      if (next !== 'next') return false
    }
    return unfinished.every(({ state }) => state !== 'HELD')
  }

  /** No effect runs: a worker that shuts down gives the lease back. */
  async #leaveEffects(): Promise<false> {
    if (this.#abortHandle.reason === 'shutdown')
      await this.#reportUntilAnswered({ type: 'ReleaseLease' })
    return false
  }

  async #carryOut(effect: UnfinishedEffect): Promise<Next> {
    // Started under this very lease by another attempt, which may still run it.
    if (effect.state === 'STARTED') return 'later'
    if (effect.state === 'UNKNOWN' && !effect.promise.idempotent) {
      const found = await this.#reconcile(effect)
      if (found !== 'again') return found
    }
    const start = await this.#report({ type: 'StartEffect', effect: effect.effect })
    if (start.verdict !== 'committed') return 'over'
    this.heard()
    // The answer may have taken longer than the lease: then it does not permit the effect any more.
    if (this.#abortHandle.reason !== null) return 'later'
    const limit = this.#newLimit()
    const running = this.#runEffect(effect, 'run')
    const outcome = await this.#untilStopped(running, limit)
    return typeof outcome === 'string'
      ? this.#leaveRunning(effect, running, outcome)
      : this.#reportEffect(effect, outcome)
  }

  async #reportEffect({ effect }: UnfinishedEffect, outcome: EffectOutcome | Died): Promise<Next> {
    switch (outcome.kind) {
      case 'finished':
        await this.#reportUntilAnswered({ type: 'FinishEffect', effect })
        this.heard()
        return 'next'
      case 'failure':
        await this.#reportUntilAnswered({
          type: 'FailEffect',
          effect,
          error: outcome.failure,
          delayMs: outcome.retryAfter?.delayMs ?? null,
        })
        return 'over'
      case 'died':
        // Whether it happened is not known: as if the lease had run out, but at once.
        await this.#revoke(outcome.why)
        return 'over'
      case 'reconciled':
        return 'later'
    }
  }

  /**
   * An effect runs, and the worker must stop, or it took too long, or the lease is lost. An executor
   * with children ends it, and the lease is revoked. In this thread it cannot be ended, and no other
   * worker may have the task while it runs: the lease is left to run out. An effect that finishes,
   * before or later, is reported all the same: this worker knows that it happened.
   */
  async #leaveRunning(
    effect: UnfinishedEffect,
    running: Promise<EffectOutcome | Died>,
    reason: AbortReason,
  ): Promise<Next> {
    const { executor } = this.#parts
    this.#dropLease()
    if (!executor.endsWhatItStops) {
      void this.#finishLate(effect, running)
      return 'over'
    }
    const outcome = await running
    if (outcome.kind === 'finished') await this.#finishLate(effect, running)
    else if (REVOKING.has(reason)) await this.#revoke(`An effect was ended: ${reason}.`)
    return 'over'
  }

  async #finishLate(
    { effect }: UnfinishedEffect,
    running: Promise<EffectOutcome | Died>,
  ): Promise<void> {
    const { kind } = await running
    if (kind !== 'finished' || this.#isDead) return
    // If the store does not answer, the next lease will find out.
    await this.#report({ type: 'FinishEffect', effect }).catch(() => undefined)
    tellOthers(this.#parts, this.claimed, false)
  }

  /** Asks the user's code whether an effect happened that was started by a worker now gone. */
  async #reconcile(effect: UnfinishedEffect): Promise<Next | 'again'> {
    const asked = await this.#untilStopped(this.#runEffect(effect, 'reconcile'), this.#newLimit())
    if (typeof asked === 'string') return 'stopped'
    if (asked.kind !== 'reconciled') {
      const error = new ReconcileFailed(this.#address.job, effect, asked)
      // No entry says that asking failed, so it is logged.
      this.#parts.workerEvents.log(this.#address.job, error.message)
      this.#parts.onError(error)
      return 'later'
    }
    const { job, stage, segment, worker: by } = this.#address
    const { verdict } = await this.#parts.batcher.send({
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
    const { type, stageName: stage, metadata } = this.claimed
    const request = { name, ask, input, key, fence, job: { id, type }, stage, metadata }
    const { executor, artifacts } = this.#parts
    return executor.runEffect(this.#definition, request, artifacts, this.#abortHandle)
  }

  /** The store carries it out itself, in one batch, so its outcome is never unknown. */
  async #submitChild({ effect, promise }: UnfinishedEffect): Promise<'next' | 'over'> {
    const { job, stage, segment } = this.#address
    const parent = { job, stage, segment, effect }
    const spec = { ...promise.child, parent } as Extract<Command, { type: 'SubmitJob' }>['spec']
    const [start, submit, finish] = (await this.#parts.batcher.sendAll([
      { type: 'StartEffect', ...this.#address, effect },
      { type: 'SubmitJob', job: childId(parent), spec },
      { type: 'FinishEffect', ...this.#address, effect },
    ])) as [Answer, Answer, Answer]
    if (finish.verdict === 'committed') return 'next'
    if (start.verdict === 'committed' && submit.rejection !== null) {
      // It will be refused again: that is for a person to look at.
      const error: Failure = { ...failureOf(refusal(submit.rejection)), type: 'TERMINAL' }
      await this.#reportUntilAnswered({ type: 'FailEffect', effect, error })
    }
    return 'over'
  }

  lost(why: 'cancelled' | 'lease-lost'): void {
    if (!this.#hasBegun) return this.#parts.onLostWaiting(this)
    void this.#loseLease(why)
  }

  async #loseLease(why: 'cancelled' | 'lease-lost'): Promise<void> {
    if (why === 'lease-lost') return this.#abortHandle.stop(why)
    const { reason, by } = await leaseEnd(this.#parts.store, this.#address)
    this.#abortHandle.stop(reason, by)
  }

  #report(report: LeaseReport): Promise<Answer> {
    return this.#parts.batcher.send({ ...this.#address, ...report })
  }

  #reportUntilAnswered(report: LeaseReport): Promise<Answer> {
    return this.#sendUntilAnswered({ ...this.#address, ...report })
  }

  #sendUntilAnswered(report: Command): Promise<Answer> {
    return this.#untilAnswered(() => this.#parts.batcher.send(report))
  }

  /**
   * A report that ends something: sent again while the store cannot take it, until the lease is
   * lost or the worker must end. Then the lease runs out, and the log says what holds.
   */
  async #untilAnswered<T>(send: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await send()
      } catch (error) {
        const mayTryAgain = error instanceof PawlError && error.kind === 'retryable'
        if (!mayTryAgain || this.#parts.keeper.isLost(this.#held)) throw error
        if (this.#isShutDown) throw error
      }
      await new Promise<void>((resolve) => {
        this.#parts.timing.after(RESEND_MS, resolve, true)
      })
    }
  }
}

/** Enough for a handler in this thread that does nothing else once its signal is aborted. */
async function fewTurns(): Promise<null> {
  for (let turn = 0; turn < 3; turn++) await eventLoopTurn()
  return null
}

/** Outputs that are read at once. */
const OUTPUTS_PAGE = 256

/** Between two tries of a report, while the disk is full. */
const RESEND_MS = 250

/** The worker still holds the lease, and revokes it. */
const REVOKING: ReadonlySet<AbortReason> = new Set<AbortReason>([
  'timed-out',
  'shutdown',
  'stalled',
])

/** After an effect: `later` when its outcome is not known yet. */
type Next = 'next' | 'over' | 'later' | 'stopped'

/** A report without the address of its lease. */
type LeaseReport = Command extends infer C
  ? C extends LeaseAddress & { readonly type: string }
    ? Omit<C, keyof LeaseAddress>
    : never
  : never

const NO_WRITES_IN_STORE =
  'commit(…).with() needs a database: this store has no transaction that you could write in. Open SQLite or PostgreSQL, or write in an effect. In a test: testEngine({ transaction: (run) => run(client) }).'
