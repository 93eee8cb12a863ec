/**
 * Everything that happened to a job: each entry with the state of the job before and after it, who
 * asked for it and why. Moves that only time made have no entry; they are shown between the entries,
 * as `TimePassed`.
 *
 * States are derived from the entries before them. Where a page ended the replay is kept, for a while, for the next
 * one to go on from: so pages that are read one after the other read each entry once. A page from anywhere else
 * reads the entries before it, too.
 */
import type { Entry, JobState } from '../../kernel/index.ts'
import type { PositionedEntry, Store } from '../../store/index.ts'
import { UnknownJob } from '../errors.ts'
import type { StateChange, TimedChange } from './job-replay.ts'
import { JobReplay } from './job-replay.ts'

interface HappenedToJob {
  /** Where its entry stands; of what only time did, the entry before it. */
  readonly position: number
  readonly at: Date
  /** The job's state, derived at that time; null: there was none, or the entries before are gone. */
  readonly from: JobState | null
  readonly to: JobState | null
  /** A person, a worker, `'client'`, `'engine'` or `'time'`. */
  readonly by: string
  readonly reason: string | null
}

/** An entry of the log. */
export interface RecordedItem extends HappenedToJob {
  readonly type: Entry['type']
  readonly entry: Entry
}

/** The job's state changed because time passed: no entry says so. */
export interface TimedItem extends HappenedToJob {
  readonly type: 'TimePassed'
  readonly entry: null
}

export type HistoryItem = RecordedItem | TimedItem

export interface HistoryOptions {
  /** The position of the last item of the page before. */
  readonly after?: number
  /** The last page, as it is now; `after` is of no use then. */
  readonly newest?: boolean
  /** Default 100. */
  readonly limit?: number
}

export interface HistoryPage {
  /** The position of the last item of the page before; `'newest'`: the last page, as it is now. */
  readonly after: number | 'newest'
  /** Entries; what only time did comes on top. */
  readonly limit: number
}

/** Histories that are read page by page at the same time: of more than these, pages read what is before them. */
const MOST_REPLAYS = 4

/** Where pages ended, of an engine. An entry never changes what was before it, so a replay stays right. */
export class HistoryReplays {
  readonly #ends = new Map<string, JobReplay>()

  /** The replay of all entries up to a position; undefined: it is not known. It is the caller's from then on. */
  take(id: string, position: number): JobReplay | undefined {
    const key = `${position} ${id}`
    const found = this.#ends.get(key)
    this.#ends.delete(key)
    return found
  }

  keep(id: string, position: number, replay: JobReplay): void {
    this.#ends.set(`${position} ${id}`, replay)
    const [oldest] = this.#ends.keys()
    if (this.#ends.size > MOST_REPLAYS && oldest !== undefined) this.#ends.delete(oldest)
  }
}

/** `position`: of the last entry that is in it. */
export async function replayUpTo(
  store: Store,
  id: string,
  after: number,
): Promise<{ readonly replay: JobReplay; readonly position: number }> {
  const replay = new JobReplay(id)
  let position = 0
  if (after === 0) return { replay, position }
  for await (const one of entriesOf(store, id)) {
    if (one.position > after) break
    replay.add(one.entry)
    position = one.position
  }
  return { replay, position }
}

/** `now`: the authority's time, as well as it is known. */
export async function jobHistory(
  store: Store,
  id: string,
  page: HistoryPage,
  now: number,
  replays: HistoryReplays,
): Promise<HistoryItem[]> {
  const { limit } = page
  const after = page.after === 'newest' ? await beforeNewest(store, id, limit) : page.after
  const known = replays.take(id, after)
  const begun =
    known === undefined ? await replayUpTo(store, id, after) : { replay: known, position: after }
  const { replay: fold } = begun
  let { position } = begun
  const items: HistoryItem[] = []
  let count = 0
  let isMore = false
  for await (const one of entriesOf(store, id, after, limit + 1)) {
    isMore = count === limit
    if (isMore) break
    const { entry } = one
    // Of an entry that is earlier than the one before it, which other aggregates may have, none.
    for (const change of fold.changesUntil(entry.at)) items.push(timedItem(change, position))
    const by = byWhom(entry, fold)
    items.push(recordedItem(one, fold.add(entry), by))
    position = one.position
    count += 1
  }
  if (isMore) replays.keep(id, position, fold)
  if (count > 0 && !isMore) {
    for (const change of fold.changesUntil(now)) items.push(timedItem(change, position))
  }
  if (items.length === 0) await assertKnown(store, id)
  return items
}

/** Right before the newest entries, so many at most. */
async function beforeNewest(store: Store, job: string, limit: number): Promise<number> {
  const newest = await store.query({ kind: 'history', job, limit, newest: true })
  return newest.length === 0 ? 0 : Math.min(...newest.map(({ position }) => position)) - 1
}

/** Entries that are read at once. */
const PAGE = 50_000

export async function* entriesOf(
  store: Store,
  job: string,
  after = 0,
  most = Infinity,
): AsyncIterable<PositionedEntry> {
  let [last, left] = [after, most]
  while (left > 0) {
    const limit = Math.min(PAGE, left)
    const page = await store.query({ kind: 'history', job, after: last, limit })
    yield* page
    left -= page.length
    last = page.at(-1)?.position ?? last
    if (page.length < limit) return
  }
}

/** A job may be known, and all of its entries older than what is kept. */
async function assertKnown(store: Store, id: string): Promise<void> {
  if ((await store.query({ kind: 'outcome', job: id })) === null) throw new UnknownJob(id)
}

function recordedItem(
  { position, entry }: PositionedEntry,
  change: StateChange,
  by: string,
): RecordedItem {
  const { type, at } = entry
  return { position, at: new Date(at), type, ...change, by, reason: whyOf(entry), entry }
}

const BY_TIME: Readonly<Partial<Record<JobState, string>>> = {
  CREATED: 'It was due.',
  RETRYING: 'Its retry time was reached.',
  SUSPENDED: 'The time of its wait was reached.',
}

function timedItem({ at, from, to }: TimedChange, position: number): TimedItem {
  const reason = from === null ? null : (BY_TIME[from] ?? null)
  return {
    position,
    at: new Date(at),
    type: 'TimePassed',
    from,
    to,
    by: 'time',
    reason,
    entry: null,
  }
}

/** BEFORE the entry is added. */
function byWhom(entry: Entry, fold: JobReplay): string {
  if (entry.type === 'JobCancelled' && entry.deadline) return 'time'
  if ('by' in entry) return entry.by
  switch (entry.type) {
    case 'JobSubmitted': {
      const { asked, submittedBy, parent, schedule, caller } = entry.spec
      const isOwn = parent === null && schedule === null && caller === null
      return asked?.by ?? submittedBy ?? (isOwn ? 'client' : 'engine')
    }
    case 'LeaseGranted':
      return entry.worker
    case 'LeaseExpired':
      return 'time'
    case 'TaskStopped':
      return entry.reason === 'start-by' ? 'time' : 'engine'
    default:
      return 'lease' in entry ? workerOf(entry, fold) : 'engine'
  }
}

/** The worker that the lease was granted to; 'worker' if that entry is no longer kept. */
function workerOf(entry: Entry & { readonly lease: number }, fold: JobReplay): string {
  const task = fold.taskOf(entry)
  return task?.leases.find(({ number }) => number === entry.lease)?.worker ?? 'worker'
}

function whyOf(entry: Entry): string | null {
  if ('reason' in entry && entry.type !== 'TaskStopped') return entry.reason
  switch (entry.type) {
    case 'JobSubmitted': {
      const { asked, parent, schedule, caller } = entry.spec
      if (asked !== null) return asked.reason
      if (parent !== null) return `The commit of job ${parent.job} promised it.`
      if (caller !== null) return `Job ${caller.job} called it.`
      return schedule === null ? null : `Schedule ${schedule.id} was due.`
    }
    case 'TaskStopped':
      return entry.reason === 'start-by'
        ? 'No worker took it before its start-by time.'
        : 'The job is ending.'
    case 'TaskFailed':
    case 'EffectFailed':
      return `${entry.error.code}: ${entry.error.message}`
    case 'StageOpened':
      return entry.error?.message ?? null
    case 'LeaseExpired':
      return entry.diagnostic
    case 'ReportRefused':
      return `${entry.report} came after the lease was over.`
    default:
      return null
  }
}
