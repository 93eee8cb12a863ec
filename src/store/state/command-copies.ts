/**
 * The store's own copy of a command, so that a caller may go on changing what it gave. A command that its caller hands
 * over is not copied, as far as nothing in it can be changed from elsewhere.
 *
 * The fields of nearly all commands are text and numbers: they are copied one level deep, because
 * `structuredClone` of a whole submit takes longer than deciding it. The jobs of one type have equal
 * policies, so their copies have one in common: each waiting job would have its own in memory.
 */
import type { Command, JobSpec, SubmitJob, TaskPolicy } from '../../kernel/index.ts'
import { freezePolicy, isFrozenPolicy, isUsual, NONE, reject } from '../../kernel/index.ts'
import type { Answer } from '../store.ts'

/** Beyond this many the policies are forgotten, and copied anew. */
const MOST_POLICIES = 16_384

/** The answer to a command that is not plain data: no wire could carry it. */
export function notPlainData(): Answer {
  const rejection = reject('MalformedCommand', 'A command must be plain data.')
  rejection.check = 'well-formed'
  return { verdict: 'rejected', value: null, rejection }
}

export class CommandCopies {
  /** The newest policy of each type and, if it has limits, key of the first: a tenant has its own. */
  readonly #policies = new Map<string, TaskPolicy>()

  /** Null: it is not plain data. */
  copy(command: Command, isHandedOver = false): Command | null {
    if (isHandedOver && isKept(command)) return command
    try {
      switch (command?.type) {
        case 'SubmitJob':
          return this.#copySubmit(command)
        case 'CommitExecution':
          return copyFields({ ...command }, null)
        default:
          return structuredClone(command)
      }
    } catch {
      return null
    }
  }

  #copySubmit(command: SubmitJob): SubmitJob {
    const own: Fresh<SubmitJob> = { ...command }
    if (typeof own.spec !== 'object' || own.spec === null) return structuredClone(command)
    const spec: Fresh<JobSpec> = { ...own.spec }
    if (typeof own.job === 'string' && isOfTexts(spec))
      return { type: 'SubmitJob', job: own.job, spec }
    const { type, policy } = spec
    const hasPolicy = typeof policy === 'object' && policy !== null
    if (hasPolicy) spec.policy = this.#sharedPolicy(type, policy)
    copyFields(spec, hasPolicy ? 'policy' : null)
    own.spec = spec
    return copyFields(own, 'spec')
  }

  #sharedPolicy(type: string, policy: TaskPolicy): TaskPolicy {
    const key = policy.limits?.[0]?.key
    const name = key === undefined ? type : `${type}\n${key}`
    const known = this.#policies.get(name)
    if (known !== undefined && isSame(known, policy)) return known
    const own = isFrozenPolicy(policy) ? policy : freezePolicy(structuredClone(policy))
    if (this.#policies.size >= MOST_POLICIES) this.#policies.clear()
    this.#policies.set(name, own)
    return own
  }
}

/**
 * A command that its caller made itself and hands over: whether it is kept as it is. Policies that are not frozen are copied,
 * so that many jobs share one.
 */
function isKept(command: Command): boolean {
  if (command.type === 'SubmitJob') {
    const { policy } = command.spec
    return policy !== null && isFrozenPolicy(policy)
  }
  for (const field in command) {
    const value: unknown = command[field as keyof Command]
    if (typeof value === 'object' && value !== null && value !== NONE) return false
  }
  return true
}

/** Nothing in it can be changed. Fields that no spec has are refused, whatever is in them. */
function isOfTexts(spec: JobSpec): boolean {
  const { type, input, version, policy } = spec
  const areTexts = typeof type === 'string' && typeof input === 'string'
  return (
    areTexts &&
    typeof version === 'number' &&
    isUsual(spec) &&
    policy !== null &&
    isFrozenPolicy(policy)
  )
}

type Fresh<T> = { -readonly [K in keyof T]: T[K] }

/** Copies what can be changed in a fresh object, but for one field. Throws for what is not plain data. */
function copyFields<T extends object>(own: T, except: keyof T | null): T {
  for (const field in own) {
    if (field === except) continue
    const value: unknown = own[field]
    const isText = typeof value === 'string' || typeof value === 'number'
    if (isText || value === null || typeof value === 'boolean') continue
    const isEmpty = Array.isArray(value) && value.length === 0
    own[field] = (isEmpty ? NONE : structuredClone(value)) as T[typeof field]
  }
  return own
}

/** Of plain data. A field that is undefined is like no other: the copy must have it, too. */
function isSame(own: unknown, given: unknown): boolean {
  if (own === given) return own !== undefined
  if (typeof own !== 'object' || typeof given !== 'object') return false
  if (own === null || given === null || Array.isArray(own) !== Array.isArray(given)) return false
  let fields = 0
  for (const field in own) {
    fields += 1
    if (!isSame(own[field as keyof object], given[field as keyof object])) return false
  }
  for (const _ in given) fields -= 1
  return fields === 0
}
