/**
 * What a client is told when a job did not come to a good end, or a request was refused.
 */
import { placeOf } from '../definition/index.ts'
import type { Failure, Rejection } from '../kernel/index.ts'
import { PawlError } from '../kernel/index.ts'
import type { Outcome } from '../store/index.ts'
import { lastErrorText } from './failure-reason.ts'

/** The store refused a command. Its `code` is that of the rejection. */
export class Refused extends PawlError {
  readonly rejection: Rejection

  constructor(what: string, rejection: Rejection) {
    const { code, message, details } = rejection
    super(code, 'rejected', `${what} was refused (${code}): ${message}`, details)
    this.name = 'Refused'
    this.rejection = rejection
  }
}

/** An answer to a question that does not count. Nothing was changed for the job. */
export class AnswerRefused extends PawlError {
  constructor(job: string, question: string, why: string) {
    super(
      'AnswerRefused',
      'rejected',
      `The answer to '${question}' of job ${job} does not count: ${why}.`,
      { job, question },
    )
  }
}

/** So many jobs wait in the queue that no more are taken from clients. Nothing was submitted. */
export class QueueFull extends PawlError {
  constructor(queue: string, maxWaiting: number, waiting: number, jobs: number) {
    const what = jobs === 1 ? 'one more job' : `${jobs} more jobs`
    super(
      'QueueFull',
      'retryable',
      `Queue '${queue}' has no room for ${what}: about ${waiting} wait in it, and \`maxWaiting\` is ${maxWaiting}. Nothing was submitted. Submit again later, or fewer at once; or add workers, or raise the bound.`,
      { queue, maxWaiting, waiting, jobs },
    )
  }
}

/** A submit ended in the middle: some of its jobs may be in. */
export class SubmitInterrupted extends PawlError {
  /** Of jobs of the call, in order, from the place `from` on; of a list, of all of them. */
  readonly ids: readonly string[]
  readonly from: number

  /** `sure`: how many of all jobs are in for sure, from the first on. */
  constructor(ids: readonly string[], from: number, sure: number, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const which = from === 0 ? 'them all' : `those behind the first ${from}`
    const remedy =
      ids.length === 0
        ? `The first ${sure} jobs were submitted, and no other.`
        : `${sure} of ${from + ids.length} jobs were submitted for sure, and of the others that is not known: submit ${which} again, each with the id that \`error.ids\` gives it. What is in is not submitted twice.`
    super('SubmitInterrupted', 'unknown_outcome', `${remedy} ${why}`, { ids, from, sure }, cause)
    this.ids = ids
    this.from = from
  }
}

/** There is no such job: it was never submitted here, or it was forgotten. */
export class UnknownJob extends PawlError {
  constructor(job: string) {
    super(
      'UnknownJob',
      'rejected',
      `There is no job ${job}: it was never submitted here, or it ended so long ago that it was forgotten.`,
      { job },
    )
  }
}

/** Other jobs hold copies of what a job holds that is to be erased. */
export class CopiesExist extends PawlError {
  readonly copies: readonly { readonly job: string; readonly relation: string }[]

  constructor(job: string, copies: readonly { readonly job: string; readonly relation: string }[]) {
    const first = copies.slice(0, 5).map((one) => `${one.job} (${one.relation})`)
    const more = copies.length > first.length ? ` and ${copies.length - first.length} more` : ''
    super(
      'CopiesExist',
      'rejected',
      `Job ${job} was not erased, because other jobs hold copies of what it holds: ${first.join(', ')}${more}. Give \`copies: 'erase'\` to erase them, too, or \`copies: 'keep'\` to leave them as they are.`,
      { job, copies },
    )
    this.copies = copies
  }
}

/** The job waits for a person, so there is no telling when it will have a result. */
export class JobQuarantined extends PawlError {
  readonly failure: Failure | null

  constructor(job: string, type: string, outcome: Outcome, loss: string | null) {
    const { error, held, endedBy, at } = outcome
    const why =
      held.length > 0
        ? `Its commit stands, and what became of ${held.map((name) => `'${name}'`).join(', ')} is for a person to say: resolveEffect().`
        : `Retry, force or discard it. ${lastErrorText(outcome, loss)}`
    const message = `Job ${job} (${type}) is in quarantine${placeOf(at)} and waits for an operator. ${why}`
    super('JobQuarantined', 'rejected', message, { job, type, failure: error, held, endedBy, at })
    this.failure = error
  }
}

/** The job did not end within the timeout of `result()`. It goes on all the same. */
export class ResultTimeout extends PawlError {
  constructor(job: string, ms: number) {
    super(
      'ResultTimeout',
      'retryable',
      `Job ${job} had no result after ${ms} ms. It goes on: ask again.`,
      { job, ms },
    )
  }
}

/** The process has nothing left to do but wait, and no other process has the store. */
export class NoWorker extends PawlError {
  constructor(job: string) {
    super(
      'NoWorker',
      'rejected',
      `Job ${job} is not over, no worker runs in this process, and no other process has this store: \`result()\` would wait for ever. Call \`work\` first. The job is kept.`,
      { job },
    )
  }
}

/** There is no such schedule: it was never set, or it was removed. */
export class UnknownSchedule extends PawlError {
  constructor(schedule: string) {
    super(
      'UnknownSchedule',
      'rejected',
      `There is no schedule ${schedule}: it was never set here, or it was removed. Set it first.`,
      { schedule },
    )
  }
}

/** No process that was heard lately has a worker of that name. */
export class UnknownWorker extends PawlError {
  constructor(worker: string) {
    super(
      'UnknownWorker',
      'rejected',
      `No worker ${worker} is known: it was not heard for half a minute, or it has stopped. \`workers()\` lists those that are.`,
      { worker },
    )
  }
}

/** What is stored of a schedule was not written by this version. It is not fired. */
export class UnreadableSchedule extends PawlError {
  constructor(schedule: string, why: string, cause?: unknown) {
    super(
      'UnreadableSchedule',
      'rejected',
      `What is stored of schedule ${schedule} cannot be read, and it is not fired: ${why}. Set it again, or use the version that set it.`,
      { schedule },
      cause,
    )
  }
}

/** Something that must always hold does not: a bug of Pawl, or memory that was damaged. */
export class InvariantBroken extends PawlError {
  constructor(invariant: number, what: string) {
    super(
      'InvariantBroken',
      'bug',
      `Something that must always hold does not (invariant ${invariant}): ${what}. Please report it, with what verify says of the directory.`,
      { invariant, what },
    )
  }
}
