/**
 * Where handlers and effects run. The worker holds the lease and reports; an executor runs the
 * user's code, in this thread or in children, and gives the outcome. It never throws.
 */
import type { AnyEffect, ArtifactPlace, EffectContext, Runnable } from '../../definition/index.ts'
import { fromJson, InvalidDefinition, nameOf, validatedStored } from '../../definition/index.ts'
import type { Payload } from '../../kernel/index.ts'
import type { AbortHandle } from '../abort-handle.ts'
import { openStored, withinReach } from '../artifact/stored-artifact.ts'
import type { FailureReport } from './failure.ts'
import { failureReport } from './failure.ts'
import { HandlerBatches } from './handler-batches.ts'
import type { HandlerPort, HandlerRequest } from './handler-context.ts'
import type { HandlerOutcome } from './handler.ts'
import { runHandler } from './handler.ts'

export interface EffectRequest {
  readonly name: string
  readonly ask: 'run' | 'reconcile'
  readonly input: Payload
  readonly key: string
  readonly fence: number
  readonly job: { readonly id: string; readonly type: string }
  /** The stage whose commit promised it; null: a plain job. */
  readonly stage: string | null
  /** Of the job; null: none. */
  readonly metadata: Payload | null
}

export type EffectOutcome =
  | { readonly kind: 'finished' }
  | { readonly kind: 'reconciled'; readonly outcome: 'happened' | 'again' }
  | ({ readonly kind: 'failure' } & FailureReport)

export async function runEffect(
  definition: AnyEffect,
  request: EffectRequest,
  artifacts: ArtifactPlace | null,
  abortHandle: AbortHandle,
): Promise<EffectOutcome> {
  const { name, ask, key, fence, job } = request
  try {
    const stored = definition.schema === undefined ? undefined : fromJson(request.input)
    const input = await validatedStored(definition.schema, stored, `The input of effect '${name}'`)
    const context: EffectContext = {
      key,
      fence,
      job,
      signal: abortHandle.signal,
      openArtifact: async (ref) => openStored(withinReach(artifacts, job.id), ref),
    }
    if (ask === 'run') {
      await definition.run(input as never, context)
      return { kind: 'finished' }
    }
    const outcome = await definition.reconcile?.(input as undefined, context)
    if (outcome === 'happened' || outcome === 'again') return { kind: 'reconciled', outcome }
    throw new InvalidDefinition(
      `\`reconcile\` of effect '${name}' must answer 'happened' or 'again', not ${String(outcome)}.`,
      { effect: name, key },
    )
  } catch (error) {
    return { kind: 'failure', ...failureReport(error) }
  }
}

/** The child it ran in is gone. */
export interface Died {
  readonly kind: 'died'
  /** In a sentence: how it ended, and by which error, if that is known. */
  readonly why: string
  /** Of an error that nothing caught in it. */
  readonly stack?: string | null | undefined
}

export interface Executor {
  runJob(
    definition: Runnable,
    request: HandlerRequest,
    port: HandlerPort,
    abortHandle: AbortHandle,
  ): Promise<HandlerOutcome | Died>
  runEffect(
    definition: Runnable,
    request: EffectRequest,
    artifacts: ArtifactPlace | null,
    abortHandle: AbortHandle,
  ): Promise<EffectOutcome | Died>
  /** Whether it ends a run that is told to stop, whatever the run does. */
  readonly endsWhatItStops: boolean
  /** Ends its children, and what runs in them. */
  close(): Promise<void>
}

const batches = new HandlerBatches()

/** In the worker's own thread. */
export const inProcess: Executor = {
  endsWhatItStops: false,
  runJob: (definition, request, port, abortHandle) =>
    definition.batch === null
      ? runHandler(definition, request, port, abortHandle)
      : batches.run(definition, request, port, abortHandle),
  runEffect(definition, request, artifacts, abortHandle) {
    const effect = effectIn(definition, request.name)
    if (effect !== null) return runEffect(effect, request, artifacts, abortHandle)
    const missing = missingEffect(definition, request.name)
    return Promise.resolve({ kind: 'failure', ...failureReport(missing) })
  },
  async close() {
    // Nothing is held.
  },
}

function effectIn(definition: Runnable, name: string): AnyEffect | null {
  return definition.effects.get(name) ?? null
}

function missingEffect(definition: Runnable, name: string): InvalidDefinition {
  return new InvalidDefinition(
    `A commit promised the effect '${name}', and ${nameOf(definition)} of this worker has no such effect: put it back among its \`effects\`.`,
    { type: definition.name, effect: name },
  )
}
