/**
 * The store's own copy of a command, so that a caller may go on changing what it gave.
 *
 * Most commands hold nothing but text and numbers, and an entry copies those. What a record
 * keeps as it was given (a spec, an error, promises) is copied here. Policies are the same for
 * thousands of jobs, so equal ones become one.
 */
import type {
  Command,
  CommitExecution,
  JobSpec,
  LimitSpec,
  SubmitJob,
  TaskPolicy,
} from '../../kernel/index.ts'
import { sameContent } from '../../kernel/index.ts'

/** Beyond this many queues, and keys of limits, they are looked for no more. */
const MOST_NAMES = 16_384
/** Of one queue or key; beyond this many the oldest are looked for no more. */
const MOST_POLICIES = 64

export class CommandCopies {
  /** Newest first, by queue if they have no limits. */
  readonly #free = new Map<string, TaskPolicy[]>()
  /** By the key of the first limit: a tenant's own has one of its own. */
  readonly #limited = new Map<string, TaskPolicy[]>()

  /** Null: it is not plain data, and no wire could carry it. */
  copy(command: Command): Command | null {
    try {
      return this.#copy(command)
    } catch {
      return null
    }
  }

  #copy(command: Command): Command {
    switch (command?.type) {
      case 'SubmitJob':
        return this.#ownSubmit(command) ?? structuredClone(command)
      case 'CommitExecution':
        return this.#ownCommit(command) ?? structuredClone(command)
      default:
        return structuredClone(command)
    }
  }

  /** Null: it is not exactly a plain job's submit, so a copy by hand might lose something. */
  #ownSubmit(command: SubmitJob): SubmitJob | null {
    const { job, spec } = command
    if (countFields(command) !== SUBMIT_FIELDS) return null
    if (typeof spec !== 'object' || spec === null || spec.stages !== null) return null
    if (typeof spec.policy !== 'object' || spec.policy === null) return null
    if (countFields(spec) !== SPEC_FIELDS) return null
    const own: JobSpec = {
      type: spec.type,
      version: spec.version,
      input: spec.input,
      priority: spec.priority,
      delayMs: spec.delayMs,
      dueAt: spec.dueAt,
      startWithinMs: spec.startWithinMs,
      key: spec.key,
      unique: spec.unique,
      held: spec.held,
      group: spec.group,
      tags: spec.tags?.length === 0 ? NO_TAGS : structuredClone(spec.tags),
      parent: spec.parent === null ? null : structuredClone(spec.parent),
      schedule: spec.schedule === null ? null : structuredClone(spec.schedule),
      rerunOf: spec.rerunOf,
      asked: spec.asked === null ? null : structuredClone(spec.asked),
      retainMs: spec.retainMs,
      policy: this.#policy(spec.policy),
      stages: null,
    }
    return isWhole(own) ? { type: 'SubmitJob', job, spec: own } : null
  }

  /** Null: it promises something, or is not exactly a commit. */
  #ownCommit(command: CommitExecution): CommitExecution | null {
    if (countFields(command) !== COMMIT_FIELDS) return null
    const { job, stage, segment, lease, worker, output, effects } = command
    if (!Array.isArray(effects) || effects.length > 0) return null
    return { type: 'CommitExecution', job, stage, segment, lease, worker, output, effects: [] }
  }

  #policy(policy: TaskPolicy): TaskPolicy {
    const key = policy.limits?.[0]?.key
    const policies = key === undefined ? this.#free : this.#limited
    const name = key ?? policy.queue
    let known = policies.get(name)
    if (known === undefined) {
      if (policies.size >= MOST_NAMES) policies.clear()
      policies.set(name, (known = []))
    }
    for (const one of known) if (samePolicy(one, policy)) return one
    const own = key === undefined ? structuredClone(policy) : this.#limitedPolicy(policy)
    known.unshift(own)
    if (known.length > MOST_POLICIES) known.pop()
    return own
  }

  /** One with limits is one without them, and its limits: ten thousand have all else in common. */
  #limitedPolicy(policy: TaskPolicy): TaskPolicy {
    const limits = ownLimits(policy.limits)
    if (limits === null) return structuredClone(policy)
    return { ...this.#policy({ ...policy, limits: [] }), limits }
  }
}

/** Nearly all policies are as simple as this looks for; the others are compared whole. */
function samePolicy(own: TaskPolicy, given: TaskPolicy): boolean {
  const { retry, limits } = own
  const other = given.retry
  const isSimple =
    retry.delaysMs.length === 0 &&
    Array.isArray(given.limits) &&
    typeof other === 'object' &&
    other !== null &&
    Array.isArray(other.delaysMs)
  if (!isSimple) return sameContent(own, given)
  return (
    own.queue === given.queue &&
    own.leaseMs === given.leaseMs &&
    own.timeoutMs === given.timeoutMs &&
    own.quarantine === given.quarantine &&
    limits.length === given.limits.length &&
    sameLimits(limits, given.limits) &&
    retry.max === other.max &&
    retry.backoff === other.backoff &&
    retry.delayMs === other.delayMs &&
    retry.capMs === other.capMs &&
    retry.jitter === other.jitter &&
    other.delaysMs.length === 0 &&
    countFields(given) === POLICY_FIELDS &&
    countFields(other) === RETRY_FIELDS
  )
}

/** Of as many. */
function sameLimits(own: readonly LimitSpec[], given: readonly LimitSpec[]): boolean {
  for (let i = 0; i < own.length; i++) {
    if (!sameLimit(own[i] as LimitSpec, given[i])) return false
  }
  return true
}

function sameLimit(own: LimitSpec, given: LimitSpec | undefined): boolean {
  if (typeof given !== 'object' || given === null) return false
  return (
    own.key === given.key &&
    own.concurrency === given.concurrency &&
    (own.rate === given.rate || sameContent(own.rate, given.rate)) &&
    countFields(given) === LIMIT_FIELDS
  )
}

/** Null: they are not exactly limits, so a copy by hand might lose something. */
function ownLimits(given: readonly LimitSpec[]): LimitSpec[] | null {
  if (!Array.isArray(given) || !given.every(isExactly)) return null
  return given.map(({ key, concurrency, rate }) => {
    return { key, concurrency, rate: rate === null ? null : structuredClone(rate) }
  })
}

function isExactly(given: LimitSpec | null): boolean {
  if (typeof given !== 'object' || given === null) return false
  return (
    typeof given.key === 'string' &&
    (given.concurrency === null || typeof given.concurrency === 'number') &&
    given.rate !== undefined &&
    countFields(given) === LIMIT_FIELDS
  )
}

/** As many fields as there should be, and none of them lacking: so there are no others. */
function isWhole(spec: JobSpec): boolean {
  return (
    spec.type !== undefined &&
    spec.version !== undefined &&
    spec.input !== undefined &&
    spec.priority !== undefined &&
    spec.delayMs !== undefined &&
    spec.dueAt !== undefined &&
    spec.startWithinMs !== undefined &&
    spec.key !== undefined &&
    spec.unique !== undefined &&
    spec.held !== undefined &&
    spec.group !== undefined &&
    spec.tags !== undefined &&
    spec.parent !== undefined &&
    spec.schedule !== undefined &&
    spec.rerunOf !== undefined &&
    spec.asked !== undefined &&
    spec.retainMs !== undefined
  )
}

function countFields(value: object): number {
  let fields = 0
  for (const _ in value) fields += 1
  return fields
}

const SUBMIT_FIELDS = 3
const COMMIT_FIELDS = 8
const SPEC_FIELDS = 19
const POLICY_FIELDS = 6
const RETRY_FIELDS = 6
const LIMIT_FIELDS = 3

const NO_TAGS: readonly string[] = Object.freeze([])
