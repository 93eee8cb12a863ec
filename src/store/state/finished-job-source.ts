/**
 * Where a ledger finds jobs that are over and not in memory, and what it throws if one cannot be read.
 */
import type { Command, CommitExecution, Job, SubmitJob } from '../../kernel/index.ts'
import { standsAlone } from '../../kernel/index.ts'
import type { CorruptLog, JobRecord } from '../../log/index.ts'

/** Where a ledger finds jobs that are over: it evicts them, and asks when a command names one. */
export interface FinishedJobSource {
  /** False: there is surely no such job here. Reads nothing. */
  mayHave(id: string): boolean
  find(id: string): JobRecord | null
  findKey(type: string, key: string): JobRecord | null
  /** A copy of a job that was found is in memory now, until it is evicted. */
  noteReadmitted(job: Job): void
  /** To be called BETWEEN commands: evicts the copies if there are too many. */
  evictReadmitted(): void
}

/**
 * What a command is about cannot be read. Nothing was decided, and nothing has changed: the command
 * is not answered, and not taken for one about an unknown job.
 */
export class Undecided extends Error {
  override readonly cause: CorruptLog

  constructor(cause: CorruptLog) {
    super(cause.message)
    this.name = 'Undecided'
    this.cause = cause
  }
}

/** The command is decided on the one job that it names: no other is read for it. */
export function namesOneJob(command: Command): command is SubmitJob | CommitExecution {
  if (command.type === 'CommitExecution') return typeof command.job === 'string'
  if (command.type !== 'SubmitJob' || typeof command.job !== 'string') return false
  return standsAlone(command.spec)
}
