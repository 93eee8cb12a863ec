/**
 * The limits that jobs declare, page by page: of those that something of is used now, how much, and what bounds it.
 */
import type { LimitSummary, Store } from '../../store/index.ts'

export interface LimitListItem {
  readonly key: string
  /** Tasks that hold a lease under it. */
  readonly held: number
  /** When its rate is whole again: then a burst may start. Null: it is. */
  readonly wholeAt: Date | null
  /**
   * What a job that waits or runs declares of it; null: none is at hand. Each job is bound by what it declares itself.
   * In a database only the 200 leases that run out last are asked.
   */
  readonly bounds: {
    /** How many may run at once; null: no bound. */
    readonly concurrency: number | null
    /** How many may start in a period; null: no bound. */
    readonly rate: { readonly count: number; readonly perMs: number } | null
  } | null
}

export interface LimitsFilter {
  /** Their keys begin with it. */
  readonly prefix?: string | undefined
  /** `next` of the page before. */
  readonly after?: string | undefined
  /** Default 100. */
  readonly limit?: number | undefined
}

export interface LimitList {
  /** In order of their keys. A page may be short. */
  readonly limits: readonly LimitListItem[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: string | null
}

export async function listLimits(
  store: Store,
  { prefix = '', after = '', limit = 100 }: LimitsFilter,
): Promise<LimitList> {
  const { limits, next } = await store.query({ kind: 'limits', prefix, after, limit })
  return { limits: limits.map(listItem), next }
}

function listItem({ key, held, fullAt, bounds }: LimitSummary): LimitListItem {
  return { key, held, wholeAt: fullAt === 0 ? null : new Date(Math.ceil(fullAt)), bounds }
}
