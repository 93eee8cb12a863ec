/**
 * Entries of the log, a few at a time: those behind a position, from the stream that goes on without end. It is left as soon
 * as there are enough of them, or none has come for a moment.
 */
import { follow } from './api.ts'
import { afterDelay } from './clock.ts'

/** As far as it is shown. */
export interface LogEntry {
  readonly position: number
  readonly type: string
  readonly at: number
  /** Null: it is about no job. */
  readonly job: string | null
  /** Of whom, or of what; null: it does not say so. */
  readonly by: string | null
}

interface WrittenEntry {
  readonly type: string
  readonly at: number
  readonly job?: string
  readonly by?: string
  readonly worker?: string
  readonly queue?: string
  readonly schedule?: string
}

/** The server sends what there is at once. */
const QUIET_MS = 400

export interface EntriesAsked {
  /** Behind this position. */
  readonly after: number
  /** Up to and with this one. Default: without end. */
  readonly through?: number
  readonly most: number
}

export async function entriesBehind(
  { after, through = Infinity, most }: EntriesAsked,
  ended: AbortSignal,
): Promise<readonly LogEntry[]> {
  const found: LogEntry[] = []
  const enough = new AbortController()
  const leave = (): void => enough.abort()
  ended.addEventListener('abort', leave)
  let stopWaiting = afterDelay(QUIET_MS * 5, leave)
  await follow<WrittenEntry>(
    'store.watch',
    { from: after },
    (entry, id) => {
      stopWaiting()
      const position = Number(id)
      if (position <= through && found.length < most) found.push(shownEntry(entry, position))
      if (position >= through || found.length >= most) return leave()
      stopWaiting = afterDelay(QUIET_MS, leave)
    },
    enough.signal,
  ).catch((error: unknown) => {
    if (!enough.signal.aborted) throw error
  })
  stopWaiting()
  ended.removeEventListener('abort', leave)
  return found
}

function shownEntry(entry: WrittenEntry, position: number): LogEntry {
  const { type, at, job = null, by, worker, queue, schedule } = entry
  return { position, type, at, job, by: by ?? worker ?? queue ?? schedule ?? null }
}
