/**
 * Stages of a pipeline: each a handler of its own, with its own policy, that begins when the
 * stages it comes after are done.
 *
 * The types follow what is written: a stage sees the outputs of those it names in `after`, and
 * with `each` the elements of an array there, or in the input.
 */
import type { Failure, StageSpec } from '../kernel/index.ts'
import type { AnyEffect } from './effect-definition.ts'
import type { Policy, RunContext } from './job-definition.ts'
import type { Runnable } from './runnable.ts'
import type { StageOutputs } from './stage-outputs.ts'
import type { MaybeSchema } from './standard-schema.ts'

/** What those that come after a stage know of it. */
export interface StageShape {
  readonly value: unknown
  /** It has segments: one output for each. */
  readonly many: boolean
  /** It tolerates failures: an output may be missing. */
  readonly gaps: boolean
}

/** The names of the stages that a pipeline has so far. */
type NamesOf<Stages> = Extract<keyof Stages, string>

/** One name, or several. */
export type After<Stages> = NamesOf<Stages> | readonly NamesOf<Stages>[]
export type NamesIn<A> = A extends readonly (infer Name extends string)[]
  ? Name
  : Extract<A, string>

type Slot<Shape> = Shape extends { readonly value: infer Value; readonly gaps: infer Gaps }
  ? Gaps extends true
    ? Value | undefined
    : Value
  : never

/** A stage's output as others get it. */
export type Read<Shape> = Shape extends { readonly value: infer Value; readonly many: infer Many }
  ? Many extends true
    ? StageOutputs<Value, Slot<Shape>>
    : Slot<Shape>
  : never

/** After a failure nobody knows how far it got. */
type ReadAny<Shape> = Shape extends { readonly value: infer Value; readonly many: infer Many }
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
export type EachSource<Input, Stages, Names extends string> =
  | ArraysIn<'input', Input>
  | { [K in Names & keyof Stages]: ArraysOf<K, Stages[K]> }[Names & keyof Stages]

/** One element of what `each` names. */
export type SegmentIn<Input, Stages, Each> = Each extends 'input'
  ? ElementOf<Input>
  : Each extends `input.${infer Field}`
    ? ElementOf<FieldOf<Input, Field>>
    : Each extends keyof Stages
      ? Stages[Each] extends { readonly many: true }
        ? Slot<Stages[Each]>
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
> extends RunContext<Value, Effects> {
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
> extends StageContext<Value, Outputs, Effects> {
  readonly segment: Segment
  /** Its place in the array, from 0. */
  readonly index: number
}

/** Why a pipeline ends: what an on-failure stage is told. */
export interface PipelineFailure {
  /** Somebody cancelled it; null: nobody did. */
  readonly cancelled: { readonly by: string; readonly reason: string } | null
  /** Where the first task is that is to blame; null: no task failed. */
  readonly stage: string | null
  /** Null: the stage runs once. */
  readonly segment: number | null
  readonly error: Failure | null
}

/** An on-failure stage sees all that came before it, as far as it got. */
type OutputsFor<Stages, Names, OnFailure> = OnFailure extends true
  ? { readonly [K in keyof Stages]: ReadAny<Stages[K]> }
  : { readonly [K in Names & keyof Stages]: Read<Stages[K]> }

/** What an on-failure stage is given more. */
export interface FailureContext {
  readonly failure: PipelineFailure
}

export type ContextFor<
  Value,
  Stages,
  A,
  Each,
  Effects extends readonly AnyEffect[],
  OnFailure,
> = StageOrSegment<Value, Stages, A, Each, Effects, OnFailure> &
  (OnFailure extends true ? FailureContext : unknown)

type StageOrSegment<Value, Stages, A, Each, Effects extends readonly AnyEffect[], OnFailure> = [
  Each,
] extends [undefined]
  ? StageContext<Value, OutputsFor<Stages, NamesIn<A>, OnFailure>, Effects>
  : SegmentContext<
      Value,
      OutputsFor<Stages, NamesIn<A>, OnFailure>,
      Effects,
      SegmentIn<Value, Stages, Each>
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
  /** Which errors are worth another attempt; undefined leaves it to the default. */
  readonly classify?: (error: unknown) => 'terminal' | 'retryable' | undefined
  readonly run: (context: Context) => R | Promise<R>
}

export interface StageDefinition extends Runnable {
  readonly stage: string
  /** As it goes into the log with every job. */
  readonly spec: StageSpec
  /** It names its queue itself, and not by its pipeline. */
  readonly hasOwnQueue: boolean
  /** The schemas of what the stages before it put out, by name. */
  readonly outputs: ReadonlyMap<string, MaybeSchema>
}
