/**
 * When silence counts as stalled, and what is done then.
 */
import type { Duration } from './duration.ts'
import { toMs } from './duration.ts'
import { InvalidDefinition } from './errors.ts'

const DEFAULT_STALLED_MS = 600_000

/** A worker lives, and nothing is heard of the work: no progress, no line, no step, no effect. */
export interface StalledOptions {
  /** How long nothing may be heard. Default 10 minutes. */
  readonly after?: Duration
  /**
   * Its lease is taken away, and it is tried again, which costs a retry. Default false: people are
   * told, and it goes on.
   */
  readonly recover?: boolean
}

export interface StalledRule {
  readonly afterMs: number
  readonly recover: boolean
}

export function stalledRule(options: StalledOptions | undefined, what: string): StalledRule {
  const { after, recover = false } = options ?? {}
  const afterMs =
    after === undefined ? DEFAULT_STALLED_MS : toMs(after, `\`stalled.after\` of ${what}`)
  if (afterMs > 0) return { afterMs, recover }
  throw new InvalidDefinition(`\`stalled.after\` of ${what} must be more than 0.`)
}
