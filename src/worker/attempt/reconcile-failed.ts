/**
 * The user's `reconcile` failed. Nothing is lost: it is asked again when the lease has run out, and
 * the effect is held for a person when its retries are used up.
 */
import { PawlError } from '../../kernel/index.ts'
import type { UnfinishedEffect } from '../../store/index.ts'
import type { Died, EffectOutcome } from '../handler/executor.ts'

export class ReconcileFailed extends PawlError {
  constructor(job: string, { key, promise }: UnfinishedEffect, outcome: EffectOutcome | Died) {
    const { name: effect } = promise
    const why = outcome.kind === 'failure' ? outcome.failure.message : JSON.stringify(outcome)
    super(
      'ReconcileFailed',
      'retryable',
      `Effect '${effect}' of job ${job} (${key}) could not be reconciled, and is asked about again when the lease has run out, as long as it has retries: ${why}`,
      { job, effect, key },
    )
  }
}
