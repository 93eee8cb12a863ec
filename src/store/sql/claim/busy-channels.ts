/**
 * A claim of a worker that serves many channels, or that only polls, names only those that have something: it
 * reads, locks and waits for nothing of the others. Which they are is a proposal: a task that becomes ready meanwhile is for
 * the next claim.
 */
import type { ChannelName, ClaimRequest } from '../../claim-request.ts'
import type { Connection } from '../connection.ts'
import { channelName, lastChanceChannelName, suspectChannelName } from '../rows/work-rows.ts'
import type { TransactionContext } from '../transaction/context.ts'

/** A claim for so many channels is as quick without asking first. */
const FEW_CHANNELS = 32
/** Tasks that became due: as many as one claim handles. */
const MOST_DUE = 500

export function hasManyChannels({ channels }: ClaimRequest): boolean {
  return channels.length > FEW_CHANNELS
}

export async function withBusyChannels(
  connection: Connection,
  request: ClaimRequest,
  { sql, now }: TransactionContext,
): Promise<ClaimRequest> {
  const most = request.channels.length
  const statement = { sql: sql.busyChannels, values: [now(), MOST_DUE, most] }
  const [found] = await connection.run([statement])
  const names = new Set((found?.rows ?? []).map(([name]) => name as string | null))
  // More than it serves, and not all of them were read; or a limit has room: tasks of any may wait for it.
  if (names.size >= most || names.has(null)) return request
  const { lastChances = true } = request
  const hasSuspects = ({ queue, type, stage }: ChannelName): boolean => {
    if (names.has(suspectChannelName(queue, type, stage))) return true
    return lastChances && names.has(lastChanceChannelName(queue, type, stage))
  }
  const suspects = request.suspects !== false && request.channels.some(hasSuspects)
  const channels = request.channels.filter((one) => {
    return names.has(channelName(one.queue, one.type, one.stage)) || (suspects && hasSuspects(one))
  })
  return { ...request, channels, suspects }
}
