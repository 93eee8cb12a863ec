/**
 * Nobody could say whether an effect happened: the user's `reconcile` failed. Nothing is lost:
 * it is asked again when the lease has run out, and held for a person when its retries are used up.
 */
import { PawlError } from '../../kernel/index.ts'
import type { UnfinishedEffect } from '../../store/index.ts'
import type { EffectOutcome } from '../handler/effect-handler.ts'
import type { Died } from '../handler/executor.ts'

export class ReconcileFailed extends PawlError {
  constructor(job: string, effect: string, key: string, why: string) {
    super(
      'ReconcileFailed',
      'retryable',
      `Effect '${effect}' of job ${job} (${key}) could not be reconciled, and is asked about again when the lease has run out, as long as it has retries: ${why}`,
      { job, effect, key },
    )
  }
}

/** By what came of asking instead of an answer. */
export function reconcileFailed(
  job: string,
  { key, promise }: UnfinishedEffect,
  asked: EffectOutcome | Died,
): ReconcileFailed {
  const why = asked.kind === 'failure' ? asked.failure.message : JSON.stringify(asked)
  return new ReconcileFailed(job, promise.name, key, why)
}
