/** Counters and timings of the store, as a client sees them. */
import type { Distribution, Metrics, Traffic } from '../../store/index.ts'
import type { RefusalCode, Refusals } from '../refusals.ts'

export interface EngineMetrics {
  /** The authority's time, and when it began to count. */
  readonly now: Date
  readonly since: Date
  /** How many entries of each type were written. */
  readonly entries: Metrics['entries']
  /**
   * How many plain jobs, and segments of pipelines, went from one state to another. A move that time makes is counted with the
   * next entry; those of pipelines are not counted, for they follow from their segments.
   */
  readonly moves: Metrics['moves']
  /** How many commands were refused with each code: by the store, those of workers and upkeep included, and by this engine. */
  readonly refused: Readonly<Partial<Record<RefusalCode, number>>>
  readonly traffic: readonly Traffic[]
  /** From decided to durable, in microseconds, one for each batch. None in memory. */
  readonly durableUs: Distribution
  /** Effects that were under way when their lease was lost, and nothing is known of what they did. */
  readonly unknownOutcomes: number
  /** Waits that handlers were suspended for, by what ends them. */
  readonly suspensions: Metrics['suspensions']
  /** Leases that are held, and jobs in quarantine, now. */
  readonly leases: number
  readonly quarantined: number
  /** Jobs with an effect whose outcome a person has to say, now. */
  readonly heldEffects: number
}

export function engineMetrics(
  { now, since, refused, ...metrics }: Metrics,
  refusals: Refusals,
): EngineMetrics {
  const times = { now: new Date(now), since: new Date(since) }
  return { ...times, ...metrics, refused: refusals.countedWith(refused) }
}
