/**
 * The store's own copy of a command, so that a caller may go on changing what it gave.
 *
 * Most commands hold nothing but text and numbers, and an entry copies those. What a record
 * keeps as it was given (a spec, an error, promises) is copied here. Policies are the same for
 * thousands of jobs, so equal ones become one.
 */
import type { Command, JobSpec, TaskPolicy } from '../kernel/index.ts'
import { sameContent } from '../kernel/index.ts'

/** Beyond this many kinds of policy the oldest are looked for no more. */
const MOST_POLICIES = 64

export class OwnCommands {
  /** Newest first, by queue. */
  readonly #policies = new Map<string, TaskPolicy[]>()

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
        return countFields(command) === SUBMIT_FIELDS && this.#isPlain(command.spec)
          ? { type: 'SubmitJob', job: command.job, spec: this.#plainSpec(command.spec) }
          : structuredClone(command)
      case 'CommitExecution':
        return command.effects?.length === 0 ? command : structuredClone(command)
      case 'GrantLease':
      case 'StartExecution':
      case 'ExtendLease':
      case 'ExpireLease':
        return command
      default:
        return structuredClone(command)
    }
  }

  /** Exactly the fields of a plain job's spec, so that a copy by hand loses nothing. */
  #isPlain(spec: JobSpec): boolean {
    if (typeof spec !== 'object' || spec === null || spec.stages !== null) return false
    if (typeof spec.policy !== 'object' || spec.policy === null) return false
    let fields = 0
    for (const field in spec) {
      if (!SPEC_FIELDS.has(field)) return false
      fields += 1
    }
    return fields === SPEC_FIELDS.size
  }

  #plainSpec(spec: JobSpec): JobSpec {
    return {
      type: spec.type,
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
      policy: this.#policy(spec.policy as TaskPolicy),
      stages: null,
    }
  }

  #policy(policy: TaskPolicy): TaskPolicy {
    let known = this.#policies.get(policy.queue)
    if (known === undefined) {
      if (this.#policies.size >= MOST_POLICIES) this.#policies.clear()
      this.#policies.set(policy.queue, (known = []))
    }
    for (const one of known) if (samePolicy(one, policy)) return one
    const own = structuredClone(policy)
    known.unshift(own)
    if (known.length > MOST_POLICIES) known.pop()
    return own
  }
}

/** Nearly all policies are as simple as this looks for; the others are compared whole. */
function samePolicy(own: TaskPolicy, given: TaskPolicy): boolean {
  const { retry, limits } = own
  const other = given.retry
  const isSimple =
    limits.length === 0 &&
    retry.delaysMs.length === 0 &&
    Array.isArray(given.limits) &&
    typeof other === 'object' &&
    other !== null &&
    Array.isArray(other.delaysMs)
  if (!isSimple) return sameContent(own, given)
  return (
    own.leaseMs === given.leaseMs &&
    own.timeoutMs === given.timeoutMs &&
    own.quarantine === given.quarantine &&
    given.limits.length === 0 &&
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

function countFields(value: object): number {
  let fields = 0
  for (const _ in value) fields += 1
  return fields
}

const SUBMIT_FIELDS = 3
const POLICY_FIELDS = 6
const RETRY_FIELDS = 6

const NO_TAGS: readonly string[] = Object.freeze([])

const SPEC_FIELDS: ReadonlySet<string> = new Set<keyof JobSpec>([
  'type',
  'input',
  'priority',
  'delayMs',
  'dueAt',
  'startWithinMs',
  'key',
  'unique',
  'held',
  'group',
  'tags',
  'parent',
  'schedule',
  'rerunOf',
  'policy',
  'stages',
])
