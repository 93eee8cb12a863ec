/**
 * What a server knows of processes that reach the store by it alone.
 */
import type { HeardProcess, JobReport } from '../../store/index.ts'

/** Processes whose workers are reached by a server alone. */
export interface RemoteProcesses {
  heard(): readonly HeardProcess[]
  /** Null: nothing was said about the job. */
  reportOf(job: string): JobReport | null
  forgetReport(job: string, until: number): void
}
