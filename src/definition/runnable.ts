/**
 * What a worker runs: a job, or one stage of a pipeline; and what its handler is given.
 */
import type { ArtifactDraft, ArtifactRef, StoredArtifact } from './artifact.ts'
import type { ChildCall, HandlerCommit } from './commit.ts'
import type { AnyEffect, EffectCall } from './effect-definition.ts'
import { InvalidDefinition } from './errors.ts'
import type { InputTerms } from './job-spec.ts'
import { shown } from './known-options.ts'
import type { AnyMessage } from './message-definition.ts'
import type { StalledRule } from './policy.ts'
import type { RetryAfter } from './retry-after.ts'
import type { GivenTo, MaybeSchema, StandardSchema, ValueOf } from './standard-schema.ts'
import type { RunWaits } from './waiting.ts'

export interface JobDetails {
  readonly id: string
  readonly type: string
  /** From 1; counts every time the job was handed to a worker. */
  readonly attempt: number
  /** The number of the lease: a fencing token that only grows. */
  readonly lease: number
  readonly queue: string
  readonly priority: number
  /** As its submit gave it; undefined: it gave none. */
  readonly metadata: unknown
  /** The schedule that it came from, and the time that it stands for; else null. */
  readonly schedule: { readonly id: string; readonly time: Date } | null
}

/** What a handler is given. Its functions need no `this`: handlers take them apart. */
export interface RunContext<
  Value,
  Effects extends readonly AnyEffect[],
  Messages extends readonly AnyMessage[] = readonly AnyMessage[],
  Given = never,
> extends RunWaits<Messages> {
  readonly input: Value
  readonly job: JobDetails
  /** Aborted with an `Aborted` as its reason: lease lost, cancelled, timed out, shutdown or suspended. */
  readonly signal: AbortSignal
  /**
   * Runs `work` and records what it gives, durably; a later attempt gets the record and does
   * not run it. It saves work, and is no place for effects: it may run more than once.
   */
  step<T>(this: void, name: string, work: () => T | Promise<T>): Promise<T>
  /**
   * Appends to a stream of the job that lasts, to be read by `handle.stream(name)`. Durable when it is
   * resolved, and at the latest with the end of the attempt; it need not be awaited.
   */
  emit(this: void, name: string, value: unknown): Promise<void>
  /** How far it got, to be shown: a number from 0 to 1, or any JSON value. Not durable. */
  progress(this: void, value: unknown): void
  /** A line of text, to be shown. Not durable. */
  log(this: void, line: string): void
  /** A file to write, or to take over from an earlier attempt. Its reference is to be returned. */
  artifact(this: void, name: string): ArtifactDraft
  /** A file that a handler wrote, checked before a byte of it is used. */
  openArtifact(this: void, ref: ArtifactRef): Promise<StoredArtifact>
  /**
   * To be returned: the run is over, and the next one begins from the top with this input, without the steps
   * and waits of this one. Messages that were not taken stay. Not in a stage, and not in a batch.
   */
  continueWith(this: void, ...input: Given extends undefined ? [] : [input: Given]): never
  /** The boundary, to be returned: output, effects and children become durable as one. */
  commit<Output>(
    this: void,
    output: Output,
    effects?: readonly EffectCall<Effects[number]['effectName']>[],
    children?: readonly ChildCall[],
  ): HandlerCommit<Output>
}

/** What a handler may return. */
export type Returned<O extends MaybeSchema> = O extends StandardSchema
  ? GivenTo<O> | HandlerCommit<GivenTo<O>>
  : unknown

type OutputIn<R> = StoredOutput<R extends HandlerCommit<infer Output> ? Output : R>

/** Nothing is stored as null. */
type StoredOutput<Output> = Output extends undefined | void ? null : Output

/** What `handle.result()` gives. */
export type ResultOf<O extends MaybeSchema, R> = O extends StandardSchema ? ValueOf<O> : OutputIn<R>

/**
 * What an error means: `'terminal'`, no further attempt; `'retryable'`; a `RetryAfter`, retryable at that
 * time; undefined, as by default.
 */
export type Classify = (error: unknown) => 'terminal' | 'retryable' | RetryAfter | undefined

/** How a batch is run: one context for each job, and as many answers, in the same order. */
export interface BatchHandler {
  /** Jobs of one batch, at most. */
  readonly max: number
  readonly run: (
    items: readonly RunContext<never, readonly AnyEffect[]>[],
  ) => readonly unknown[] | Promise<readonly unknown[]>
}

export interface Runnable extends InputTerms {
  /** The name of the stage; null: a plain job. */
  readonly stage: string | null
  readonly output: MaybeSchema
  /** Not stored with the job: the worker looks. */
  readonly stalled: StalledRule
  readonly effects: ReadonlyMap<string, AnyEffect>
  /** That can be sent to it. */
  readonly messages: ReadonlyMap<string, AnyMessage>
  /** A valid artifact of an earlier attempt is the output, and the handler is not run. */
  readonly reuse: 'valid' | null
  readonly classify: Classify | null
  readonly run: (context: RunContext<never, readonly AnyEffect[]>) => unknown
  /** Runs many at once: see `batchJob`. */
  readonly batch: BatchHandler | null
}

/** For messages. */
export function nameOf({ name, stage }: Pick<Runnable, 'name' | 'stage'>): string {
  return stage === null ? `job '${name}'` : `stage '${stage}' of pipeline '${name}'`
}

/** What a job or a stage says of artifacts that are there already. */
export function checkedReuse(
  { reuse, effects = [] }: { readonly reuse?: 'valid'; readonly effects?: readonly AnyEffect[] },
  what: string,
): 'valid' | null {
  if (reuse === undefined) return null
  if (reuse !== 'valid') {
    throw new InvalidDefinition(
      `\`reuse\` of ${what} is 'valid', or left out, not ${String(reuse)}.`,
    )
  }
  if (effects.length === 0) return 'valid'
  throw new InvalidDefinition(
    `\`reuse\` of ${what} does not go with \`effects\`: a handler that is not run promises none. Leave out one of them.`,
  )
}

function nameOfEffect(given: unknown): string {
  return (given as Partial<AnyEffect> | null)?.effectName ?? 'receipt'
}

/** Refuses two effects of one name. */
export function effectsByName(
  what: string,
  effects: readonly AnyEffect[] = [],
): ReadonlyMap<string, AnyEffect> {
  if (!Array.isArray(effects)) {
    throw new InvalidDefinition(
      `\`effects\` of ${what} is a list, not ${shown(effects)}. Write effects: [${nameOfEffect(effects)}].`,
    )
  }
  const byName = new Map<string, AnyEffect>()
  for (const one of effects as readonly AnyEffect[]) {
    if (typeof one?.effectName !== 'string') {
      throw new InvalidDefinition(
        `\`effects\` of ${what} has ${shown(one)} in it, and takes effects, such as effect('…', { run }) gives.`,
      )
    }
    if (byName.has(one.effectName)) {
      throw new InvalidDefinition(
        `${what.charAt(0).toUpperCase()}${what.slice(1)} has two effects named '${one.effectName}': rename one.`,
      )
    }
    byName.set(one.effectName, one)
  }
  return byName
}
