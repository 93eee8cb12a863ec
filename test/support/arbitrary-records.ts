/** Arbitrary records: jobs with their tasks, queues, schedules. More than `apply` would make. */
import * as fc from 'fast-check'
import type {
  Commit,
  Effect,
  Intervention,
  Job,
  JobSpec,
  Lease,
  Queue,
  Replaced,
  Resolution,
  Schedule,
  StageTasks,
  Step,
  Task,
  TaskStream,
} from '../../src/kernel/index.ts'
import { deadlineOf, NONE, NOT_OPENED, policyOf } from '../../src/kernel/index.ts'
import {
  anyCount,
  anyFailure,
  anyFlag,
  anyPipelineSpec,
  anyPlainSpec,
  anyPromise,
  anyRate,
  anyText,
  anyTime,
  orNull,
} from './arbitrary-specs.ts'
import { anyKeptMessage, anyWaiting } from './arbitrary-waits.ts'

const PLAIN = { noNullPrototype: true } as const

/** An empty list is always the shared one. */
function listOf<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.array(arbitrary, { maxLength: 3 }).map((list) => (list.length === 0 ? NONE : list))
}

const anyState = fc.constantFrom<Task['state']>('WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD')

const anyLease: fc.Arbitrary<Lease> = fc
  .record<Lease>(
    {
      number: anyCount,
      worker: anyText,
      request: anyCount,
      session: anyText,
      queue: anyText,
      grantedAt: anyTime,
      expiresAt: anyTime,
      extension: anyCount,
      startedAt: orNull(anyTime),
      endedAt: orNull(anyTime),
      endedBy: orNull(
        fc.constantFrom<NonNullable<Lease['endedBy']>>(
          'ExecutionCommitted',
          'TaskFailed',
          'LeaseReleased',
          'LeaseExpired',
          'LeaseRevoked',
          'EffectFinished',
          'EffectFailed',
          'EffectResolved',
          'JobCancelled',
          'TaskStopped',
          'TaskForced',
          'ExecutionSuspended',
          'ExecutionContinued',
        ),
      ),
      endedByEffect: orNull(anyCount),
      refused: anyFlag,
    },
    PLAIN,
  )
  .chain((lease) => fc.constantFrom(lease, { ...lease, startedAt: lease.grantedAt, extension: 0 }))

const anyStep: fc.Arbitrary<Step> = fc.record<Step>(
  { name: anyText, value: anyText, lease: anyCount },
  PLAIN,
)

const anyResolution: fc.Arbitrary<Resolution> = fc.record<Resolution>(
  {
    start: anyCount,
    outcome: fc.constantFrom('happened', 'again'),
    at: anyTime,
    by: anyText,
    reason: anyText,
  },
  PLAIN,
)

const anyEffect: fc.Arbitrary<Effect> = fc.record<Effect>(
  {
    promise: anyPromise,
    state: fc.constantFrom('PROMISED', 'STARTED', 'UNKNOWN', 'HELD', 'FINISHED'),
    starts: listOf(anyCount),
    retries: anyCount,
    budget: anyCount,
    error: orNull(anyFailure),
    resolutions: listOf(anyResolution),
  },
  PLAIN,
)

const anyCommit: fc.Arbitrary<Commit> = fc.record<Commit>(
  { lease: anyCount, at: anyTime, effects: listOf(anyEffect) },
  PLAIN,
)

const anyIntervention: fc.Arbitrary<Intervention> = fc.record<Intervention>(
  {
    kind: fc.constantFrom('retry', 'force'),
    attempt: anyCount,
    to: anyState,
    payload: orNull(anyText),
    at: anyTime,
    by: anyText,
    reason: anyText,
  },
  PLAIN,
)

const anyStream: fc.Arbitrary<TaskStream> = fc.record<TaskStream>(
  { name: anyText, next: anyCount, lease: anyCount, since: anyCount },
  PLAIN,
)

const anyReplaced: fc.Arbitrary<Replaced> = fc.record<Replaced>(
  { ids: listOf(anyText), at: anyTime, input: anyText, definitionVersion: anyCount },
  PLAIN,
)

function anyTask(job: string, spec: JobSpec, stage: number, segment: number): fc.Arbitrary<Task> {
  return fc
    .record<Task & { held: boolean }>(
      {
        job: fc.constant(job),
        stage: fc.constant(stage),
        segment: fc.constant(segment),
        policy: fc.oneof(
          fc.constant(policyOf(spec, stage)),
          anyText.map((queue) => ({ ...policyOf(spec, stage), queue })),
        ),
        priority: fc.oneof(fc.constant(spec.priority), fc.integer({ min: -1_000, max: 1_000 })),
        version: fc.oneof(fc.constant(1), anyCount),
        time: anyTime,
        state: anyState,
        dueAt: anyTime,
        startBy: orNull(anyTime),
        attempt: anyCount,
        retries: anyCount,
        budget: fc.oneof(fc.constant(policyOf(spec, stage).retry.max), anyCount),
        snoozes: anyCount,
        lease: fc.constant(null),
        leases: listOf(anyLease),
        steps: listOf(anyStep),
        commit: orNull(anyCommit),
        output: orNull(anyText),
        error: orNull(anyFailure),
        input: orNull(anyText),
        interventions: listOf(anyIntervention),
        endedAt: orNull(anyTime),
        definitionVersion: fc.oneof(fc.constant(0), anyCount),
        waiting: orNull(anyWaiting),
        streams: listOf(anyStream),
        held: anyFlag,
      },
      PLAIN,
    )
    .map(({ held, ...task }) => {
      if (held) task.lease = task.leases.at(-1) ?? null
      return task
    })
}

/** A job, and the tasks of its stages if it is a pipeline. */
export interface AnyJob {
  readonly job: Job
  readonly stages: StageTasks | null
}

function anyJobOf(id: string, spec: JobSpec): fc.Arbitrary<AnyJob> {
  const stages =
    spec.stages === null
      ? fc.constant(null)
      : fc.tuple(
          ...spec.stages.map((_, stage) =>
            orNull(fc.nat(3)).chain((segments) =>
              segments === null
                ? fc.constant(null)
                : fc.tuple(
                    ...Array.from({ length: segments }, (__, i) => anyTask(id, spec, stage, i)),
                  ),
            ),
          ),
        )
  const task = spec.policy === null ? fc.constant(null) : anyTask(id, spec, 0, 0)
  const job = fc.record<Job>(
    {
      id: fc.constant(id),
      spec: fc.constant(spec),
      version: fc.oneof(fc.constant(1), anyCount),
      time: anyTime,
      submittedAt: anyTime,
      dueAt: anyTime,
      deadlineAt: fc.constant(null),
      held: anyFlag,
      cancelled: orNull(
        fc.record({ at: anyTime, by: anyText, reason: anyText, deadline: anyFlag }, PLAIN),
      ),
      erased: orNull(
        fc.record({ at: anyTime, by: anyText, reason: anyText, timeBefore: anyTime }, PLAIN),
      ),
      opened: fc.constant(null),
      task,
      messages: listOf(anyKeptMessage),
      replaced: orNull(anyReplaced),
      firstPosition: anyCount,
      lastPosition: anyCount,
    },
    PLAIN,
  )
  return fc.tuple(job, stages).map(([made, tasks]) => {
    const since = made.replaced?.at ?? made.submittedAt
    const record = { ...made, deadlineAt: deadlineOf(spec, since) }
    record.opened = tasks?.map((list) => list?.length ?? NOT_OPENED) ?? null
    return { job: record, stages: tasks }
  })
}

export const anyJob: fc.Arbitrary<AnyJob> = fc
  .tuple(anyText, fc.oneof(anyPlainSpec, anyPipelineSpec))
  .chain(([id, spec]) => anyJobOf(id, spec))

export const anyQueue: fc.Arbitrary<Queue> = fc.record<Queue>(
  {
    name: anyText,
    version: anyCount,
    time: anyTime,
    paused: anyFlag,
    pausedAt: anyTime,
    pausedBy: orNull(anyText),
    pauseReason: orNull(anyText),
    concurrency: orNull(anyCount),
    rate: orNull(anyRate),
    ageingMs: orNull(anyCount),
  },
  PLAIN,
)

export const anySchedule: fc.Arbitrary<Schedule> = fc.record<Schedule>(
  {
    id: anyText,
    version: anyCount,
    time: anyTime,
    definition: orNull(anyText),
    firedTick: orNull(anyTime),
  },
  PLAIN,
)
