/**
 * Runs an effect once, or asks whether it happened: wherever it is to run, as `handler.ts`
 * does for handlers.
 */
import type { AnyEffect, ArtifactPlace, EffectContext } from '../../definition/index.ts'
import { fromJson, InvalidDefinition, validatedStored } from '../../definition/index.ts'
import type { Failure, Payload } from '../../kernel/index.ts'
import { openStored, withinReach } from '../artifact/index.ts'
import { failureOf } from './failure.ts'
import type { AbortHandle } from './abort-handle.ts'

export interface EffectRequest {
  readonly name: string
  readonly ask: 'run' | 'reconcile'
  readonly input: Payload
  readonly key: string
  readonly fence: number
  readonly job: { readonly id: string; readonly type: string }
  /** The stage whose commit promised it; null: a plain job. */
  readonly stage: string | null
}

export type EffectOutcome =
  | { readonly kind: 'finished' }
  | { readonly kind: 'reconciled'; readonly outcome: 'happened' | 'again' }
  | { readonly kind: 'failure'; readonly failure: Failure }

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
    return { kind: 'failure', failure: failureOf(error) }
  }
}
