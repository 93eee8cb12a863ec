/**
 * Short ways to write specs, policies and promises in tests. Everything has a default.
 */
import type {
  CallerRef,
  EffectPromise,
  Failure,
  JobSpec,
  RetryPolicy,
  StageSpec,
  TaskPolicy,
  WaitSpec,
} from '../kernel/index.ts'
import { DEFAULT_RETRY } from '../kernel/index.ts'

export function retry(changes: Partial<RetryPolicy> = {}): RetryPolicy {
  return { ...DEFAULT_RETRY, ...changes }
}

export function policy(changes: Partial<TaskPolicy> = {}): TaskPolicy {
  return {
    queue: 'default',
    leaseMs: 30_000,
    timeoutMs: null,
    retry: DEFAULT_RETRY,
    quarantine: 'always',
    limits: [],
    ...changes,
  }
}

function base(changes: Partial<JobSpec>): JobSpec {
  return {
    type: 'test',
    version: 1,
    input: '{}',
    priority: 0,
    delayMs: 0,
    dueAt: null,
    startWithinMs: null,
    deadlineMs: null,
    deadlineAt: null,
    key: null,
    unique: false,
    held: false,
    group: null,
    tags: [],
    parent: null,
    schedule: null,
    rerunOf: null,
    asked: null,
    submittedBy: null,
    metadata: null,
    caller: null,
    steps: [],
    retainMs: null,
    policy: null,
    stages: null,
    ...changes,
  }
}

/** A plain job: `plain({ priority: 5 }, { leaseMs: 10 })`. */
export function plain(changes: Partial<JobSpec> = {}, task: Partial<TaskPolicy> = {}): JobSpec {
  return base({ policy: policy(task), ...changes })
}

export function stage(name: string, changes: Partial<StageSpec> = {}): StageSpec {
  return {
    name,
    after: [],
    each: null,
    onFailure: false,
    tolerate: 0,
    version: 1,
    policy: policy(),
    ...changes,
  }
}

export function pipeline(stages: readonly StageSpec[], changes: Partial<JobSpec> = {}): JobSpec {
  return base({ stages, ...changes })
}

export function promise(changes: Partial<EffectPromise> = {}): EffectPromise {
  return {
    name: 'effect',
    input: '{}',
    idempotent: false,
    reconcile: false,
    retry: DEFAULT_RETRY,
    child: null,
    ...changes,
  }
}

/** A promised child job. */
export function child(spec: JobSpec): EffectPromise {
  return promise({ name: 'child', idempotent: true, child: spec })
}

/** The caller of a job, as far as a test does not care. */
export function caller(changes: Partial<CallerRef> = {}): CallerRef {
  return {
    job: 'a',
    stage: 0,
    segment: 0,
    name: 'call',
    run: '1',
    depth: 1,
    withCaller: false,
    ...changes,
  }
}

/** A wait for the end of a job. */
export function call(ref: Partial<CallerRef> = {}, spec: JobSpec = plain()): WaitSpec {
  const own = caller(ref)
  return {
    name: own.name,
    message: null,
    schema: null,
    ask: null,
    delayMs: null,
    dueAt: null,
    callee: { ...spec, caller: own },
  }
}

/** Who did it, and why, where a test does not care. */
export const onRecord = { by: 'ops', reason: 'because' }

export function failure(changes: Partial<Failure> = {}): Failure {
  return { type: 'RETRYABLE', code: 'E', message: 'it did not work', stack: null, ...changes }
}
