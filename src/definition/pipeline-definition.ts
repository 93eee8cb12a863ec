/**
 * Pipelines: jobs of many stages. A pipeline is a value, and every `stage` makes a new one. A stage
 * has a handler and a policy of its own, and begins when the stages it comes after are done.
 *
 * The types follow what is written: a stage sees the outputs of those it names in `after`, and
 * with `each` the elements of an array there, or in the input. Of each stage the types keep its
 * `value`, whether there are `many` (one for each segment), and whether there are `gaps` (it
 * tolerates failures, so an output may be missing).
 *
 * A job keeps the shape that its pipeline had when it was submitted, whatever becomes of the
 * definition later: workers find their handlers by the names of pipeline and stage.
 */
import type { Failure, StageSpec } from '../kernel/index.ts'
import { eachPath, LIMITS } from '../kernel/index.ts'
import type { ByInput, ByInputOptions } from './by-input.ts'
import { byInputOf, withoutFunctions } from './by-input.ts'
import type { Duration } from './duration.ts'
import type { AnyEffect } from './effect-definition.ts'
import { assertName, InvalidDefinition } from './errors.ts'
import type { InputTerms, Upgrades } from './job-spec.ts'
import { checkedVersion } from './job-spec.ts'
import { KnownOptions } from './known-options.ts'
import type { AnyMessage } from './message-definition.ts'
import { messagesByName } from './message-definition.ts'
import type { Policy, SaidPolicy } from './policy.ts'
import { deadlineMsOf, POLICY_NAMES, saidIn, stalledRule, taskPolicy } from './policy.ts'
import type { Classify, ResultOf, Returned, RunContext, Runnable } from './runnable.ts'
import { checkedReuse, effectsByName } from './runnable.ts'
import type { StageOutputs } from './stage-outputs.ts'
import type { GivenTo, MaybeSchema, ValueOf } from './standard-schema.ts'
import { assertSchema } from './standard-schema.ts'

/** The names of the stages that a pipeline has so far. */
type NamesOf<Stages> = Extract<keyof Stages, string>

/** One name, or several. */
export type After<Stages> = NamesOf<Stages> | readonly NamesOf<Stages>[]
type NamesIn<A> = A extends readonly (infer Name extends string)[] ? Name : Extract<A, string>

type OutputOf<Shape> = Shape extends { readonly value: infer Value; readonly gaps: infer Gaps }
  ? Gaps extends true
    ? Value | undefined
    : Value
  : never

/** A stage's output as later stages get it. */
type ReadOutput<Shape> = Shape extends { readonly value: infer Value; readonly many: infer Many }
  ? Many extends true
    ? StageOutputs<Value, OutputOf<Shape>>
    : OutputOf<Shape>
  : never

/** After a failure any stage may have no output. */
type ReadAnyOutput<Shape> = Shape extends { readonly value: infer Value; readonly many: infer Many }
  ? Many extends true
    ? StageOutputs<Value, Value | undefined>
    : Value | undefined
  : never

type ElementOf<Value> = Value extends readonly (infer Element)[] ? Element : never
type FieldOf<Value, Field> = Field extends keyof Value ? Value[Field] : never

/** `name` if the value is an array, and `name.field` for each field that is one. */
type ArraysIn<Name extends string, Value> = Value extends readonly unknown[]
  ? Name
  : Value extends object
    ? {
        [K in keyof Value]-?: Value[K] extends readonly unknown[]
          ? `${Name}.${Extract<K, string>}`
          : never
      }[keyof Value]
    : never

type ArraysOf<Name, Shape> = Name extends string
  ? Shape extends { readonly value: infer Value; readonly many: infer Many }
    ? Many extends true
      ? Name
      : ArraysIn<Name, Value>
    : never
  : never

/** What `each` may name: an array in the input, or in what a stage of `after` puts out. */
type EachSource<Input, Stages, Names extends string> =
  | ArraysIn<'input', Input>
  | { [K in Names & keyof Stages]: ArraysOf<K, Stages[K]> }[Names & keyof Stages]

/** One element of what `each` names. */
type SegmentIn<Input, Stages, Each> = Each extends 'input'
  ? ElementOf<Input>
  : Each extends `input.${infer Field}`
    ? ElementOf<FieldOf<Input, Field>>
    : Each extends keyof Stages
      ? Stages[Each] extends { readonly many: true }
        ? OutputOf<Stages[Each]>
        : ElementOf<FieldOf<Stages[Each], 'value'>>
      : Each extends `${infer Name}.${infer Field}`
        ? ElementOf<FieldOf<FieldOf<FieldOf<Stages, Name>, 'value'>, Field>>
        : never

export interface StageDetails {
  readonly name: string
  /** Of the stage, as it was when the job was submitted. */
  readonly version: number
}

/** What the handler of a stage is given: what that of a job is, and what earlier stages put out. */
export interface StageContext<
  Value,
  Outputs,
  Effects extends readonly AnyEffect[],
  Messages extends readonly AnyMessage[] = readonly AnyMessage[],
> extends RunContext<Value, Effects, Messages> {
  readonly stage: StageDetails
  /** Of the stages that it names in `after`, by name. */
  readonly outputs: Outputs
}

/** With `each`: one segment, which is one element. What it is given is frozen: others share it. */
export interface SegmentContext<
  Value,
  Outputs,
  Effects extends readonly AnyEffect[],
  Segment,
  Messages extends readonly AnyMessage[] = readonly AnyMessage[],
> extends StageContext<Value, Outputs, Effects, Messages> {
  readonly segment: Segment
  /** Its place in the array, from 0. */
  readonly index: number
}

/** Why a pipeline ends: what an on-failure stage is told. */
export interface PipelineFailure {
  /** Who cancelled it, and why; null: it was not cancelled. */
  readonly cancelled: { readonly by: string; readonly reason: string } | null
  /** The stage of the first task that failed; null: no task failed. */
  readonly stage: string | null
  /** Null: the stage runs once. */
  readonly segment: number | null
  readonly error: Failure | null
}

/** An on-failure stage sees all that came before it, as far as it got. */
type OutputsFor<Stages, Names, OnFailure> = OnFailure extends true
  ? { readonly [K in keyof Stages]: ReadAnyOutput<Stages[K]> }
  : { readonly [K in Names & keyof Stages]: ReadOutput<Stages[K]> }

/** What an on-failure stage is given more. */
export interface FailureContext {
  readonly failure: PipelineFailure
}

type ContextFor<
  Value,
  Stages,
  A,
  Each,
  Effects extends readonly AnyEffect[],
  OnFailure,
  Messages extends readonly AnyMessage[],
> = StageOrSegment<Value, Stages, A, Each, Effects, OnFailure, Messages> &
  (OnFailure extends true ? FailureContext : unknown)

type StageOrSegment<
  Value,
  Stages,
  A,
  Each,
  Effects extends readonly AnyEffect[],
  OnFailure,
  Messages extends readonly AnyMessage[],
> = [Each] extends [undefined]
  ? StageContext<Value, OutputsFor<Stages, NamesIn<A>, OnFailure>, Effects, Messages>
  : SegmentContext<
      Value,
      OutputsFor<Stages, NamesIn<A>, OnFailure>,
      Effects,
      SegmentIn<Value, Stages, Each>,
      Messages
    >

export interface StageOptions<
  A,
  Each,
  O extends MaybeSchema,
  E extends readonly AnyEffect[],
  Tolerate extends number,
  OnFailure extends boolean,
  Context,
  R,
  M extends readonly AnyMessage[] = readonly AnyMessage[],
> extends Policy {
  /** The stage, or the stages, that must be done before. Default: none, it begins with the job. */
  readonly after?: A
  /**
   * Runs once for each element: `'input'`, `'input.field'`, or the name of a stage of `after`
   * whose output is an array. After a stage that has segments itself: once for each of them.
   */
  readonly each?: Each
  /** How many segments may fail without failing the stage. Default 0. */
  readonly tolerate?: Tolerate
  /** Runs only when the job fails or is cancelled, once everything else has settled. */
  readonly onFailure?: OnFailure
  /** Raised when what it does changes; the handler is told the one it was submitted under. */
  readonly version?: number
  /** Any Standard Schema for what the handler returns. */
  readonly output?: O
  /** The effects that its commits may promise. */
  readonly effects?: E
  /** The messages that can be sent to it, and that its handler may wait for. */
  readonly messages?: M
  /** Which errors are worth another attempt, and when; undefined leaves it to the default. */
  readonly classify?: Classify
  /** As of a job: a valid artifact of an earlier attempt is the output, and the handler is not run. */
  readonly reuse?: 'valid'
  readonly run: (context: Context) => R | Promise<R>
}

export interface StageDefinition extends Runnable {
  readonly stage: string
  /** As it goes into the log with every job. */
  readonly spec: StageSpec
  /** It names its queue itself, and not by its pipeline. */
  readonly hasOwnQueue: boolean
  /** It names its limits itself, and not by its pipeline. */
  readonly hasOwnLimits: boolean
  /** By itself or by its pipeline. */
  readonly said: SaidPolicy
  /** The schemas of what the stages before it put out, by name. */
  readonly outputs: ReadonlyMap<string, MaybeSchema>
}

/** The policy is what its stages have in common: each may say otherwise. */
export interface PipelineOptions<S extends MaybeSchema>
  extends Omit<Policy, 'limits'>, ByInputOptions<GivenTo<S>> {
  /** Any Standard Schema. Without one the pipeline takes no input. */
  readonly input?: S
  /**
   * How long after its submit a job may take, all stages together: what is not committed by then is
   * stopped, and the job fails. Default: for ever. A submit may say otherwise.
   */
  readonly deadline?: Duration
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
  /** From the submit; null: for ever. */
  readonly deadlineMs: number | null
  readonly byInput: ByInput | null
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
    ? { readonly [K in Exclude<keyof Stages, Inner>]: ReadOutput<Stages[K]> }
    : ReadOutput<Stages[Exclude<keyof Stages, Inner>]>

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
    const M extends readonly AnyMessage[] = readonly [],
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
      ContextFor<Value, Stages, A, Each, E, OnFailure, M>,
      R,
      M
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

const PIPELINE_OPTIONS = new KnownOptions<PipelineOptions<MaybeSchema>>({
  ...POLICY_NAMES,
  group: true,
  input: true,
  deadline: true,
  version: true,
  upgrades: true,
})

export function pipeline<const Name extends string, S extends MaybeSchema = undefined>(
  name: Name,
  options: PipelineOptions<S> = {},
): Pipeline<Name, GivenTo<S>, ValueOf<S>, object, never> {
  assertName(name, 'A pipeline')
  const what = `pipeline '${name}'`
  PIPELINE_OPTIONS.assert(options, what, `pipeline('${name}', { input: … })`)
  const { input, version, upgrades = {}, deadline, ...others } = options
  assertSchema(input, 'input', what)
  const terms = { name, version: checkedVersion(what, version, upgrades), input, upgrades }
  const defaults: Policy = withoutFunctions(others)
  // Refused where it is written, although every stage may say otherwise.
  taskPolicy(defaults, what)
  stalledRule(defaults.stalled, what)
  const whole = { deadlineMs: deadlineMsOf(deadline, what), byInput: byInputOf(options, what) }
  return withStages(terms, whole, defaults, []) as unknown as ReturnType<typeof pipeline<Name, S>>
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

const STAGE_OPTIONS = new KnownOptions<AnyOptions>({
  ...POLICY_NAMES,
  after: true,
  each: true,
  tolerate: true,
  onFailure: true,
  version: true,
  output: true,
  effects: true,
  messages: true,
  classify: true,
  reuse: true,
  run: true,
})

function withStages(
  terms: InputTerms,
  whole: Pick<AnyPipeline, 'deadlineMs' | 'byInput'>,
  defaults: Policy,
  stages: readonly StageDefinition[],
): AnyPipeline & { readonly stage: (name: string, options: AnyOptions) => AnyPipeline } {
  return {
    ...terms,
    ...whole,
    stages,
    stage: (name, options) => {
      const added = stageOf(terms, defaults, stages, name, options)
      return withStages(terms, whole, defaults, [...stages, added])
    },
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
  if (typeof options === 'object' && options !== null && 'deadline' in options) {
    throw new InvalidDefinition(
      `There is no \`deadline\` of ${what}: it is for the whole job, so give it to the pipeline or to a submit. One attempt is bounded by \`timeout\`.`,
    )
  }
  STAGE_OPTIONS.assert(options, what, `.stage('${stage}', { run: ({ input }) => … })`)
  if (typeof options.run !== 'function') {
    throw new InvalidDefinition(`There is no handler for ${what}: give it a function \`run\`.`)
  }
  assertSchema(options.output, 'output', what)
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
    messages: messagesByName(what, options.messages),
    reuse: checkedReuse(options, what),
    classify: options.classify ?? null,
    run: options.run as unknown as Runnable['run'],
    batch: null,
    hasOwnQueue: options.queue !== undefined,
    hasOwnLimits: options.limits !== undefined,
    said: saidIn({ ...defaults, ...policyIn(options) }),
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
