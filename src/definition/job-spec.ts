/**
 * A job as it goes into the log, made from its definition, an input and options.
 */
import type { JobSpec, Payload, StageSpec, TaskPolicy } from '../kernel/index.ts'
import { toMs } from './duration.ts'
import { InvalidDefinition } from './errors.ts'
import type { AnyJob, ChildOptions } from './job-definition.ts'
import { limitSpecs } from './job-definition.ts'
import { toJson } from './json-value.ts'
import type { AnyPipeline } from './pipeline-definition.ts'
import type { InputTerms } from './runnable.ts'
import { validated, validatedStored } from './standard-schema.ts'

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

export function specOf(definition: AnyJob, input: Payload, options: ChildOptions): JobSpec {
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
    dueAt: at === undefined ? null : timeOf(at, what),
    startWithinMs: startWithin === undefined ? null : toMs(startWithin, `startWithin of ${what}`),
    key: options.key ?? null,
    unique: options.unique ?? false,
    held: options.hold ?? false,
    group: options.group ?? null,
    tags: options.tags ?? [],
    parent: null,
    schedule: null,
    rerunOf: null,
    asked: null,
    retainMs: retention === undefined ? null : toMs(retention, `The retention of ${what}`),
    policy: isPipeline(definition) ? null : policyFor(definition.policy, options, what),
    stages: isPipeline(definition) ? stagesOf(definition, options, what) : null,
  }
}

export function isPipeline(definition: AnyJob): definition is AnyPipeline {
  return 'stages' in definition
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
  { stages, name }: AnyPipeline,
  options: ChildOptions,
  what: string,
): readonly StageSpec[] {
  if (stages.length === 0) {
    throw new InvalidDefinition(`Pipeline '${name}' has no stages: add one with \`.stage(…)\`.`)
  }
  const { queue, ...others } = options
  return stages.map(({ spec, hasOwnQueue }) => {
    const own = hasOwnQueue || queue === undefined ? others : { ...others, queue }
    const policy = policyFor(spec.policy, own, what)
    return policy === spec.policy ? spec : { ...spec, policy }
  })
}

function timeOf(at: Date | number, what: string): number {
  const ms = Math.ceil(Number(at))
  if (Number.isFinite(ms) && ms >= 0) return ms
  throw new InvalidDefinition(
    `\`at\` of ${what} must be a date, or milliseconds since 1970, not ${String(at)}.`,
  )
}
