/**
 * The commit boundary as a value: what a handler returns when there is more to promise than
 * its output. Nothing happens when it is made; it is committed when it is returned.
 */
import type { EffectCall } from './effect-definition.ts'
import type { AnyJob, ChildOptions, SubmitArguments } from './job-definition.ts'

const COMMIT = Symbol.for('pawl.commit')

export interface Commit<Output> {
  readonly [COMMIT]: true
  readonly output: Output
  readonly effects: readonly EffectCall[]
  readonly children: readonly ChildCall[]
}

/** A job that the commit promises: submitted once, under an id derived from its parent. */
export interface ChildCall {
  readonly definition: AnyJob
  readonly input: unknown
  readonly options: ChildOptions
}

export function makeCommit<Output>(
  output: Output,
  effects: readonly EffectCall[],
  children: readonly ChildCall[],
): Commit<Output> {
  return { [COMMIT]: true, output, effects, children }
}

export function isCommit(value: unknown): value is Commit<unknown> {
  return typeof value === 'object' && value !== null && COMMIT in value
}

/** Promises a child, for `commit`. */
export function child<J extends AnyJob>(
  definition: J,
  ...[input, options]: SubmitArguments<J, ChildOptions>
): ChildCall {
  return { definition, input, options: options ?? {} }
}
