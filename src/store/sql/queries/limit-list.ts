/**
 * Pages of the limits of which something is used now, in order of their keys. Rows that say nothing any more are passed over:
 * a page reads a bounded number of them, and may be short.
 */
import type { TaskAddress } from '../../../kernel/index.ts'
import { isWritable } from '../../../kernel/wellformed.ts'
import type { LimitsPage, LimitSummary } from '../../read-model.ts'
import type { QueryOf } from '../../store.ts'
import type { Connection, Row } from '../connection.ts'
import type { JobQueries, QueryContext } from './job-queries.ts'

/** Rows that are read at once, and how often for a page. */
const FEWEST_ROWS = 200
const MOST_READS = 10
/** Leases whose tasks are asked for the bounds of their limits. */
const MOST_LEASES = 200

type FoundLimit = Omit<LimitSummary, 'bounds'>

export async function limitsPage(
  context: QueryContext,
  jobs: JobQueries,
  connection: Connection,
  query: QueryOf<'limits'>,
): Promise<LimitsPage> {
  const { found, next } = await usedLimits(context, connection, query)
  const bounds = found.some(({ held }) => held > 0)
    ? await boundsAtHand(context, jobs, connection)
    : NO_BOUNDS
  const limits = found.map(({ key, held, fullAt }) => {
    return { key, held, fullAt, bounds: bounds.get(key) ?? null }
  })
  return { limits, next }
}

interface UsedLimits {
  readonly found: readonly FoundLimit[]
  readonly next: string | null
}

async function usedLimits(
  { sql, now }: QueryContext,
  connection: Connection,
  { prefix = '', after = '', limit }: QueryOf<'limits'>,
): Promise<UsedLimits> {
  const found: FoundLimit[] = []
  // A text that cannot be written is the beginning of no key.
  if (limit < 1 || !isWritable(prefix)) return { found, next: null }
  const most = Math.max(limit, FEWEST_ROWS)
  // What comes before U+0000, which no key has in it, comes before what has it.
  let [looked = ''] = after.split('\0')
  for (let read = 0; read < MOST_READS; read++) {
    const [clock, answered] = await connection.run([
      { sql: sql.clock, values: [now()] },
      { sql: sql.limitsUsed, values: [looked, prefix, most] },
    ])
    const time = clock?.rows[0]?.[0] as number
    const rows = answered?.rows ?? []
    for (const row of rows) {
      const one = limitOf(row, time)
      // All that begin with it stand together.
      if (!one.key.startsWith(prefix)) return { found, next: null }
      if (one.held > 0 || one.fullAt > 0) {
        if (found.length === limit) return { found, next: looked }
        found.push(one)
      }
      looked = one.key
    }
    if (rows.length < most) return { found, next: null }
  }
  return { found, next: looked }
}

/** The bucket of a rate that is full by now is full. */
function limitOf(row: Row, now: number): FoundLimit {
  const [key, held, fullAt] = row as readonly [string, number, number]
  return { key, held, fullAt: fullAt > now ? fullAt : 0 }
}

const NO_BOUNDS: ReadonlyMap<string, LimitSummary['bounds']> = new Map()

async function boundsAtHand(
  { sql }: QueryContext,
  jobs: JobQueries,
  connection: Connection,
): Promise<ReadonlyMap<string, LimitSummary['bounds']>> {
  const [answered] = await connection.run([{ sql: sql.newestLeases, values: [MOST_LEASES] }])
  const tasks = await jobs.tasksAt(connection, (answered?.rows ?? []).map(addressOf))
  const granted = tasks.flatMap((one) => (one?.task.lease == null ? [] : [one.task]))
  const bounds = new Map<string, LimitSummary['bounds']>()
  const at = ({ lease }: (typeof granted)[number]): number => lease?.grantedAt ?? 0
  for (const { policy } of granted.toSorted((a, b) => at(a) - at(b))) {
    for (const { key, concurrency, rate } of policy.limits) bounds.set(key, { concurrency, rate })
  }
  return bounds
}

function addressOf(row: Row): TaskAddress {
  const [job, stage, segment] = row as readonly [string, number, number]
  return { job, stage, segment }
}
