/** Arbitrary entries of every type, in no sensible order: each could stand in some log. */
import * as fc from 'fast-check'
import type { Entry, EntryOf, EntryType, Settlement } from '../../src/kernel/index.ts'
import {
  anyCount,
  anyFailure,
  anyFlag,
  anyPromise,
  anyRate,
  anySpec,
  anyText,
  anyTime,
  orNull,
} from './arbitrary-specs.ts'
import { anyKeptMessage, anyPendingWait } from './arbitrary-waits.ts'

type Fields<T extends EntryType> = {
  readonly [F in keyof Omit<EntryOf<T>, 'type'>]: fc.Arbitrary<EntryOf<T>[F & keyof EntryOf<T>]>
}

const stamp = { at: anyTime, version: anyCount }
const ofJob = { ...stamp, job: anyText }
const ofTask = { ...ofJob, stage: anyCount, segment: anyCount }
const ofLease = { ...ofTask, lease: anyCount }
const onRecord = { by: anyText, reason: anyText }
const ofQueue = { ...stamp, queue: anyText }
const ofSchedule = { ...stamp, schedule: anyText }
const aftermath = {
  next: fc.constantFrom('WAITING' as const, 'FAILED' as const, 'DEAD' as const),
  dueAt: anyTime,
  retries: anyCount,
  settled: fc.array(
    fc.record<Settlement>(
      { effect: anyCount, to: fc.constantFrom('UNKNOWN', 'HELD'), retries: anyCount },
      { noNullPrototype: true },
    ),
    { maxLength: 3 },
  ),
}
const afterEffect = fc.constantFrom(
  'WAITING' as const,
  'LEASED' as const,
  'COMPLETED' as const,
  'DEAD' as const,
)

const FIELDS: { readonly [T in EntryType]: Fields<T> } = {
  JobSubmitted: { ...ofJob, spec: anySpec, dueAt: anyTime },
  JobReleased: { ...ofJob, ...onRecord },
  JobReplaced: {
    ...ofJob,
    replacement: anyText,
    input: anyText,
    definitionVersion: anyCount,
    dueAt: anyTime,
    ...onRecord,
  },
  StageOpened: { ...ofJob, stage: anyCount, segments: anyCount, error: orNull(anyFailure) },
  JobCancelled: { ...ofJob, deadline: anyFlag, ...onRecord },
  JobErased: { ...ofJob, ...onRecord },
  JobForgotten: ofJob,
  LeaseGranted: {
    ...ofLease,
    worker: anyText,
    request: anyCount,
    expiresAt: anyTime,
    started: anyFlag,
    session: anyText,
    timedOut: anyFlag,
  },
  ExecutionStarted: ofLease,
  LeaseExtended: { ...ofLease, extension: anyCount, expiresAt: anyTime },
  LeaseReleased: { ...ofLease, ...aftermath },
  StepRecorded: { ...ofLease, name: anyText, value: anyText, definitionVersion: anyCount },
  StreamAppended: {
    ...ofLease,
    name: anyText,
    offset: anyCount,
    values: fc.array(anyText, { maxLength: 3 }),
  },
  WaitEnded: {
    ...ofLease,
    wait: anyPendingWait,
    message: orNull(anyText),
    answer: orNull(anyText),
    unfit: fc.array(anyText, { maxLength: 3 }),
    definitionVersion: anyCount,
  },
  ExecutionSuspended: {
    ...ofLease,
    needs: fc.constantFrom('any', 'all'),
    waits: fc.array(anyPendingWait, { maxLength: 3 }),
    unfit: fc.array(anyText, { maxLength: 3 }),
    dueAt: anyTime,
    budget: anyCount,
    definitionVersion: anyCount,
  },
  ExecutionContinued: { ...ofLease, input: anyText, budget: anyCount, definitionVersion: anyCount },
  MessageSent: {
    ...ofTask,
    id: anyText,
    name: anyText,
    value: anyText,
    wait: orNull(anyText),
    dueAt: anyTime,
    ...onRecord,
  },
  MessageKept: { ...ofJob, message: anyKeptMessage },
  ExecutionCommitted: {
    ...ofLease,
    output: anyText,
    effects: fc.array(anyPromise, { maxLength: 3 }),
  },
  EffectStarted: { ...ofLease, effect: anyCount },
  EffectFinished: { ...ofLease, effect: anyCount, next: afterEffect },
  EffectFailed: {
    ...ofLease,
    effect: anyCount,
    error: anyFailure,
    to: fc.constantFrom('PROMISED', 'HELD'),
    effectRetries: anyCount,
    ...aftermath,
  },
  EffectResolved: {
    ...ofTask,
    effect: anyCount,
    start: anyCount,
    outcome: fc.constantFrom('happened', 'again'),
    next: afterEffect,
    budget: anyCount,
    ...onRecord,
  },
  TaskFailed: { ...ofLease, error: anyFailure, free: anyFlag, ...aftermath },
  LeaseExpired: { ...ofLease, diagnostic: anyText, ...aftermath },
  LeaseRevoked: {
    ...ofLease,
    extension: orNull(anyCount),
    presence: anyFlag,
    ...onRecord,
    ...aftermath,
  },
  ReportRefused: { ...ofLease, report: anyText },
  TaskStopped: { ...ofTask, reason: fc.constantFrom('ending', 'start-by') },
  TaskRetried: {
    ...ofTask,
    attempt: anyCount,
    budget: anyCount,
    input: orNull(anyText),
    ...onRecord,
  },
  TaskForced: {
    ...ofTask,
    attempt: anyCount,
    to: fc.constantFrom('COMPLETED', 'FAILED', 'WAITING'),
    budget: anyCount,
    output: orNull(anyText),
    ...onRecord,
  },
  TaskRescheduled: {
    ...ofTask,
    attempt: anyCount,
    dueAt: anyTime,
    startBy: orNull(anyTime),
    priority: fc.integer({ min: -1_000, max: 1_000 }),
    toQueue: anyText,
    ...onRecord,
  },
  QueueConfigured: {
    ...ofQueue,
    concurrency: orNull(anyCount),
    rate: orNull(anyRate),
    ageingMs: orNull(anyCount),
    ...onRecord,
  },
  QueuePaused: { ...ofQueue, ...onRecord },
  QueueResumed: { ...ofQueue, ...onRecord },
  ScheduleSet: { ...ofSchedule, definition: anyText, ...onRecord },
  ScheduleFired: { ...ofSchedule, tick: anyTime, skipped: anyFlag },
  ScheduleRemoved: { ...ofSchedule, ...onRecord },
}

export const ENTRY_TYPES = Object.keys(FIELDS) as EntryType[]

export function anyEntryOf(type: EntryType): fc.Arbitrary<Entry> {
  const fields = FIELDS[type] as Readonly<Record<string, fc.Arbitrary<unknown>>>
  return fc.record(
    { type: fc.constant(type), ...fields },
    { noNullPrototype: true },
  ) as unknown as fc.Arbitrary<Entry>
}

export const anyEntry: fc.Arbitrary<Entry> = fc.oneof(...ENTRY_TYPES.map(anyEntryOf))
