/**
 * Which jobs in quarantine are meant, and what is said about a call that changes many of them at once. Such a call
 * says which jobs: by a filter, by their ids, or that all are meant.
 */
import type { AnyJob, OptionNames } from '../../definition/index.ts'
import { InvalidDefinition, KnownOptions } from '../../definition/index.ts'
import type { Actor } from '../actor.ts'
import { assertTrueOrAbsent } from '../true-or-absent.ts'
import type { PaceOptions, BulkReport } from './batch-run.ts'

export interface QuarantineFilter {
  readonly type?: string
  readonly queue?: string
  readonly tag?: string
  readonly group?: string
  /** Of the error. */
  readonly code?: string
  /** Of the error: see `groups`. */
  readonly fingerprint?: string
}

/** A page of them. */
export interface QuarantineListFilter extends QuarantineFilter {
  /** Jobs with an effect whose outcome a person has to say; also pipelines that still run. */
  readonly heldEffects?: true
  /** `next` of the page before. */
  readonly after?: number
  /** Default 100. */
  readonly limit?: number
}

export interface QuarantineSelection extends QuarantineFilter, Actor, PaceOptions {
  /** Only these jobs, as far as the filter lets them through. */
  readonly ids?: readonly string[]
  /** Every job in quarantine. Must be said if there is neither a filter nor `ids`. */
  readonly all?: true
  /** Told after each batch. */
  readonly onProgress?: (report: BulkReport) => void
}

export interface RedriveOptions extends QuarantineSelection {
  /**
   * A new input for each, or a function that makes it from the old one. Both are of the version
   * that the job was submitted under. Steps that were recorded are dropped.
   */
  readonly input?: unknown
  /** Checks the new input. Default: the definition that this engine last worked or submitted by. */
  readonly definition?: AnyJob
}

const FILTER: OptionNames<QuarantineFilter> = {
  type: true,
  queue: true,
  tag: true,
  group: true,
  code: true,
  fingerprint: true,
}
const SELECTION: OptionNames<QuarantineSelection> = {
  ...FILTER,
  by: true,
  reason: true,
  ids: true,
  all: true,
  dryRun: true,
  rate: true,
  onProgress: true,
  signal: true,
}
const GROUPS = new KnownOptions<QuarantineFilter>(FILTER)
const PAGE = new KnownOptions<QuarantineListFilter>({
  ...FILTER,
  heldEffects: true,
  after: true,
  limit: true,
})
const CHANGES = {
  discard: new KnownOptions<QuarantineSelection>(SELECTION),
  redrive: new KnownOptions<RedriveOptions>({ ...SELECTION, input: true, definition: true }),
}
const SELECTING: readonly string[] = [...Object.keys(FILTER), 'ids']

export function assertFilter(filter: unknown, call: 'groups' | 'list'): void {
  const known = call === 'groups' ? GROUPS : PAGE
  const what = `quarantine.${call}()`
  known.assertFilter(filter, what, ['after', 'limit'])
  const { heldEffects } = filter as { readonly heldEffects?: unknown }
  assertTrueOrAbsent(heldEffects, 'heldEffects', what)
}

export function assertSelection(given: unknown, call: 'discard' | 'redrive'): void {
  const what = `quarantine.${call}()`
  CHANGES[call].assertFilter(
    given,
    what,
    Object.keys({ ...SELECTION, input: true, definition: true }).filter(isFree),
  )
  const { all } = given as { readonly all?: unknown }
  assertTrueOrAbsent(all, 'all', what)
  const filters = SELECTING.filter((name) => name in (given as object))
  if ((all === true) !== filters.length > 0) return
  throw new InvalidDefinition(
    all === true
      ? `${what} is given \`all\` and \`${filters.join('`, `')}\`: leave out one or the other.`
      : `${what} does not say which jobs: give a filter such as { type: 'mail' }, or { ids }, or { all: true } for every job in quarantine.`,
  )
}

/** It says how, and not which jobs: undefined is as good as left out. */
function isFree(name: string): boolean {
  return !SELECTING.includes(name)
}
