/**
 * The effects that a commit has just promised, as the worker that carries them out needs them.
 */
import type { EffectPromise, LeaseAddress } from '../../kernel/index.ts'
import { effectKey } from '../../kernel/index.ts'
import type { UnfinishedEffect } from '../../store/index.ts'

export function promisedEffects(
  { job, stage, segment }: LeaseAddress,
  effects: readonly EffectPromise[],
): UnfinishedEffect[] {
  return effects.map((promise, effect) => ({
    effect,
    key: effectKey(job, stage, segment, effect),
    promise,
    state: 'PROMISED',
    starts: [],
    retries: 0,
  }))
}
