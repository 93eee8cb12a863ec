/**
 * What both ways to claim share: the channels of a request, what a claim reads first, its candidates in
 * the order in which they are offered, and its result.
 */
import { isWritable } from '../../../kernel/wellformed.ts'
import type { ClaimRequest } from '../../claim-request.ts'
import type { Claimed } from '../../store.ts'
import type { Row, Statement } from '../connection.ts'
import type { LoadedColumns } from '../rows/work-rows.ts'
import {
  channelName,
  lastChanceChannelName,
  loadedColumns,
  LOWEST_LEVEL,
  suspectChannelName,
} from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'
import type { TransactionContext } from '../transaction/context.ts'
import { LockPlan } from '../transaction/lock-plan.ts'
import type { AppliedEntry, WorkingSet } from '../transaction/working-set.ts'

export interface ClaimResult {
  readonly leases: readonly Claimed[]
  readonly applied: readonly AppliedEntry[]
  /** After so long a task that was stopped or skipped may be free; null: time does not help. */
  readonly retryInMs: number | null
  /** It gave turns to tasks of other channels that became due: no other process notices that. */
  readonly enqueuedForOthers: boolean
}

export interface CandidateChannel {
  readonly channel: string
  /** Only tasks of at least this level. */
  readonly level: number
  readonly most: number
}

export interface Candidate {
  readonly columns: LoadedColumns
  /** Of its entry, if it is granted. */
  position: number
}

/** The request without channels whose names cannot be written: no task is in them. */
export function withWritableChannels(request: ClaimRequest): ClaimRequest {
  const channels = request.channels.flatMap(({ queue, type, stage }) => {
    const names = stage === null ? [queue, type] : [queue, type, stage]
    return names.every(isWritable) ? { queue, type, stage } : []
  })
  return { ...request, channels }
}

/**
 * A claim locks, in each channel, as many candidates as it may get in all, because all of them may be in
 * one. So it claims the less ahead the more channels it has: else it would lock many times what it gets,
 * and other processes pass over what is locked.
 */
export function withLessAhead(request: ClaimRequest): ClaimRequest {
  const { ahead = 0, channels } = request
  return channels.length < 2 ? request : { ...request, ahead: Math.ceil(ahead / channels.length) }
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

/**
 * The channels of tasks that are granted alone: one candidate of each, since a claim gets one if it is the best
 * of all. None, if the request wants none.
 */
export function suspectChannelsOf(
  { channels, suspects, lastChances = true, max }: ClaimRequest,
  levelOf: (queue: string) => number = () => LOWEST_LEVEL,
): CandidateChannel[] {
  if (suspects === false || max === 0) return []
  return channels.flatMap(({ queue, type, stage }) => {
    const names = [suspectChannelName(queue, type, stage)]
    if (lastChances) names.push(lastChanceChannelName(queue, type, stage))
    return names.map((channel) => ({ channel, level: levelOf(queue), most: 1 }))
  })
}

interface FirstReads {
  /** The queues of the request, until they are loaded. */
  readonly missing: () => LockPlan
  /** → tasks that became due, limits to wake, candidates. */
  readonly statements: readonly Statement[]
}

/** `mostDue`: of the tasks that became due, and of the limits to wake. */
export function firstReads(
  loaded: WorkingSet,
  { channels }: ClaimRequest,
  candidateChannels: readonly CandidateChannel[],
  mostDue: number,
  { sql, now, queues }: TransactionContext,
): FirstReads {
  return {
    missing: () => {
      const plan = new LockPlan(loaded, queues)
      for (const { queue } of channels) plan.addQueue(queue)
      return plan
    },
    statements: [
      { sql: sql.lockDueTasks, values: [now(), mostDue] },
      { sql: sql.limitsToWake, values: [now(), mostDue] },
      lockCandidates(sql, candidateChannels, now()),
    ],
  }
}

/** `now`: null: the database's own. */
export function lockCandidates(
  { candidates }: Statements,
  channels: readonly CandidateChannel[],
  now: number | null,
): Statement {
  // The last value is how many positions the channels before it may draw.
  let taken = 0
  const rows = channels.map(({ channel, level, most }) => {
    const row = [channel, level, most, now, taken]
    taken += most
    return row
  })
  return { sql: candidates, rows }
}

/** The best first. SQLite answers channel by channel. */
export function candidatesInOrder(rows: readonly Row[]): Candidate[] {
  const found = rows.map((row) => ({
    columns: loadedColumns(row),
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
