/**
 * How a source document maps to Pawl: each name in it, each sentence that asks for something, and each
 * question that it leaves open.
 *
 * What stands in backticks in the third column of the names must exist in the kernel: a test looks it up.
 * A name that has no counterpart says so in plain words. What a demand and an answer name as their tests
 * must exist, too.
 */
import type { TestName } from './tests.ts'

export type NameKind = 'entity' | 'state' | 'event' | 'field' | 'operation' | 'error' | 'rule'

/** The name there, what it is, what it is here, and a note where Pawl departs. */
export type SourceName = readonly [name: string, kind: NameKind, here: string, note?: string]

/** What it asks for, shortened; the tests that fail if that does not hold; and where Pawl departs. */
export type Demand = readonly [asks: string, heldBy: readonly TestName[], departure?: string]

export type OpenQuestion = readonly [question: string, answer: string, heldBy: readonly TestName[]]

/** What documents say, what is so here, why, and the tests that show it. */
export type Departure = readonly [
  says: string,
  here: string,
  why: string,
  heldBy: readonly TestName[],
]

export interface SourceDocument {
  readonly number: string
  readonly title: string
  readonly names: readonly SourceName[]
  /** By the section of the document, in its order. */
  readonly demands: Readonly<Record<string, readonly Demand[]>>
  readonly questions?: readonly OpenQuestion[]
}
