/**
 * What a claim looks at: tasks that stand in line in its channels.
 */
import type { ClaimRequest } from '../../store.ts'
import type { Statement, Row } from '../connection.ts'
import type { WorkingSet } from '../transaction/working-set.ts'
import { LockPlan } from '../transaction/lock-plan.ts'
import type { LoadedColumns } from '../rows/work-rows.ts'
import { channelName, loadedColumns, LOWEST_LEVEL } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'
import type { TransactionContext } from '../transaction/context.ts'

export interface CandidateChannel {
  readonly channel: string
  /** Only what has at least this one. */
  readonly level: number
  readonly most: number
}

export interface Candidate {
  readonly columns: LoadedColumns
  /** Where its entry will stand. */
  position: number
}

/** The channels of a request, each from a level on; without `levelOf`, all that is in them. */
export function channelsOf(
  { channels }: ClaimRequest,
  most: number,
  levelOf: (queue: string) => number = () => LOWEST_LEVEL,
): CandidateChannel[] {
  return channels.map(({ queue, type, stage }) => {
    return { channel: channelName(queue, type, stage), level: levelOf(queue), most }
  })
}

interface FirstLook {
  /** The queues of the request, until they are loaded. */
  readonly needed: () => LockPlan
  /** What has become due, limits whose time has come, candidates. */
  readonly asks: readonly Statement[]
}

/** How a claim begins. `mostDue`: of what comes before the candidates. */
export function firstLook(
  loaded: WorkingSet,
  { channels }: ClaimRequest,
  among: readonly CandidateChannel[],
  mostDue: number,
  { sql, now, queues }: TransactionContext,
): FirstLook {
  return {
    needed: () => {
      const needs = new LockPlan(loaded, queues)
      for (const { queue } of channels) if (!loaded.queues.isLoaded(queue)) needs.queues.add(queue)
      return needs
    },
    asks: [
      { sql: sql.becameDue, values: [now(), mostDue] },
      { sql: sql.wokenLimits, values: [now(), mostDue] },
      look(sql, among, now()),
    ],
  }
}

/** `now`: null: the database's own. */
export function look(
  { candidates }: Statements,
  channels: readonly CandidateChannel[],
  now: number | null,
): Statement {
  // The last is how many positions the channels before it may take.
  const rows = channels.map(({ channel, level, most }, i) => [channel, level, most, now, i * most])
  return { sql: candidates, rows }
}

/** The best first. SQLite answers channel by channel. */
export function inOrder(rows: readonly Row[]): Candidate[] {
  const found = rows.map((row) => ({
    columns: loadedColumns(row, 0, (row[14] ?? null) as number | null),
    position: row[10] as number,
    level: row[11] as number,
    rank: row[12] as number,
    place: row[13] as number,
  }))
  return found.toSorted(
    (a, b) =>
      b.level - a.level ||
      (a.columns.turn as number) - (b.columns.turn as number) ||
      a.rank - b.rank ||
      a.place - b.place ||
      a.columns.segment - b.columns.segment,
  )
}
