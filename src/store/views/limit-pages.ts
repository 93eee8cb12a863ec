/**
 * Pages of the limits of which something is used now, in order of their keys, from a ledger.
 */
import type { Usage } from '../../kernel/index.ts'
import type { LimitsPage } from '../read-model.ts'
import type { Ledger } from '../state/ledger.ts'
import type { QueryOf } from '../store.ts'

/** Keys that are put in order at once, beside those of the page. */
const MOST_UNSORTED = 1_000

/** Every key that the ledger knows is looked at, and only as many as a page has are kept in order. */
export function limitsPage(
  ledger: Ledger,
  { prefix = '', after = '', limit }: QueryOf<'limits'>,
): LimitsPage {
  if (limit < 1) return { limits: [], next: null }
  let keys: string[] = []
  let isMore = false
  for (const [key, usage] of ledger.usage) {
    if (key <= after || !key.startsWith(prefix) || !isUsed(usage, ledger.now)) continue
    // Behind a page that is full already.
    if (isMore && key > (keys[limit - 1] as string)) continue
    keys.push(key)
    if (keys.length <= limit + MOST_UNSORTED) continue
    keys = keys.toSorted(byUnits).slice(0, limit)
    isMore = true
  }
  isMore ||= keys.length > limit
  keys = keys.toSorted(byUnits).slice(0, limit)
  const next = isMore ? (keys.at(-1) ?? null) : null
  return { limits: keys.map((key) => summary(ledger, key)), next }
}

function isUsed({ held, fullAt }: Usage, now: number): boolean {
  return held > 0 || fullAt > now
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : 1
}

function summary(ledger: Ledger, key: string): LimitsPage['limits'][number] {
  const { held, fullAt } = ledger.usage.get(key) as Usage
  const bounds = ledger.ready.boundsOf(key)
  return {
    key,
    held,
    fullAt: fullAt > ledger.now ? fullAt : 0,
    bounds: bounds === null ? null : { concurrency: bounds.concurrency, rate: bounds.rate },
  }
}
