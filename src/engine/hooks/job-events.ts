/**
 * What happens to jobs, as events for listeners: of the whole store, whichever process does it, in order.
 *
 * An event follows from an entry and from what the job was before it. So entries are read as a watch shows them, and
 * each job is replayed from its submit on. A job that was submitted before the first event is replayed from its
 * history.
 *
 * Events come one by one, each AFTER the listener is done with the one before. Who keeps the position of the last
 * event can go on behind it: nothing is left out, and an event may come twice. The exception is 'stalled', which is
 * soft: a listener hears of it while it listens, and never afterwards.
 */
import type { Entry, Failure, JobState } from '../../kernel/index.ts'
import type { PositionedEntry, Store } from '../../store/index.ts'
import { JobReplay } from '../inspect/job-replay.ts'
import { replayUpTo } from '../inspect/history.ts'

export type JobEventName =
  | 'submitted'
  | 'started'
  | 'retrying'
  | 'quarantined'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'stalled'

export const JOB_EVENTS: readonly JobEventName[] = [
  'submitted',
  'started',
  'retrying',
  'quarantined',
  'completed',
  'failed',
  'cancelled',
  'stalled',
]

export interface JobEvent {
  readonly event: JobEventName
  readonly job: string
  readonly type: string
  readonly at: Date
  /**
   * Of the entry that says so: `on` goes on behind it, if it is given as `from`. Null: 'stalled', which no entry
   * says.
   */
  readonly position: number | null
  /** Why an attempt failed, or the job, as far as its last entry says so; else null. */
  readonly error: Failure | null
}

export interface EventFilter {
  readonly events: ReadonlySet<JobEventName>
  /** Null: of all types. */
  readonly types: ReadonlySet<string> | null
}

/** Jobs whose replay is kept. Of more, one is replayed anew when something happens to it. */
const MOST_REPLAYS = 5_000

export class EventReplay {
  readonly #store: Store
  readonly #filter: EventFilter
  /** Null: a job of another type. The one that was used last is the last. */
  readonly #replays = new Map<string, JobReplay | null>()

  constructor(store: Store, filter: EventFilter) {
    this.#store = store
    this.#filter = filter
  }

  /** The event that follows from the next entry; null: none that is asked for. */
  async next({ position, entry }: PositionedEntry): Promise<JobEvent | null> {
    if (!('job' in entry)) return null
    const replay = await this.#replayOf(entry, position)
    if (replay === null) return null
    const { from, to } = replay.add(entry)
    const { job } = replay
    if (entry.type === 'JobForgotten' || to === 'SUCCEEDED' || to === 'FAILED') {
      this.#replays.delete(entry.job)
    }
    const event = job === null ? null : eventOf(entry, from, to, replay)
    if (job === null || event === null || !this.#filter.events.has(event)) return null
    const error = 'error' in entry ? entry.error : null
    return { event, job: job.id, type: job.spec.type, at: new Date(entry.at), position, error }
  }

  async #replayOf(
    entry: Entry & { readonly job: string },
    position: number,
  ): Promise<JobReplay | null> {
    const { job } = entry
    const { types } = this.#filter
    let replay = this.#replays.get(job)
    if (entry.type === 'JobSubmitted') {
      replay = types?.has(entry.spec.type) === false ? null : new JobReplay(job)
    } else if (replay === undefined) {
      const before = (await replayUpTo(this.#store, job, position - 1)).replay
      // One that is gone may have been of any type: it has no events.
      const type = before.job?.spec.type ?? null
      replay = type === null || types?.has(type) === false ? null : before
    }
    this.#replays.delete(job)
    this.#replays.set(job, replay)
    const [oldest] = this.#replays.keys()
    if (this.#replays.size > MOST_REPLAYS && oldest !== undefined) this.#replays.delete(oldest)
    return replay
  }
}

function eventOf(
  entry: Entry,
  from: JobState | null,
  to: JobState | null,
  replay: JobReplay,
): JobEventName | null {
  if (entry.type === 'JobSubmitted') return 'submitted'
  if (from !== to && to !== null) {
    const event = BY_STATE[to]
    if (event !== undefined) return event === 'failed' && isCancelled(replay) ? 'cancelled' : event
  }
  // Also of one task of a pipeline, and when it is due again at once.
  return entry.type === 'TaskFailed' && replay.taskOf(entry)?.state === 'WAITING'
    ? 'retrying'
    : null
}

const BY_STATE: Readonly<Partial<Record<JobState, JobEventName>>> = {
  RUNNING: 'started',
  RETRYING: 'retrying',
  QUARANTINED: 'quarantined',
  SUCCEEDED: 'completed',
  FAILED: 'failed',
}

function isCancelled({ job }: JobReplay): boolean {
  return job?.cancelled !== null && job?.cancelled !== undefined
}
