/**
 * Pipelines: jobs of many stages. A pipeline is a value, and every `stage` makes a new one.
 *
 * A job keeps the shape that its pipeline had when it was submitted, whatever becomes of the
 * definition later: workers find their handlers by the names of pipeline and stage.
 */
import { eachPath, LIMITS } from '../kernel/index.ts'
import type { AnyEffect } from './effect-definition.ts'
import { InvalidDefinition } from './errors.ts'
import type { Policy, ResultOf, Returned } from './job-definition.ts'
import { taskPolicy } from './job-definition.ts'
import { assertName } from './names.ts'
import type { InputTerms, Runnable, Upgrades } from './runnable.ts'
import { checkedVersion, effectsByName } from './runnable.ts'
import type {
  After,
  ContextFor,
  EachSource,
  NamesIn,
  Read,
  StageDefinition,
  StageOptions,
} from './stage-definition.ts'
import { stalledRule } from './stalled.ts'
import type { GivenTo, MaybeSchema, ValueOf } from './standard-schema.ts'

/** And what its stages have in common: each may say otherwise. */
export interface PipelineOptions<S extends MaybeSchema> extends Policy {
  /** Any Standard Schema. Without one the pipeline takes no input. */
  readonly input?: S
  /** Raised when the input's shape changes. Default 1. */
  readonly version?: number
  /** From version n to n + 1, for inputs that were submitted under an older one. */
  readonly upgrades?: Upgrades
}

export interface PipelineDefinition<
  Name extends string = string,
  Given = never,
  Result = unknown,
> extends InputTerms {
  readonly name: Name
  /** In the order in which they were written. */
  readonly stages: readonly StageDefinition[]
  /** Only for the compiler: what may be submitted, and what results. */
  readonly types?: { readonly given: Given; readonly result: Result }
}

/** Whatever its types. */
// oxlint-disable-next-line typescript/no-explicit-any -- inputs differ, and are checked where they are given
export type AnyPipeline = PipelineDefinition<string, any, any>

type IsUnion<T, Whole = T> = T extends Whole ? ([Whole] extends [T] ? false : true) : never

/**
 * What `handle.result()` gives: the output of the last stage, the one that no other comes
 * after. If there are several, an object with the output of each, by name.
 */
export type PipelineResult<Stages, Inner> = [Exclude<keyof Stages, Inner>] extends [never]
  ? unknown
  : true extends IsUnion<Exclude<keyof Stages, Inner>>
    ? { readonly [K in Exclude<keyof Stages, Inner>]: Read<Stages[K]> }
    : Read<Stages[Exclude<keyof Stages, Inner>]>

/** A name that no stage has yet. Of names that the compiler does not know, any will do. */
type Unused<Name, Stages> = string extends keyof Stages
  ? unknown
  : Name extends 'input' | keyof Stages
    ? never
    : unknown

type WithStage<Stages, Name extends string, OnFailure, Shape> = OnFailure extends true
  ? Stages
  : Stages & { readonly [K in Name]: Shape }

/** `Stages`: what is known of each; `Inner`: the names of those that others come after. */
export interface Pipeline<
  Name extends string,
  Given,
  Value,
  Stages,
  Inner extends string,
> extends PipelineDefinition<Name, Given, PipelineResult<Stages, Inner>> {
  /** The same pipeline with one more stage. Only stages that are there can be named in `after`. */
  stage<
    const N extends string,
    const A extends After<Stages> = readonly [],
    const Each extends EachSource<Value, Stages, NamesIn<A>> | undefined = undefined,
    O extends MaybeSchema = undefined,
    const E extends readonly AnyEffect[] = readonly [],
    const Tolerate extends number = 0,
    const OnFailure extends boolean = false,
    R extends Returned<O> = Returned<O>,
  >(
    this: void,
    name: N & Unused<N, Stages>,
    options: StageOptions<
      A,
      Each,
      O,
      E,
      Tolerate,
      OnFailure,
      ContextFor<Value, Stages, A, Each, E, OnFailure>,
      R
    >,
  ): Pipeline<
    Name,
    Given,
    Value,
    WithStage<
      Stages,
      N,
      OnFailure,
      {
        readonly value: ResultOf<O, Awaited<R>>
        readonly many: [Each] extends [undefined] ? false : true
        readonly gaps: Tolerate extends 0 ? false : true
      }
    >,
    Inner | NamesIn<A>
  >
}

export function pipeline<const Name extends string, S extends MaybeSchema = undefined>(
  name: Name,
  options: PipelineOptions<S> = {},
): Pipeline<Name, GivenTo<S>, ValueOf<S>, object, never> {
  assertName(name, 'A pipeline')
  const what = `pipeline '${name}'`
  const { input, version, upgrades = {}, ...defaults } = options
  const terms = { name, version: checkedVersion(what, version, upgrades), input, upgrades }
  // Refused where it is written, although every stage may say otherwise.
  taskPolicy(defaults, what)
  stalledRule(defaults.stalled, what)
  return withStages(terms, defaults, []) as unknown as ReturnType<typeof pipeline<Name, S>>
}

/** As the compiler does not see them: whatever their types. */
type AnyOptions = StageOptions<
  string | readonly string[],
  string | undefined,
  MaybeSchema,
  readonly AnyEffect[],
  number,
  boolean,
  never,
  unknown
>

function withStages(
  terms: InputTerms,
  defaults: Policy,
  stages: readonly StageDefinition[],
): AnyPipeline & { readonly stage: (name: string, options: AnyOptions) => AnyPipeline } {
  return {
    ...terms,
    stages,
    stage: (name, options) =>
      withStages(terms, defaults, [...stages, stageOf(terms, defaults, stages, name, options)]),
  }
}

function stageOf(
  terms: InputTerms,
  defaults: Policy,
  before: readonly StageDefinition[],
  stage: string,
  options: AnyOptions,
): StageDefinition {
  const what = `stage '${stage}' of pipeline '${terms.name}'`
  assertName(stage, `A stage of pipeline '${terms.name}'`)
  if (typeof options?.run !== 'function') {
    throw new InvalidDefinition(`There is no handler for ${what}: give it a function \`run\`.`)
  }
  const { after = [], each, tolerate = 0, onFailure = false, version } = options
  const names = typeof after === 'string' ? [after] : [...after]
  const wrong =
    wrongName(stage, before) ??
    wrongAfter(names, onFailure, before) ??
    wrongEach(each, names, before) ??
    wrongTolerate(tolerate)
  if (wrong !== null) throw new InvalidDefinition(`${wrong} (${what})`, { stage })
  return {
    ...terms,
    stage,
    output: options.output,
    stalled: stalledRule(options.stalled ?? defaults.stalled, what),
    effects: effectsByName(what, options.effects),
    classify: options.classify ?? null,
    run: options.run as unknown as Runnable['run'],
    batch: null,
    hasOwnQueue: options.queue !== undefined,
    outputs: new Map(before.map((one) => [one.stage, one.output])),
    spec: {
      name: stage,
      after: names,
      each: each ?? null,
      onFailure,
      tolerate,
      version: stageVersion(version, what),
      policy: taskPolicy({ ...defaults, ...policyIn(options) }, what),
    },
  }
}

/** Only what is really said: an option that is undefined leaves the pipeline's. */
function policyIn({ queue, lease, timeout, retry, quarantine, limits }: Policy): Policy {
  return {
    ...(queue === undefined ? {} : { queue }),
    ...(lease === undefined ? {} : { lease }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(retry === undefined ? {} : { retry }),
    ...(quarantine === undefined ? {} : { quarantine }),
    ...(limits === undefined ? {} : { limits }),
  }
}

/** Its handler is told under which one a job was submitted: nothing has to be upgraded. */
function stageVersion(version: number | undefined = 1, what = ''): number {
  if (Number.isSafeInteger(version) && version >= 1) return version
  throw new InvalidDefinition(`The version of ${what} must be a whole number from 1.`)
}

function wrongName(name: string, before: readonly StageDefinition[]): string | null {
  if (name === 'input' || name.includes('.')) {
    return `A stage cannot be named '${name}': 'input' and names with a dot are what \`each\` is written with.`
  }
  if (before.some(({ stage }) => stage === name)) return `There are two stages of this name.`
  return before.length < LIMITS.stages ? null : `There are more than ${LIMITS.stages} stages.`
}

function wrongAfter(
  names: readonly string[],
  onFailure: boolean,
  before: readonly StageDefinition[],
): string | null {
  if (onFailure && names.length > 0) {
    return 'An on-failure stage begins when everything else has settled: it has no `after`.'
  }
  for (const [i, name] of names.entries()) {
    const named = before.find(({ stage }) => stage === name)
    if (named === undefined) {
      const known = before.map(({ stage }) => `'${stage}'`).join(', ') || 'none'
      return `\`after\` names '${name}', which is no earlier stage. Earlier ones: ${known}.`
    }
    if (named.spec.onFailure) {
      return `\`after\` names '${name}', which may never begin: it is an on-failure stage.`
    }
    if (names.indexOf(name) !== i) return `\`after\` names '${name}' twice.`
  }
  return null
}

function wrongEach(
  each: string | undefined,
  after: readonly string[],
  before: readonly StageDefinition[],
): string | null {
  if (each === undefined) return null
  const { source, path } = eachPath(each)
  if (source === 'input') return null
  if (!after.includes(source)) {
    return `\`each\` is '${each}', and must be 'input', 'input.field' or a stage of \`after\`.`
  }
  const hasSegments = before.find(({ stage }) => stage === source)?.spec.each !== null
  return hasSegments && path.length > 0
    ? `\`each\` is '${each}', and '${source}' has an output for each segment: use '${source}'.`
    : null
}

function wrongTolerate(tolerate: number): string | null {
  return Number.isSafeInteger(tolerate) && tolerate >= 0 && tolerate <= LIMITS.tolerate
    ? null
    : `\`tolerate\` must be a whole number from 0 to ${LIMITS.tolerate}, not ${String(tolerate)}.`
}
