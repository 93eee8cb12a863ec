/**
 * Effects: what a commit promised, carried out after it and recorded once.
 *
 * An effect that was started and never reported on is UNKNOWN. It is started again only if
 * that is declared harmless, or once somebody said that it did not happen.
 */
import { committed, reject } from '../answers.ts'
import type {
  FailEffect,
  FinishEffect,
  LeaseAddress,
  ResolveEffect,
  StartEffect,
} from '../commands.ts'
import type { EffectFailed } from '../entries.ts'
import type { Guard, Reads } from '../guards.ts'
import {
  CURRENT_LEASE,
  leaseHolder,
  leaseKnown,
  nameOf,
  REFUSED,
  reportedLease,
  safety,
  taskKnown,
  theTask,
  validation,
} from '../guards.ts'
import type { Effect } from '../model.ts'
import { effectKey } from '../model.ts'
import { retryDelayMs } from '../retry.ts'
import { afterEffect, interrupted } from './aftermath.ts'
import type { Rule } from './rule.ts'
import { taskHead } from './rule.ts'

type EffectCommand = StartEffect | FinishEffect | FailEffect | ResolveEffect

function effectOf(command: EffectCommand, reads: Reads): Effect | undefined {
  return reads.task?.commit?.effects[command.effect]
}

/** The effect that a command names. Only for use after `effectKnown`. */
function theEffect(command: EffectCommand, reads: Reads): Effect {
  return effectOf(command, reads) as Effect
}

function keyOf(command: EffectCommand): string {
  return effectKey(command.job, command.stage, command.segment, command.effect)
}

/** The lease is one of those that started the effect. */
function startedBy(command: EffectCommand & LeaseAddress, reads: Reads): boolean {
  return effectOf(command, reads)?.starts.includes(command.lease) ?? false
}

const effectKnown: Guard<EffectCommand> = validation(
  'effect-known',
  'The task is committed and promised the effect.',
  (command, reads) => {
    if (theTask(reads).commit === null) {
      return reject(
        'NotCommitted',
        `Task ${nameOf(command)} is not committed, so it has no effects yet.`,
      )
    }
    return effectOf(command, reads) === undefined
      ? reject(
          'UnknownEffect',
          `The commit of task ${nameOf(command)} promised no effect ${command.effect}.`,
          {
            effect: command.effect,
          },
        )
      : null
  },
)

const startable: Guard<StartEffect> = safety(
  'effect-startable',
  'The effect is not finished, not running and not held.',
  (command, reads) => {
    const { state } = theEffect(command, reads)
    return state === 'PROMISED' || state === 'UNKNOWN'
      ? null
      : reject(
          'EffectNotStartable',
          `Effect ${keyOf(command)} is ${state}, so it cannot be started.`,
          {
            state,
          },
        )
  },
)

const outcomeKnown: Guard<StartEffect> = safety(
  'outcome-known',
  'An effect whose outcome is unknown is started again only if it is idempotent.',
  (command, reads) => {
    const { state, promise } = theEffect(command, reads)
    return state !== 'UNKNOWN' || promise.idempotent
      ? null
      : reject(
          'OutcomeUnknown',
          `Effect ${keyOf(command)} was started before and may have happened: reconcile it and resolve it first.`,
        )
  },
)

export const startEffect: Rule<StartEffect> = {
  // The answer is a permission to act: not given again once the lease is lost or it is done.
  repeat: (command, reads, now) => {
    const lease = reportedLease(command, reads)
    const current = lease !== null && lease.endedBy === null && now < lease.expiresAt
    const running = effectOf(command, reads)?.state === 'STARTED'
    return current && running && startedBy(command, reads) ? committed(null, null) : null
  },
  guards: [...CURRENT_LEASE, effectKnown, startable, outcomeKnown],
  entry: ({ job, stage, segment, lease, effect }, reads, now) => ({
    type: 'EffectStarted',
    at: now,
    version: theTask(reads).version + 1,
    job,
    stage,
    segment,
    lease,
    effect,
  }),
  head: taskHead,
  locksJob: false,
}

/** Who neither holds the task nor started the effect has lost the authority to speak of it. */
const mayReport: Guard<FinishEffect> = validation(
  'lease-or-starter',
  'The lease is current, or started the effect: late is fine, whoever started it knows best.',
  (command, reads, now) => {
    const { lease } = theTask(reads)
    const current = lease?.number === command.lease && now < lease.expiresAt
    return current || startedBy(command, reads) ? null : REFUSED
  },
)

const startedByLease: Guard<FinishEffect | FailEffect> = safety(
  'effect-started',
  'The effect was started under this lease.',
  (command, reads) =>
    startedBy(command, reads)
      ? null
      : reject(
          'EffectNotStarted',
          `Effect ${keyOf(command)} was not started under lease ${command.lease}.`,
        ),
)

const childSubmitted: Guard<FinishEffect> = safety(
  'child-submitted',
  'The child that the effect stands for is durably submitted.',
  (command, reads) =>
    theEffect(command, reads).promise.child === null || reads.originSubmitted
      ? null
      : reject('ChildNotSubmitted', `The child of effect ${keyOf(command)} was not submitted yet.`),
)

export const finishEffect: Rule<FinishEffect> = {
  repeat: (command, reads) =>
    reportedLease(command, reads) !== null &&
    effectOf(command, reads)?.state === 'FINISHED' &&
    startedBy(command, reads)
      ? committed(null, null)
      : null,
  guards: [
    taskKnown,
    leaseKnown,
    leaseHolder,
    mayReport,
    effectKnown,
    startedByLease,
    childSubmitted,
  ],
  entry: ({ job, stage, segment, lease, effect }, reads, now) => {
    const task = theTask(reads)
    return {
      type: 'EffectFinished',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      lease,
      effect,
      next: afterEffect(task, effect, true),
    }
  },
  head: taskHead,
  locksJob: false,
}

const notFinished: Guard<FailEffect> = safety(
  'effect-unfinished',
  'The effect is not finished.',
  (command, reads) =>
    theEffect(command, reads).state === 'FINISHED'
      ? reject('EffectFinished', `Effect ${keyOf(command)} is finished: it cannot fail any more.`)
      : null,
)

export const failEffect: Rule<FailEffect> = {
  repeat: (command, reads) => {
    const lease = reportedLease(command, reads)
    return lease?.endedBy === 'EffectFailed' && lease.endedByEffect === command.effect
      ? committed(null, null)
      : null
  },
  guards: [...CURRENT_LEASE, effectKnown, startedByLease, notFinished],
  entry: effectFailed,
  head: taskHead,
  locksJob: false,
}

/** A terminal error uses up the budget at once. Siblings under way are interrupted with it. */
function effectFailed(command: FailEffect, reads: Reads, now: number): EffectFailed {
  const { job, stage, segment, lease, effect: index, error, delayMs: ownMs = null } = command
  const task = theTask(reads)
  const effect = theEffect(command, reads)
  const again = error.type === 'RETRYABLE' && effect.retries < effect.budget
  const effectRetries = again ? effect.retries + 1 : effect.retries
  const siblings = interrupted(task, now, index)
  const delayMs = again
    ? (ownMs ?? retryDelayMs(effect.promise.retry, effectRetries, keyOf(command)))
    : 0
  return {
    type: 'EffectFailed',
    at: now,
    version: task.version + 1,
    job,
    stage,
    segment,
    lease,
    effect: index,
    error,
    to: again ? 'PROMISED' : 'HELD',
    effectRetries,
    ...siblings,
    next: again ? siblings.next : 'DEAD',
    dueAt: now + delayMs,
  }
}

const unresolved: Guard<ResolveEffect> = safety(
  'effect-unresolved',
  'The effect is held or its outcome unknown, and it is the newest start that is resolved.',
  (command, reads) => {
    const { state, starts } = theEffect(command, reads)
    const open = state === 'HELD' || state === 'UNKNOWN'
    return open && starts.at(-1) === command.start
      ? null
      : reject(
          'EffectNotUnresolved',
          `Effect ${keyOf(command)} is ${state} since its start under lease ${starts.at(-1) ?? 0}: look again, then resolve that.`,
          { state, start: starts.at(-1) ?? 0 },
        )
  },
)

/**
 * A fresh budget is a person's decision about an effect that was given up. Reconciling goes on
 * by itself, so it must not give one: an effect that kills its worker would never be held.
 */
function budgetAfter(effect: Effect, outcome: ResolveEffect['outcome']): number {
  return outcome === 'again' && effect.state === 'HELD'
    ? effect.retries + effect.promise.retry.max
    : effect.budget
}

export const resolveEffect: Rule<ResolveEffect> = {
  repeat: (command, reads) =>
    effectOf(command, reads)?.resolutions.some(
      (one) => one.start === command.start && one.outcome === command.outcome,
    ) === true
      ? committed(null, null)
      : null,
  guards: [taskKnown, effectKnown, unresolved],
  entry: ({ job, stage, segment, effect: index, start, outcome, by, reason }, reads, now) => {
    const task = theTask(reads)
    const effect = task.commit?.effects[index] as Effect
    const happened = outcome === 'happened'
    return {
      type: 'EffectResolved',
      at: now,
      version: task.version + 1,
      job,
      stage,
      segment,
      effect: index,
      start,
      outcome,
      next: afterEffect(task, index, happened),
      budget: budgetAfter(effect, outcome),
      by,
      reason,
    }
  },
  head: taskHead,
  locksJob: true,
}
