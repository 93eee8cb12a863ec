/**
 * What a server knows of processes that reach the store by it alone.
 */
import type { HeardProcess, JobReport } from '../../store/index.ts'

/** Processes whose workers are reached by a server alone. */
export interface RemoteProcesses {
  heard(): readonly HeardProcess[]
  /** Asks something of a worker. False: there is no such process here. */
  ask(process: string, worker: string, text: string): boolean
  /** Null: nothing was said about the job. */
  reportOf(job: string): JobReport | null
  forgetReport(job: string, until: number): void
}
