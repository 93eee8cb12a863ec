/**
 * When a failed task or effect is tried again: a pure function of the policy and the attempt.
 *
 * Jitter is hashed, not drawn, so the same failure always waits the same time and different
 * tasks that failed together come back apart.
 */
import type { RetryPolicy } from './model.ts'

/** Frozen: it is in every policy that says nothing else, and a change would be in all of them. */
export const DEFAULT_RETRY: RetryPolicy = Object.freeze({
  max: 3,
  backoff: 'fixed',
  delayMs: 1_000,
  capMs: 3_600_000,
  delaysMs: Object.freeze([]),
  jitter: 0,
})

/** The delay before the given retry (1 is the first); `seed` names the task or effect. */
export function retryDelayMs(policy: RetryPolicy, retry: number, seed: string): number {
  const delay = plainDelayMs(policy, retry)
  if (policy.jitter === 0 || delay === 0) return delay
  const varied = delay * policy.jitter
  return Math.floor(delay - varied + varied * fraction(`${seed}#${retry}`))
}

function plainDelayMs(policy: RetryPolicy, retry: number): number {
  switch (policy.backoff) {
    case 'fixed':
      return policy.delayMs
    case 'exponential':
      return Math.min(policy.capMs, policy.delayMs * 2 ** Math.min(retry - 1, 60))
    case 'list':
      return policy.delaysMs[Math.min(retry, policy.delaysMs.length) - 1] ?? 0
  }
}

/** A number in [0, 1) that looks random but is the same for the same text. */
function fraction(text: string): number {
  return hash32(text, 0) / 2 ** 32
}

/** FNV-1a with a final avalanche: short similar texts must land far apart. */
export function hash32(text: string, seed: number): number {
  let hash = (2_166_136_261 ^ seed) >>> 0
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 2_246_822_507)
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909)
  return (hash ^ (hash >>> 16)) >>> 0
}
