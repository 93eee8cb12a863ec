/**
 * A claim of a worker that serves many channels, or that only polls, names only those that have something: it
 * reads, locks and waits for nothing of the others. If more of them have something than it may get tasks, it names
 * those whose first tasks come first: what is best of all is in these. Which they are is a proposal: a task that
 * becomes ready meanwhile is for the next claim.
 */
import type { ChannelName, ClaimRequest } from '../../claim-request.ts'
import type { Connection, Row } from '../connection.ts'
import { channelName, lastChanceChannelName, suspectChannelName } from '../rows/work-rows.ts'
import type { TransactionContext } from '../transaction/context.ts'

/** A claim for so many channels is as quick without asking first. */
const FEW_CHANNELS = 32
/** Tasks that became due: as many as one claim handles. */
const MOST_DUE = 500

export interface BusyRequest {
  readonly request: ClaimRequest
  /** Other channels have something, too. */
  readonly hasOthers: boolean
}

export function hasManyChannels({ channels }: ClaimRequest): boolean {
  return channels.length > FEW_CHANNELS
}

export async function withBusyChannels(
  connection: Connection,
  request: ClaimRequest,
  context: TransactionContext,
): Promise<BusyRequest> {
  const { sql, now } = context
  // One more: then it is known whether all were read.
  const most = request.channels.length + 1
  const statement = { sql: sql.busyChannels, values: [now(), MOST_DUE, most] }
  const [found] = await connection.run([statement])
  const rows = found?.rows ?? []
  const names = new Set(rows.map(([name]) => name as string | null))
  // Not all of them were read; or a limit has room: tasks of any may wait for it.
  if (names.size >= most || names.has(null)) return { request, hasOthers: false }
  const { lastChances = true } = request
  const hasSuspects = ({ queue, type, stage }: ChannelName): boolean => {
    if (names.has(suspectChannelName(queue, type, stage))) return true
    return lastChances && names.has(lastChanceChannelName(queue, type, stage))
  }
  // Nearly always there are none, and to name those of a thousand channels takes a millisecond.
  const mayHaveSuspects = request.suspects !== false && rows.some(isApart)
  const suspects = mayHaveSuspects && request.channels.some(hasSuspects)
  const channels = request.channels.filter((one) => {
    return names.has(channelName(one.queue, one.type, one.stage)) || (suspects && hasSuspects(one))
  })
  const busy = { ...request, channels, suspects }
  return suspects ? { request: busy, hasOthers: false } : withBestChannels(busy, rows, context)
}

/** Whether it may be a channel of tasks that are granted alone; a stage may have such a name, too. */
function isApart([name]: Row): boolean {
  const text = name as string
  return text.endsWith('"suspects"]') || text.endsWith('"last-chances"]')
}

/**
 * Channels of queues that may let nothing through are named in any case: their first tasks may come first for long.
 * So are those of tasks that became due: they have no turn yet.
 */
function withBestChannels(
  request: ClaimRequest,
  rows: readonly Row[],
  { queues }: TransactionContext,
): BusyRequest {
  const most = Math.max(request.max, FEW_CHANNELS)
  if (request.channels.length <= most) return { request, hasOthers: false }
  const places = new Map<string, number>()
  rows
    .filter(([, level]) => level !== null)
    .toSorted(compareFirst)
    .forEach(([name], i) => places.set(name as string, i))
  const due = new Set(rows.filter(([, level]) => level === null).map(([name]) => name as string))
  const open: { readonly one: ChannelName; readonly place: number }[] = []
  const channels: ChannelName[] = []
  for (const one of request.channels) {
    const name = channelName(one.queue, one.type, one.stage)
    const place = places.get(name)
    if (place === undefined || due.has(name) || queues.mayBeRestricted(one.queue))
      channels.push(one)
    else open.push({ one, place })
  }
  if (open.length <= most) return { request, hasOthers: false }
  open.sort((a, b) => a.place - b.place)
  channels.push(...open.slice(0, most).map(({ one }) => one))
  return { request: { ...request, channels }, hasOthers: true }
}

/** As candidates are compared: a higher level, then what is smaller. */
function compareFirst(a: Row, b: Row): number {
  const [, level, ...rest] = a as readonly number[]
  const [, otherLevel, ...others] = b as readonly number[]
  const by = (otherLevel as number) - (level as number)
  if (by !== 0) return by
  for (let i = 0; i < rest.length; i++) {
    const difference = (rest[i] as number) - (others[i] as number)
    if (difference !== 0) return difference
  }
  return 0
}
