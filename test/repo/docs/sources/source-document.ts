/**
 * How each name in a source document maps to one here.
 *
 * What stands in backticks in the third column must exist in the kernel: a test looks it up.
 * A name that has no counterpart yet, or never will, says so in plain words.
 */

export type NameKind = 'entity' | 'state' | 'event' | 'field' | 'operation' | 'error' | 'rule'

/** The name there, what it is, what it is here, and a note where Pawl departs. */
export type SourceName = readonly [name: string, kind: NameKind, here: string, note?: string]

export interface SourceDocument {
  readonly number: string
  readonly title: string
  readonly names: readonly SourceName[]
}
