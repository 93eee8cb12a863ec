/**
 * Effects: what a commit promises to the outside world, by name.
 *
 * An effect runs after the commit, at least once, always under the same key. One that was
 * started and never reported on has an unknown outcome. It is run again if it is declared
 * `idempotent`; else `reconcile` is asked whether it happened; else it is held for a person.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { RetryPolicy } from '../kernel/index.ts'
import type { ArtifactRef, StoredArtifact } from './artifact.ts'
import { assertName, InvalidDefinition } from './errors.ts'
import { KnownOptions } from './known-options.ts'
import type { RetryOptions } from './policy.ts'
import { checkedRetry } from './policy.ts'
import type { GivenTo, MaybeSchema, ValueOf } from './standard-schema.ts'
import { assertSchema } from './standard-schema.ts'

export interface EffectContext {
  /** The same for every attempt, in every process: give it to the receiver to recognise a repeat. */
  readonly key: string
  /** A fencing token: grows with every lease of the task, so a receiver can refuse older ones. */
  readonly fence: number
  readonly job: { readonly id: string; readonly type: string }
  /** Aborted when the lease is lost, or the worker must stop. */
  readonly signal: AbortSignal
  /** A file that the handler wrote, checked before a byte of it is used. */
  openArtifact(this: void, ref: ArtifactRef): Promise<StoredArtifact>
}

/** What `reconcile` found out: it happened, or it may be run again. */
export type Reconciled = 'happened' | 'again'

export interface EffectOptions<S extends MaybeSchema> {
  /** Any Standard Schema. Without one the effect takes no input. */
  readonly input?: S
  /** Running it again under the same key does no harm. Default false. */
  readonly idempotent?: boolean
  /** Its own budget, apart from the job's. Default: 3 times, a second apart. */
  readonly retry?: RetryOptions
  readonly run: (input: ValueOf<S>, context: EffectContext) => unknown
  /** Did it happen? Asked when a worker died after it was started. */
  readonly reconcile?: (
    input: ValueOf<S>,
    context: EffectContext,
  ) => Reconciled | Promise<Reconciled>
}

/** An effect to be promised by a commit. */
export interface EffectCall<Name extends string = string> {
  readonly effect: Name
  readonly definition: AnyEffect
  readonly input: unknown
}

export interface EffectDefinition<Name extends string = string, Given = never> {
  /** Makes a promise of it, for `commit`. Nothing happens before the commit is durable. */
  (...input: Given extends undefined ? [] : [input: Given]): EffectCall<Name>
  readonly effectName: Name
  readonly schema: MaybeSchema
  readonly idempotent: boolean
  readonly retry: RetryPolicy
  readonly run: (input: never, context: EffectContext) => unknown
  readonly reconcile: EffectOptions<undefined>['reconcile'] | null
}

/** Whatever its types. */
// oxlint-disable-next-line typescript/no-explicit-any -- inputs differ, and are checked where they are given
export type AnyEffect = EffectDefinition<string, any>

/**
 * The calls of effects that the handler which runs now has made: one that no commit has was meant to happen, and
 * would not. Empty outside of handlers, and of jobs without effects.
 */
export const effectCalls = new AsyncLocalStorage<Set<EffectCall>>()

const EFFECT_OPTIONS = new KnownOptions<EffectOptions<MaybeSchema>>({
  input: true,
  idempotent: true,
  retry: true,
  run: true,
  reconcile: true,
})

export function effect<const Name extends string, S extends MaybeSchema = undefined>(
  name: Name,
  options: EffectOptions<S>,
): EffectDefinition<Name, GivenTo<S>> {
  assertName(name, 'An effect')
  const what = `effect '${name}'`
  EFFECT_OPTIONS.assert(options, what, `effect('${name}', { run: (input, { key }) => … })`)
  assertSchema(options.input, 'input', what)
  if (typeof options.run !== 'function') {
    throw new InvalidDefinition(`Effect '${name}' does nothing: give it a function \`run\`.`)
  }
  const promise = (input?: unknown): EffectCall<Name> => {
    const call = { effect: name, definition, input }
    effectCalls.getStore()?.add(call)
    return call
  }
  const definition = Object.assign(promise, {
    effectName: name,
    schema: options.input,
    idempotent: options.idempotent ?? false,
    retry: checkedRetry(options.retry, what),
    run: options.run,
    reconcile: options.reconcile ?? null,
  }) as unknown as EffectDefinition<Name, GivenTo<S>>
  return definition
}
