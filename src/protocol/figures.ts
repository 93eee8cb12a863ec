/**
 * What the operation `figures` answers: lines over time, ready to be drawn. Times are milliseconds since 1970, by the clock of
 * the store.
 */
import type { JobState } from '../kernel/index.ts'

export const FIGURE_RANGES = ['15m', '1h', '6h', '24h'] as const

export type FigureRange = (typeof FIGURE_RANGES)[number]

/** One value for each time; null: nothing is known of it, or there was nothing. */
type FigureLine = readonly (number | null)[]

/** How long something took that ended between two times, in milliseconds. */
interface DurationLines {
  readonly mean: FigureLine
  /** The bound that 95 % are at or below, as the buckets of the engine know it. */
  readonly most: FigureLine
}

export interface QueueLines {
  readonly queue: string
  /** The most that waited between two times. */
  readonly waiting: FigureLine
  /** For how long the oldest had been due, in milliseconds, at most. */
  readonly oldestMs: FigureLine
}

export interface FigureMove {
  /** Plain jobs, or segments of pipelines. */
  readonly of: 'job' | 'segment'
  /** Null: they were submitted. */
  readonly from: JobState | null
  readonly to: JobState
  /** How many a second. */
  readonly rate: number
}

export interface Figures {
  readonly range: FigureRange
  /** When the server began to note. Nothing is known from before. */
  readonly since: number
  /** When it looked last. Each line ends where all is known that is shown of it: some seconds before. */
  readonly now: number
  /** Processes whose numbers are in it: those that wrote something lately. */
  readonly processes: number
  /** Each value is of the time up to this one, from the one before it; the first, from a multiple of `stepMs`, or from `since`. */
  readonly times: readonly number[]
  readonly stepMs: number
  /** How many a second. */
  readonly rates: {
    readonly submitted: FigureLine
    readonly granted: FigureLine
    readonly committed: FigureLine
    /** Failures that were reported: of tasks and of effects. */
    readonly failed: FigureLine
    /** Leases that ran out or were taken away. */
    readonly lost: FigureLine
    /** Tasks that were given up. */
    readonly quarantined: FigureLine
  }
  readonly waitMs: DurationLines
  readonly runMs: DurationLines
  /** Those in which most waits, the fullest first. */
  readonly queues: readonly QueueLines[]
  /** Other queues, of which there is no line. */
  readonly queuesLeftOut: number
  /** What moved in the newest ten seconds that are known of each process. */
  readonly flow: {
    /** Of how many seconds it is; 0: it is not known yet. */
    readonly seconds: number
    readonly moves: readonly FigureMove[]
  }
}
