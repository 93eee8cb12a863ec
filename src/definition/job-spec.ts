/**
 * A job as it goes into the log: what its definition, its input and the options of a submit say,
 * checked and made into plain data.
 *
 * It knows what is submitted, and nothing of handlers.
 */
import type { JobSpec, Payload, StageSpec, TaskPolicy } from '../kernel/index.ts'
import { LIMITS, NONE } from '../kernel/index.ts'
import type { ByInput } from './by-input.ts'
import { termsByInput } from './by-input.ts'
import type { Duration } from './duration.ts'
import { toMs } from './duration.ts'
import { InvalidDefinition } from './errors.ts'
import { toJson } from './json-value.ts'
import type { OptionNames } from './known-options.ts'
import type { LimitOptions, SaidPolicy, SubmitDefaults } from './policy.ts'
import { deadlineMsOf, limitSpecs, NO_DEFAULTS, withDefaults } from './policy.ts'
import type { MaybeSchema } from './standard-schema.ts'
import { validated, validatedStored } from './standard-schema.ts'

/** By its looks: what is no definition has no policy to submit a job by. */
export function isDefinition(given: unknown): given is { readonly name: string } {
  if (typeof given !== 'object' || given === null) return false
  const { name } = given as { readonly name?: unknown }
  return typeof name === 'string' && ('policy' in given || 'stages' in given)
}

/** Jobs of which nothing is known but a name (see `jobByName`). */
const BY_NAME = new WeakSet<object>()

export function markByName(definition: object): void {
  BY_NAME.add(definition)
}

export function isByName(definition: object): boolean {
  return BY_NAME.has(definition)
}

export type Upgrades = Readonly<Record<number, (input: unknown) => unknown>>

/** What is said about the input of a job or a pipeline. */
export interface InputTerms {
  /** Of the job, or of the pipeline. */
  readonly name: string
  readonly version: number
  readonly input: MaybeSchema
  readonly upgrades: Upgrades
}

/** What a submit needs of a job or a pipeline: everything but how it is run. */
export type Submittable = InputTerms & {
  readonly deadlineMs: number | null
  /** Null: nothing follows from the input. */
  readonly byInput: ByInput | null
} & (SubmittableTask | { readonly stages: readonly SubmittableStage[] })

interface SubmittableTask {
  readonly policy: TaskPolicy
  readonly said: SaidPolicy
}

interface SubmittableStage {
  /** As it goes into the log with every job. */
  readonly spec: StageSpec
  /** It names its queue itself, and not by its pipeline. */
  readonly hasOwnQueue: boolean
  /** It names its limits itself, and not by its pipeline. */
  readonly hasOwnLimits: boolean
  /** By itself or by its pipeline. */
  readonly said: SaidPolicy
}

export function assertVersion(what: string, version = 1): number {
  if (Number.isSafeInteger(version) && version >= 1) return version
  throw new InvalidDefinition(`The version of ${what} must be a whole number from 1.`)
}

/** Every step from an old version to the current one must be there. */
export function checkedVersion(
  what: string,
  version: number | undefined = 1,
  upgrades: Upgrades = {},
): number {
  assertVersion(what, version)
  for (let from = 1; from < version; from++) {
    if (typeof upgrades[from] === 'function') continue
    throw new InvalidDefinition(
      `${what.charAt(0).toUpperCase()}${what.slice(1)} is of version ${version} and has no \`upgrades[${from}]\`: inputs of version ${from} may still wait. If nothing changed, give (input) => input.`,
    )
  }
  return version
}

/** What can be said about one job when it is promised by a commit. */
export interface ChildOptions {
  /** A second submit with the same key returns the first job. */
  readonly key?: string
  /** One unfinished job per key: a second submit returns it, whatever its input. */
  readonly unique?: boolean
  /** From -1,000 to 1,000, larger first. Default 0. */
  readonly priority?: number
  readonly delay?: Duration
  /** Not before this time. */
  readonly at?: Date | number
  /** If no worker takes it within this time of when it is due, it fails. */
  readonly startWithin?: Duration
  /**
   * It must be committed by then, all attempts together, or it fails: a duration from the submit, or a
   * time. Default: as its definition says.
   */
  readonly deadline?: Duration | Date
  readonly queue?: string
  /** Whose it is, such as a tenant: groups take turns, and jobs are found by it. */
  readonly group?: string
  /** In addition to those of the definition. */
  readonly limits?: readonly LimitOptions[]
  readonly tags?: readonly string[]
  /**
   * A small JSON value that goes with the job, to its handler and to callers of `get`, such as a trace context. It
   * is no part of the input: a second submit with the same key may have another, which is left out.
   */
  readonly metadata?: unknown
  /** Waits until it is released. */
  readonly hold?: boolean
  /** How long it stays readable once it is over. Default: as its store keeps jobs of its type. */
  readonly retention?: Duration
}

export const CHILD_NAMES: OptionNames<ChildOptions> = {
  key: true,
  unique: true,
  priority: true,
  delay: true,
  at: true,
  startWithin: true,
  deadline: true,
  queue: true,
  group: true,
  limits: true,
  tags: true,
  metadata: true,
  hold: true,
  retention: true,
}

/** The input as it is stored, once its schema has let it through. */
export function inputOf(definition: InputTerms, given: unknown): Payload | Promise<Payload> {
  const what = `The input of job '${definition.name}'`
  const checked = validated(definition.input, given, what)
  return checked instanceof Promise
    ? checked.then(() => toJson(given, what, 'input'))
    : toJson(given, what, 'input')
}

/** What the input means to the handler now: upgraded, and through its schema. */
export function inputFor(definition: InputTerms, version: number, stored: unknown): unknown {
  const { name, version: current, upgrades } = definition
  if (version > current) {
    throw new InvalidDefinition(
      `The input of this job '${name}' is of version ${version}, and this worker knows versions up to ${current}: deploy the newer definition.`,
      { version, current },
    )
  }
  let input = stored
  for (let from = version; from < current; from++) input = upgrades[from]?.(input)
  const what = `The input of job '${name}'`
  return input === null && definition.input === undefined
    ? undefined
    : validatedStored(definition.input, input, what)
}

/**
 * `given`: the input itself, and `input` its text. `defaults`: of the engine that submits, for what the definition
 * does not say.
 */
export function specOf(
  definition: Submittable,
  given: unknown,
  input: Payload,
  options: ChildOptions,
  defaults: SubmitDefaults = NO_DEFAULTS,
): JobSpec {
  const { byInput } = definition
  if (byInput !== null) return specByInput(definition, byInput, given, input, options, defaults)
  return saysNothing(options)
    ? { ...usualSpec(definition, defaults), input }
    : newSpec(definition, input, options, defaults)
}

function specByInput(
  definition: Submittable,
  byInput: ByInput,
  given: unknown,
  input: Payload,
  options: ChildOptions,
  defaults: SubmitDefaults,
): JobSpec {
  const what = `job '${definition.name}'`
  const { limits, group } = termsByInput(byInput, given, options.group, what)
  const spec = newSpec(definition, input, options, defaults)
  const own = limitSpecs(limits, what)
  const add = (policy: TaskPolicy): TaskPolicy => {
    return own.length === 0 ? policy : { ...policy, limits: [...own, ...policy.limits] }
  }
  return {
    ...spec,
    group,
    policy: spec.policy === null ? null : add(spec.policy),
    stages:
      'stages' in definition
        ? definition.stages.map(({ hasOwnLimits }, i) => {
            const stage = spec.stages?.[i] as StageSpec
            return hasOwnLimits ? stage : { ...stage, policy: add(stage.policy) }
          })
        : null,
  }
}

/** What says how a submit is sent, and nothing of the job. */
function saysNothing(options: ChildOptions): boolean {
  for (const option in options) if (option !== 'id' && option !== 'tx') return false
  return true
}

interface UsualSpec {
  readonly defaults: SubmitDefaults
  readonly spec: JobSpec
}

/** The spec of a job whose submit says nothing but its input: most are copies of it. */
const USUAL_SPECS = new WeakMap<Submittable, UsualSpec>()

function usualSpec(definition: Submittable, defaults: SubmitDefaults): JobSpec {
  const known = USUAL_SPECS.get(definition)
  if (known !== undefined && known.defaults === defaults) return known.spec
  const spec = newSpec(definition, '', {}, defaults)
  USUAL_SPECS.set(definition, { defaults, spec })
  return spec
}

function newSpec(
  definition: Submittable,
  input: Payload,
  options: ChildOptions,
  defaults: SubmitDefaults,
): JobSpec {
  const { name } = definition
  const what = `job '${name}'`
  const { delay, at, startWithin, retention } = options
  if (options.unique === true && options.key === undefined) {
    throw new InvalidDefinition(`\`unique\` of ${what} says how long a key counts: give a \`key\`.`)
  }
  return {
    type: name,
    version: definition.version,
    input,
    priority: options.priority ?? 0,
    delayMs: delay === undefined ? 0 : toMs(delay, `The delay of ${what}`),
    dueAt: at === undefined ? null : timeOf(at, `\`at\` of ${what}`),
    startWithinMs: startWithin === undefined ? null : toMs(startWithin, `startWithin of ${what}`),
    ...deadlineOf(definition, options, what),
    key: options.key ?? null,
    unique: options.unique ?? false,
    held: options.hold ?? false,
    group: options.group ?? null,
    tags: ownTags(options.tags),
    parent: null,
    schedule: null,
    rerunOf: null,
    asked: null,
    submittedBy: null,
    metadata: metadataOf(options.metadata, what),
    caller: null,
    steps: NONE,
    retainMs:
      retention === undefined ? defaults.retainMs : toMs(retention, `The retention of ${what}`),
    policy:
      'stages' in definition
        ? null
        : policyFor(policyOf(definition.policy, definition.said, defaults), options, what),
    stages: 'stages' in definition ? stagesOf(definition, options, defaults, what) : null,
  }
}

/** A list of its own: the caller may go on changing the one that it gave. What is no list is refused later. */
function ownTags(tags: readonly string[] | undefined): readonly string[] {
  if (tags === undefined || tags.length === 0) return NONE
  return Array.isArray(tags) ? tags.slice() : tags
}

function metadataOf(metadata: unknown, what: string): string | null {
  if (metadata === undefined) return null
  const text = toJson(metadata, `The metadata of ${what}`, 'metadata')
  if (text.length <= LIMITS.metadataChars) return text
  throw new InvalidDefinition(
    `The metadata of ${what} has ${text.length} characters as JSON, and at most ${LIMITS.metadataChars} go with a job: put the rest into its input.`,
  )
}

/** What the submit says takes the place of what the definition says. */
function deadlineOf(
  definition: Submittable,
  { deadline }: ChildOptions,
  what: string,
): Pick<JobSpec, 'deadlineMs' | 'deadlineAt'> {
  if (deadline === undefined) return { deadlineMs: definition.deadlineMs, deadlineAt: null }
  return deadline instanceof Date
    ? { deadlineMs: null, deadlineAt: timeOf(deadline, `The deadline of ${what}`) }
    : { deadlineMs: deadlineMsOf(deadline, what), deadlineAt: null }
}

function policyOf(policy: TaskPolicy, said: SaidPolicy, defaults: SubmitDefaults): TaskPolicy {
  return defaults === NO_DEFAULTS ? policy : withDefaults(policy, said, defaults)
}

/** Most jobs run as their definition says, and share its policy. */
function policyFor(policy: TaskPolicy, { queue, limits }: ChildOptions, what: string): TaskPolicy {
  if (queue === undefined && limits === undefined) return policy
  return {
    ...policy,
    queue: queue ?? policy.queue,
    limits: [...policy.limits, ...limitSpecs(limits, what)],
  }
}

/** The queue of a submit takes the place of the pipeline's; a stage that has its own keeps it. */
function stagesOf(
  { stages, name }: Extract<Submittable, { readonly stages: unknown }>,
  options: ChildOptions,
  defaults: SubmitDefaults,
  what: string,
): readonly StageSpec[] {
  if (stages.length === 0) {
    throw new InvalidDefinition(`Pipeline '${name}' has no stages: add one with \`.stage(…)\`.`)
  }
  const { queue, ...others } = options
  return stages.map(({ spec, hasOwnQueue, said }) => {
    const own = hasOwnQueue || queue === undefined ? others : { ...others, queue }
    const policy = policyFor(policyOf(spec.policy, said, defaults), own, what)
    return policy === spec.policy ? spec : { ...spec, policy }
  })
}

export function timeOf(at: Date | number, what: string): number {
  const ms = Math.ceil(Number(at))
  if (Number.isFinite(ms) && ms >= 0) return ms
  throw new InvalidDefinition(
    `${what} must be a date, or milliseconds since 1970, not ${String(at)}.`,
  )
}
