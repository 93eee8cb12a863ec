/**
 * What the story of a failure mode hands back: the authority it ran on, what happened outside,
 * and what everybody was told.
 */
import type { Decision } from '../kernel/index.ts'
import type { Authority } from './authority.ts'
import type { DeedLedger } from './deed-ledger.ts'

/** `committed`, `cancelled`, or `rejected: <code> by <check>`. */
export type ToldAnswer = string

export interface Story {
  readonly authority: Authority
  readonly ledger: DeedLedger
  readonly answers: Readonly<Record<string, ToldAnswer>>
}

export function answerOf({ verdict, rejection }: Decision): ToldAnswer {
  return rejection === null ? verdict : `${verdict}: ${rejection.code} by ${rejection.check}`
}

/** The numbers of the invariants that were broken, each once, in order. */
export function brokenInvariants(authority: Authority): number[] {
  const numbers = new Set<number>(authority.violations.map((one) => one.invariant))
  return [...numbers].toSorted((a, b) => a - b)
}
