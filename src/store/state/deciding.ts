/**
 * Deciding on jobs that may have to be read from a disk first.
 *
 * The kernel never throws, but what it looks at may: a job that is over, and whose bytes do not
 * check. BEFORE anything was decided that harms nobody, and the command is not answered. It is
 * not taken for one about an unknown job.
 */
import type {
  Command,
  CommitExecution,
  Decision,
  Indexes,
  Job,
  Reads,
  SubmitJob,
  World,
} from '../../kernel/index.ts'
import { decideIn, loadReads, malformed } from '../../kernel/index.ts'
import { CorruptLog } from '../../log/index.ts'
import type { FinishedJobSource } from './finished-job-source.ts'

/** What a command is about cannot be read. Nothing was decided, and nothing has changed. */
export class Undecided extends Error {
  override readonly cause: CorruptLog

  constructor(cause: CorruptLog) {
    super(cause.message)
    this.name = 'Undecided'
    this.cause = cause
  }
}

export function decideOn(
  world: World,
  indexes: Indexes,
  command: Command,
  reads: Reads,
  now: number,
): Decision {
  try {
    return decideIn(world, indexes, command, reads, now)
  } catch (error) {
    throw error instanceof CorruptLog ? new Undecided(error) : error
  }
}

/** What is in memory. */
interface LoadedHere extends Indexes {
  readonly world: World
  inMemory(id: string): Job | undefined
}

/**
 * Looks at what the command will be decided on, and decides nothing. What is in memory, or nowhere,
 * need not be looked at twice: nearly always that is all.
 */
export function preload(
  here: LoadedHere,
  elsewhere: FinishedJobSource | null,
  command: Command,
  reads: Reads,
  now: number,
): void {
  if (looksAtOne(command)) {
    if (elsewhere === null || here.inMemory(command.job) !== undefined) return
    if (!elsewhere.mayHave(command.job)) return
  }
  if (malformed(command) === null) loadReads(reads, here.world, here, command, now)
}

/** It is decided on the one job that it names. */
function looksAtOne(command: Command): command is SubmitJob | CommitExecution {
  if (command.type === 'CommitExecution') return typeof command.job === 'string'
  if (command.type !== 'SubmitJob' || typeof command.job !== 'string') return false
  const { spec } = command
  return spec?.key == null && spec?.parent == null && spec?.schedule == null
}

/** That it would need what cannot be read showed only AFTER others of the same call were done. */
export function partly(done: number): string {
  return `The first ${done} commands of this call were done, and no other, because what the next one needs cannot be read: see the cause. Each is safe to repeat.`
}
