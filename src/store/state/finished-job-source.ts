/**
 * Where a ledger finds jobs that are over: it lets go of them, and asks when a command names one.
 */
import type { Job } from '../../kernel/index.ts'
import type { JobRecord } from '../../log/index.ts'

export interface FinishedJobSource {
  /** False: there is surely no such job here. Reads nothing. */
  mayHave(id: string): boolean
  find(id: string): JobRecord | null
  findKey(type: string, key: string): JobRecord | null
  /** A copy of a job that was found is in memory now, until it is evicted. */
  welcome(job: Job): void
  /** To be called BETWEEN commands: copies that are too many may leave. */
  seeOut(): void
}
