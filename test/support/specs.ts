/**
 * Short ways to write specs, policies and promises in tests. Everything has a default.
 */
import type {
  EffectPromise,
  Failure,
  JobSpec,
  RetryPolicy,
  StageSpec,
  TaskPolicy,
} from '../../src/kernel/index.ts'
import { DEFAULT_RETRY } from '../../src/kernel/index.ts'

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

/** Who did it, and why, where a test does not care. */
export const onRecord = { by: 'ops', reason: 'because' }

export function failure(changes: Partial<Failure> = {}): Failure {
  return { type: 'RETRYABLE', code: 'E', message: 'it did not work', stack: null, ...changes }
}
