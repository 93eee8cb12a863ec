/**
 * What a measurement of memory is told, and what it says.
 */

export type MemoryWorkload = 'list' | 'singles' | 'waiting'

export interface MemoryOrder {
  readonly workload: MemoryWorkload
  readonly location: string
  readonly schema: string | null
  readonly jobs: number
  /** Characters of each input. */
  readonly chars: number
}

export interface MemoryReport {
  /** The most that was resident at any time, in bytes. */
  readonly peak: number
  /** Resident right after the last submit was answered. */
  readonly resident: number
  /** The longest time that the event loop did not turn. */
  readonly blockedMs: number
}

/** `peak`: by how much memory rose while the past was read. `resident`: what it was before. */
export interface PastReport extends MemoryReport {
  readonly seconds: number
}
