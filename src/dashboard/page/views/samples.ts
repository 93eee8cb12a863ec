/**
 * How quickly entries are written, from what the engine counted at the times that this page asked.
 */
import type { AnswerOf } from '../api.ts'

export interface Sample {
  readonly at: number
  /** When the engine began to count: after that it counts from nothing. */
  readonly since: string
  readonly entries: Readonly<Partial<Record<string, number>>>
}

const MOST = 90

export function withSample(
  samples: readonly Sample[],
  { now, since, entries }: AnswerOf<'metrics'>,
): readonly Sample[] {
  const at = Date.parse(now)
  const last = samples.at(-1)
  if (last !== undefined && last.since === since && at <= last.at) return samples
  const kept = last?.since === since ? samples : []
  return [...kept, { at, since, entries }].slice(-MOST)
}

/** Entries of these types, a second, between two samples each. */
export function rates(samples: readonly Sample[], types: readonly string[]): readonly number[] {
  return samples.slice(1).map((one, i) => {
    const before = samples[i] as Sample
    const seconds = Math.max(0.001, (one.at - before.at) / 1_000)
    const more = types.reduce(
      (sum, type) => sum + (one.entries[type] ?? 0) - (before.entries[type] ?? 0),
      0,
    )
    return more / seconds
  })
}
