/**
 * What `top` shows: what is in the store now, and how much happened in the last seconds.
 */
import type {
  Counts,
  Health,
  InboxItem,
  Pawl,
  QuarantineItem,
  QueueListItem,
  WorkerInfo,
} from '../../engine/index.ts'

/** Counted from the log while it is watched. */
export const RATES = ['submitted', 'done', 'failed', 'lost'] as const

export type RateName = (typeof RATES)[number]

/** Which entries count. A commit ends an attempt well; a lease that is taken away, or runs out, is lost. */
const COUNTED: Readonly<Record<string, RateName>> = {
  JobSubmitted: 'submitted',
  ExecutionCommitted: 'done',
  TaskFailed: 'failed',
  LeaseExpired: 'lost',
  LeaseRevoked: 'lost',
}

export const RATE_SECONDS = 30

/** How often something happened in each of the last seconds. */
export class RateHistory {
  readonly #counts: Readonly<Record<RateName, number[]>> = {
    submitted: [0],
    done: [0],
    failed: [0],
    lost: [0],
  }

  count(entryType: string): void {
    const name = COUNTED[entryType]
    if (name === undefined) return
    const counts = this.#counts[name]
    counts[counts.length - 1] = (counts.at(-1) as number) + 1
  }

  /** A second is over. */
  next(): void {
    for (const counts of Object.values(this.#counts)) {
      counts.push(0)
      if (counts.length > RATE_SECONDS + 1) counts.shift()
    }
  }

  /** Of whole seconds, oldest first. */
  of(name: RateName): readonly number[] {
    return this.#counts[name].slice(0, -1)
  }
}

export interface TopState {
  readonly place: string
  readonly at: Date
  readonly counts: Counts
  readonly queues: readonly QueueListItem[]
  readonly workers: readonly WorkerInfo[]
  readonly quarantined: readonly QuarantineItem[]
  /** Those of which a person has to say what became of an effect. */
  readonly held: readonly QuarantineItem[]
  readonly questions: readonly InboxItem[]
  readonly health: Pick<Health, 'isWell' | 'broken' | 'stalled' | 'unserved' | 'outage'>
}

const MOST_LISTED = 5

/** Counts are kept by the store; of lists that could be long, the first few are read. */
export async function readTopState(pawl: Pawl, place: string, at: Date): Promise<TopState> {
  const [counts, queues, workers, quarantine, held, inbox, health] = await Promise.all([
    pawl.counts(),
    pawl.queues(),
    pawl.workers(),
    pawl.quarantine.list({ limit: MOST_LISTED }),
    pawl.quarantine.list({ heldEffects: true, limit: MOST_LISTED }),
    pawl.inbox({ limit: MOST_LISTED }),
    pawl.health(),
  ])
  return {
    place,
    at,
    counts,
    queues,
    workers,
    quarantined: quarantine.jobs,
    held: held.jobs,
    questions: inbox.questions,
    health,
  }
}
