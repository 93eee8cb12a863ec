/**
 * Where handlers and effects run. The worker holds the lease and reports; an executor runs
 * what the user wrote, here or elsewhere, and says what came of it. It never throws.
 */
import type { AnyEffect, ArtifactPlace, Runnable } from '../../definition/index.ts'
import { InvalidDefinition, nameOf } from '../../definition/index.ts'
import { HandlerBatches } from './handler-batches.ts'
import type { EffectOutcome, EffectRequest } from './effect-handler.ts'
import { runEffect } from './effect-handler.ts'
import { failureOf } from './failure.ts'
import type { HandlerOutcome, HandlerPort, HandlerRequest } from './handler.ts'
import { runHandler } from './handler.ts'
import type { AbortHandle } from './abort-handle.ts'

/** The process or thread it ran in is gone. */
export interface Died {
  readonly kind: 'died'
  readonly why: string
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
  /** Whether something that is told to stop comes to an end soon, whatever it does. */
  readonly endsWhatItStops: boolean
  /** Lets go of what it holds. What runs in children is ended. */
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
    const failure = failureOf(missingEffect(definition, request.name))
    return Promise.resolve({ kind: 'failure', failure })
  },
  async close() {
    // Nothing is held.
  },
}

export function effectIn(definition: Runnable, name: string): AnyEffect | null {
  return definition.effects.get(name) ?? null
}

export function missingEffect(definition: Runnable, name: string): InvalidDefinition {
  return new InvalidDefinition(
    `A commit promised the effect '${name}', and ${nameOf(definition)} of this worker has no such effect: put it back among its \`effects\`.`,
    { type: definition.name, effect: name },
  )
}
