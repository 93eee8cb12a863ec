/**
 * Guards: what must hold before an entry may be written, as named data.
 *
 * Each command has a list of them (see `rules/`). They are checked in order, the first that
 * says no names itself in the rejection, and a test can leave any one out. A guard is either
 * - safety: without it some invariant breaks, and the explorer shows how; or
 * - validation: a size, a name, a thing that must exist.
 *
 * A guard reads; it never changes anything and never throws.
 */
import type { Rejection } from './answers.ts'
import { reject } from './answers.ts'
import { findLease } from './apply.ts'
import type { LeaseAddress, TaskAddress } from './commands.ts'
import type { Tallies } from './derive.ts'
import { NO_TALLIES } from './derive.ts'
import type {
  Job,
  JobState,
  Lease,
  LimitUse,
  Payload,
  Queue,
  Schedule,
  Task,
  Usage,
} from './model.ts'
import { taskName } from './model.ts'

/**
 * What `decide` may look at. The store loads it, and keeps locked what could still change.
 * Which command needs what: `loadReads` in `reads.ts`. Null: there is none, or it is not needed.
 */
export interface Reads {
  job: Job | null
  task: Task | null
  /** A pipeline's tasks, counted. */
  tallies: Tallies
  queue: Queue | null
  queueUsage: Usage | null
  /** Those of the task that a grant has to pass. */
  limits: readonly LimitUse[]
  schedule: Schedule | null
  /** The job that holds the key of a submit. */
  keyHolder: Job | null
  keyHolderIsFinal: boolean
  /** The task whose commit promised this job. */
  parent: Task | null
  /** The task whose wait this job answers. */
  caller: Task | null
  /** The job that answers a wait, and its state. */
  callee: Job | null
  calleeState: JobState | null
  /** The job that the effect or tick in question stands for was submitted. */
  originSubmitted: boolean
  /** The value that `each` names: the job's input, or the output of an earlier stage's only task. */
  eachSource: Payload | null
}

export const NO_LIMITS: readonly LimitUse[] = []

export function noReads(): Reads {
  return {
    job: null,
    task: null,
    tallies: NO_TALLIES,
    queue: null,
    queueUsage: null,
    limits: NO_LIMITS,
    schedule: null,
    keyHolder: null,
    keyHolderIsFinal: false,
    parent: null,
    caller: null,
    callee: null,
    calleeState: null,
    originSubmitted: false,
    eachSource: null,
  }
}

/** Said by a guard when a worker reports without authority: answered `cancelled`, not `rejected`. */
export const REFUSED = 'refused'

export interface Guard<C> {
  readonly name: string
  readonly kind: 'safety' | 'validation'
  /** What holds when the guard lets through: one sentence for people. */
  readonly holds: string
  readonly check: (command: C, reads: Reads, now: number) => Rejection | typeof REFUSED | null
}

export function safety<C>(name: string, holds: string, check: Guard<C>['check']): Guard<C> {
  return { name, kind: 'safety', holds, check }
}

export function validation<C>(name: string, holds: string, check: Guard<C>['check']): Guard<C> {
  return { name, kind: 'validation', holds, check }
}

/** The task that a command names. Only for use after `taskKnown`. */
export function theTask(reads: Reads): Task {
  return reads.task as Task
}

/** The job that a command names. Only for use after `jobKnown`. */
export function theJob(reads: Reads): Job {
  return reads.job as Job
}

export function nameOf(at: TaskAddress): string {
  return taskName(at.job, at.stage, at.segment)
}

export const jobKnown: Guard<{ readonly job: string }> = validation(
  'job-known',
  'The job exists.',
  (command, reads) =>
    reads.job === null
      ? reject(
          'UnknownJob',
          `There is no job ${command.job}: check the id; it may have been forgotten.`,
          {
            job: command.job,
          },
        )
      : null,
)

export const taskKnown: Guard<TaskAddress> = validation(
  'task-known',
  'The task exists.',
  (command, reads) =>
    reads.task === null
      ? reject(
          'UnknownTask',
          `There is no task ${nameOf(command)}: its job is unknown or forgotten, or the stage is not open.`,
          { job: command.job, stage: command.stage, segment: command.segment },
        )
      : null,
)

export const leaseKnown: Guard<TaskAddress & { readonly lease: number }> = validation(
  'lease-known',
  'The lease number was granted.',
  (command, reads) => {
    const { attempt } = theTask(reads)
    return command.lease >= 1 && command.lease <= attempt
      ? null
      : reject(
          'UnknownLease',
          `Lease ${command.lease} of task ${nameOf(command)} was never granted; the newest is ${attempt}.`,
          { lease: command.lease, newest: attempt },
        )
  },
)

/**
 * Lease numbers start again when a forgotten job's id is used again. The worker's name keeps
 * a report of the old life from being taken for one of the new.
 */
export const leaseHolder: Guard<LeaseAddress> = safety(
  'lease-holder',
  'The report comes from the worker that was given the lease.',
  (command, reads) => {
    const lease = findLease(theTask(reads), command.lease)
    return lease === undefined || lease.worker === command.worker
      ? null
      : reject(
          'NotLeaseHolder',
          `Lease ${command.lease} of task ${nameOf(command)} was given to ${lease.worker}, not to ${command.worker}.`,
          { holder: lease.worker, worker: command.worker },
        )
  },
)

export const leaseHeld: Guard<LeaseAddress> = safety(
  'lease-held',
  'The lease is the one that the task holds.',
  (command, reads) => (theTask(reads).lease?.number === command.lease ? null : REFUSED),
)

/** Written or not: a lease is over when its time is. */
export const leaseUnexpired: Guard<LeaseAddress> = safety(
  'lease-unexpired',
  'The time of the lease is not over.',
  (command, reads, now) => {
    const lease = findLease(theTask(reads), command.lease)
    return lease !== undefined && now < lease.expiresAt ? null : REFUSED
  },
)

/** In this order every report is checked. */
export const CURRENT_LEASE: readonly Guard<LeaseAddress>[] = [
  taskKnown,
  leaseKnown,
  leaseHolder,
  leaseHeld,
  leaseUnexpired,
]

export const beforeCommit: Guard<TaskAddress> = safety(
  'before-commit',
  'The execution is not committed.',
  (command, reads) =>
    theTask(reads).commit === null
      ? null
      : reject(
          'AlreadyCommitted',
          `Task ${nameOf(command)} is committed: it is only finished from here, never redone or undone.`,
          { lease: theTask(reads).commit?.lease },
        ),
)

/** A worker of an older deployment does not know what its successor's steps and waits mean. */
export const definitionNotOlder: Guard<TaskAddress & { readonly definitionVersion: number }> =
  safety(
    'definition-not-older',
    'No newer version of the definition recorded a step or a wait.',
    (command, reads) => {
      const { definitionVersion } = theTask(reads)
      return command.definitionVersion >= definitionVersion
        ? null
        : reject(
            'NewerDefinition',
            `Version ${definitionVersion} of the definition recorded steps or waits of task ${nameOf(command)}, and this worker runs version ${command.definitionVersion}: give it back to a newer one.`,
            { definitionVersion },
          )
    },
  )

/** The lease that a report speaks of, if the worker was given it and it is still remembered. */
export function reportedLease(command: LeaseAddress, reads: Reads): Lease | null {
  if (reads.task === null) return null
  const lease = findLease(reads.task, command.lease)
  return lease !== undefined && lease.worker === command.worker ? lease : null
}
