/**
 * What the doctor looked at, and what it found.
 */
export type Fitness = 'fit' | 'mind' | 'unfit'

export interface Finding {
  readonly check: string
  /** mind: it works, and may hurt. */
  readonly verdict: Fitness
  readonly found: string
  /** What to do about it; null: nothing. */
  readonly advice: string | null
}

export function fit(check: string, found: string): Finding {
  return { check, verdict: 'fit', found, advice: null }
}

export function mind(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'mind', found, advice }
}

export function unfit(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'unfit', found, advice }
}
