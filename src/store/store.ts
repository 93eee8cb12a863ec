/**
 * The one seam between the engine and where the state is kept.
 *
 * Every store (memory, directory, SQLite, PostgreSQL, http) implements this interface and
 * passes the same tests. A store loads what `decide` reads, keeps it locked, and saves what
 * `decide` says; it never decides anything itself.
 *
 * Nothing is visible before it is durable. A store that writes to a disk or a database has
 * three steps for `execute` and `claim`:
 * 1. decide and apply the batch, appending each entry;
 * 2. make the batch durable: this is where the sync, or the transaction's commit, stands;
 * 3. only then answer (rejections and repeats too, for they may rest on what step 2 saved),
 *    and show the entries to `query` and `watch`.
 * If step 2 fails, callers learn only that the outcome is unknown.
 *
 * Open: all methods work. Closed: they throw `StoreClosed`, and watches come to their end.
 */
import type {
  CallerRef,
  Command,
  EffectPromise,
  EffectState,
  Entry,
  ExecutionStatus,
  Failure,
  Job,
  JobState,
  LeaseEnd,
  Payload,
  Queue,
  Rejection,
  Schedule,
  StageState,
  Step,
  Tally,
  Task,
  TaskAddress,
  Verdict,
  Violation,
} from '../kernel/index.ts'
import type { JobRecord } from '../log/index.ts'
import type { ClaimedRecord } from './claimed-record.ts'
import type { ClaimRequest } from './claim-request.ts'
import type { Moment } from './moment.ts'
import type { News } from './notice.ts'
import type { Presence } from './presence.ts'
import type { Metrics, Totals } from './metrics.ts'
import type {
  EntriesAsked,
  HeldEffect,
  JobsFilter,
  JobSummary,
  ReadModelAnswers,
} from './read-model.ts'
import type { Reachability } from './reachability.ts'
import type { UserTransaction, Writes } from './user-transaction.ts'

/** What the authority says to one command. */
export interface Answer {
  readonly verdict: Verdict
  /** Submit: the job's id. Grant: the lease number. Step: the recorded value. Append: the next offset. */
  readonly value: string | number | null
  readonly rejection: Rejection | null
}

/** An effect of a commit that is not finished, as the worker that resumes it needs it. */
export interface UnfinishedEffect {
  /** Its position in the commit: what the reports name. */
  readonly effect: number
  /** Stable over all attempts: receivers can use it to recognise a repeat. */
  readonly key: string
  readonly promise: EffectPromise
  readonly state: EffectState
  /** Numbers of the leases that started it, newest last. */
  readonly starts: readonly number[]
  readonly retries: number
}

/** The commit that a lease resumes: to be finished, never redone. */
export interface ResumedCommit {
  readonly lease: number
  readonly output: Payload
  readonly unfinished: readonly UnfinishedEffect[]
}

/** A stage whose outputs a handler or a caller may read. */
export interface PriorStage {
  readonly name: string
  /** What the query for outputs names. */
  readonly stage: number
  /** How many segments it has; null: it runs once, and has one output. */
  readonly segments: number | null
}

/** Why a pipeline ends. */
export type Ending = Pick<FailureDetails, 'error' | 'at'> & Pick<Job, 'cancelled'>

/** Which part of an array a task works on. */
export interface ClaimedSegment {
  /** What `each` names. */
  readonly source: string
  readonly segments: number
  /**
   * The element itself, if it stands alone: an operator gave it, or it is what one segment of
   * another stage put out. Null: it is in the array that the source names, or there is none.
   */
  readonly element: Payload | null
}

/** A lease, with everything that its worker needs to begin. */
export interface Claimed extends TaskAddress, ClaimedRecord {
  readonly type: string
  readonly submittedAt: number
  /** Of the definition that the job was submitted under, from 1. */
  readonly version: number
  /** The stage's name; null for a plain job. */
  readonly stageName: string | null
  readonly queue: string
  readonly lease: number
  /** The grant carries the start. False: claimed ahead, so that losing it costs nothing the first time. */
  readonly isStarted: boolean
  /** Its last two leases were lost: it may be what kills its workers (see `isSuspect`). */
  readonly isSuspect: boolean
  /** It is one, and its next loss would be its last (see `isLastChance`). */
  readonly isLastChance: boolean
  /** How long the lease holds from now on: a duration, because clocks differ. */
  readonly leaseMs: number
  /** Longest run of one attempt; null: no bound. */
  readonly timeoutMs: number | null
  /** Counts grants, from 1. */
  readonly attempt: number
  readonly priority: number
  readonly metadata: Payload | null
  /** The schedule that it came from, and the time that it stands for. */
  readonly schedule: { readonly id: string; readonly tick: number } | null
  /** The wait of another job that it answers; null: no job waits for it. */
  readonly caller: CallerRef | null
  /**
   * What an operator gave instead, else the job's own input. Null for a segment, of which there
   * may be many thousand: the input is asked for once.
   */
  readonly input: Payload | null
  /** Of the stage, from 1; null for a plain job. */
  readonly stageVersion: number | null
  /** Of a stage that runs once for each element. */
  readonly each: ClaimedSegment | null
  /** The stages that it comes after; of an on-failure stage, all others. */
  readonly prior: readonly PriorStage[]
  /** Why the job ends, for an on-failure stage; null: it is none. */
  readonly ending: Ending | null
  /** Recorded by earlier attempts, or by this one. */
  readonly steps: readonly Step[]
  readonly commit: ResumedCommit | null
}

export interface StageView {
  readonly name: string | null
  readonly state: StageState
  readonly tasks: readonly Task[]
}

/** A job as it was at one moment. */
export interface JobView {
  readonly job: Job
  readonly state: JobState
  /** A plain job has one stage, without a name. */
  readonly stages: readonly StageView[]
}

/** A stage, without all of its tasks. */
export interface StageOverview {
  readonly name: string
  readonly state: StageState
  /** How many segments it was opened with; null: it is not open. */
  readonly segments: number | null
  readonly tally: Readonly<Tally>
  /** Up to 20 tasks that are FAILED or DEAD, in order. */
  readonly troubled: readonly Task[]
  /** Up to 20 tasks that hold a lease, in order. */
  readonly holders: readonly Holder[]
  /** The waiting task that is due first; null: none waits. */
  readonly next: Task | null
}

/** One attempt at a task: of a plain job, or of a segment of a stage. */
export interface Execution {
  readonly stage: number
  readonly segment: number
  readonly attempt: number
  readonly status: ExecutionStatus
  readonly worker: string
  readonly grantedAt: number
  readonly expiresAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly endedBy: LeaseEnd | null
  /** The failure that ended it; of an earlier attempt than the newest that failed, the history has it. */
  readonly error: Failure | null
}

/** A job as it was at one moment, however many segments it has. */
export interface JobOverview {
  readonly job: Job
  readonly state: JobState
  /** Those that run and, if there is room, the newest that ended, oldest first: 20 at most. */
  readonly executions: readonly Execution[]
  /** How many attempts there were at all of its tasks. */
  readonly executionCount: number
  /** When the first attempt that is remembered began to run; null: none did. */
  readonly startedAt: number | null
  /** When its newest entry was written, those of its tasks included. */
  readonly updatedAt: number
  /** The highest attempt of a task. */
  readonly attempt: number
  /** Retries that were used, of all tasks. */
  readonly retries: number
  /** The names of the effects that its commits promised. */
  readonly effects: readonly string[]
  /** None of a plain job: its task is in the job. */
  readonly stages: readonly StageOverview[]
}

/** Why a task was given up. */
export interface FailureCause {
  readonly why: 'forced' | 'start-by' | 'terminal' | 'retries'
  /** Who forced it, and why. */
  readonly by: string | null
  readonly reason: string | null
}

/** What went wrong: of a plain job, or of the task of a pipeline that is to blame. */
export interface FailureDetails {
  /** Null: nothing did, or the job was cancelled. */
  readonly cause: FailureCause | null
  /** The newest failure; null: there is none. */
  readonly error: Failure | null
  /** The names of the effects that are held for a person. */
  readonly held: readonly string[]
  /** What ended the newest lease; null: nothing yet. */
  readonly endedBy: LeaseEnd | null
  /** Where it was, in a pipeline. `segment` null: the stage runs once. */
  readonly at: { readonly stage: string; readonly segment: number | null } | null
}

/** How a job stands, without the rest of it: for callers that wait for its end. */
export interface Outcome extends FailureDetails {
  readonly type: string
  readonly state: JobState
  /** Of a plain job; null: there is none, or not yet. */
  readonly output: Payload | null
  /** Of a pipeline: the stages whose outputs are its result. Null: a plain job. */
  readonly last: readonly PriorStage[] | null
  readonly cancelled: Job['cancelled']
  readonly erased: Job['erased']
  /** Where its newest entry stands. */
  readonly lastPosition: number
}

/** What became of a job that is over, or waits for a person; null: there is no such job. */
export interface Ended {
  readonly job: string
  readonly outcome: Outcome | null
}

/** Outputs of a stage's segments, in order. A segment that has none is missing. */
export interface OutputsPage {
  readonly outputs: readonly { readonly segment: number; readonly output: Payload }[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
}

/** Values of a stream that were appended together. */
export interface StreamPiece {
  /** Of the first value. */
  readonly offset: number
  /** That appended them: where it is another one than before, an attempt begins. */
  readonly attempt: number
  readonly at: number
  readonly values: readonly Payload[]
}

export interface StreamPage {
  /** By offset. Where one is missing, its entry is no longer kept. */
  readonly pieces: readonly StreamPiece[]
  /** Give it as `from` to go on. */
  readonly next: number
  /** How many values were appended so far: with `next` at it, that was all. */
  readonly length: number
}

/** A task that was given up, and waits for a person. */
export interface DeadTask {
  readonly stage: number
  /** Null for a plain job. */
  readonly stageName: string | null
  readonly segment: number
  /** The attempt that was the last: what an operator's commands name. */
  readonly attempt: number
  readonly since: number
  /** The newest failure that was reported; what ended the last attempt may have been another thing. */
  readonly error: Failure | null
  readonly endedBy: LeaseEnd | null
  /** Effects of its commit that are held: it is not retried, they are resolved. */
  readonly held: readonly HeldEffect[]
}

export interface QuarantinedJob {
  readonly id: string
  readonly type: string
  readonly version: number
  /** Null for a pipeline. */
  readonly queue: string | null
  readonly group: string | null
  readonly tags: readonly string[]
  readonly submittedAt: number
  /** Of a plain job one; of a pipeline all that keep it here; by `heldEffects`, the first of those that have some. */
  readonly tasks: readonly DeadTask[]
}

export interface QuarantinePage {
  readonly jobs: readonly QuarantinedJob[]
  /** Give it as `after` to go on; null: there is no more. */
  readonly next: number | null
  /** The authority's time. */
  readonly now: number
}

/** A task that has been due for long. */
export interface WaitsLong {
  readonly queue: string
  readonly type: string
  /** The name of the stage; null for a plain job. */
  readonly stage: string | null
  readonly since: number
}

/** What an examination of some of the jobs in memory found. */
export interface Examined {
  readonly looked: number
  /** All of them were examined; the next examination begins anew. */
  readonly isRoundOver: boolean
  /** What must hold and does not: a bug. */
  readonly violations: readonly Violation[]
  readonly waiting: readonly WaitsLong[]
}

/** An entry and where it stands in the log. Positions start at 1 and only grow. */
export interface PositionedEntry {
  readonly position: number
  readonly entry: Entry
}

/** A task that holds a lease, and the worker that has it. */
export interface Holder extends TaskAddress {
  readonly worker: string
  /** When the lease was granted. */
  readonly since: number
}

/** A lease, and the session of the process that claimed it. */
export interface SessionLease extends TaskAddress {
  readonly lease: number
  readonly session: string
  /** The newest extension: a lease that is extended after this is not revoked. */
  readonly extension: number
}

/** How much of a limit is used right now. */
export interface InUse {
  /** Tasks that hold a lease. */
  readonly held: number
  /** When the token bucket of a rate is full again, in milliseconds with parts of 1/1024; 0: it is full. */
  readonly fullAt: number
  /** Up to 20 of the tasks that hold a lease, the oldest grant first. */
  readonly holders: readonly Holder[]
}

/** What is used of the queue's own limit is known whether it has one or not. */
export interface QueueView extends InUse {
  readonly queue: Queue
  /**
   * Tasks that are due and wait for a worker, a limit, or the end of a pause. In a database, of those that
   * became due while no worker claimed, the first 10,000 of all queues count.
   */
  readonly ready: number
}

export interface LimitView extends InUse {
  readonly key: string
}

export interface WorkerView {
  readonly worker: string
  /** Tasks of which it holds the lease. */
  readonly held: number
  /** Up to 20 of them, the oldest grant first. */
  readonly holders: readonly Holder[]
}

/** What can be asked, and what is answered. */
export interface Answers extends ReadModelAnswers {
  /** One job with its stages and tasks; null if there is none. */
  job: { ask: { readonly job: string }; answer: JobView | null }
  /** The same, with its stages summed up. */
  overview: { ask: { readonly job: string }; answer: JobOverview | null }
  /** The same, but only how it stands. */
  outcome: { ask: { readonly job: string }; answer: Outcome | null }
  /** Those of them that are over, wait for an operator, or are not there; in no order. */
  ended: { ask: { readonly jobs: readonly string[] }; answer: readonly Ended[] }
  /** What the job was submitted with; null if there is none. */
  input: { ask: { readonly job: string }; answer: Payload | null }
  /** One task; null if there is none. */
  task: { ask: TaskAddress; answer: Task | null }
  /**
   * What the segments behind `after` (-1: all) of a stage put out; a page may be short. Null: there
   * is no such job.
   */
  outputs: {
    ask: {
      readonly job: string
      readonly stage: number
      readonly after: number
      readonly limit: number
    }
    answer: OutputsPage | null
  }
  /**
   * Jobs in quarantine, in order of submission. Its cost does not grow with other jobs. With `heldEffects`, jobs that have
   * such, also pipelines that still run.
   */
  quarantine: {
    ask: {
      readonly heldEffects?: true
      /** Only pipelines: lists by error have none. Its cost does not grow with plain jobs. */
      readonly pipelines?: true
      /** Only these; in this order. */
      readonly jobs?: readonly string[]
      readonly type?: string
      readonly queue?: string
      readonly tag?: string
      readonly group?: string
      readonly after?: number
      readonly limit: number
    }
    answer: QuarantinePage
  }
  /**
   * The entries of a job and its tasks, oldest first: the first `limit` behind `after`, or, with
   * `newest`, the last of them.
   */
  history: {
    ask: {
      readonly job: string
      readonly after?: number
      readonly limit: number
      readonly newest?: boolean
    }
    answer: readonly PositionedEntry[]
  }
  /**
   * Entries of the whole log behind the position `after` and up to `through`, where no entry has to stand: the first `limit`
   * of them, or, with `newest`, the last, oldest first. What was removed is not among them. The first ones end where an
   * earlier entry may still come, so a page may be short: who goes on behind the last of them misses none.
   */
  entries: {
    ask: EntriesAsked
    answer: readonly PositionedEntry[]
  }
  /**
   * Values of a stream of a task, those from offset `from` on: at most `limit`, and a page may be short.
   * Null: there is no such task. A page costs as much as there are newer entries of its job.
   */
  stream: {
    ask: TaskAddress & { readonly name: string; readonly from: number; readonly limit: number }
    answer: StreamPage | null
  }
  /** A queue that was never configured has the defaults. */
  queue: { ask: { readonly queue: string }; answer: QueueView }
  /** A limit that tasks declare, by its key; nothing is used of an unknown one. */
  limit: { ask: { readonly key: string }; answer: LimitView }
  /** Every lease that is held by a process with a session, as presence needs it; in no order. */
  'session-leases': { ask: object; answer: readonly SessionLease[] }
  /** What a worker holds; an unknown one holds nothing. */
  'worker-leases': { ask: { readonly worker: string }; answer: WorkerView }
  schedule: { ask: { readonly schedule: string }; answer: Schedule | null }
  /**
   * Those that are set, in order of their ids; `after`: the last id of the page before. `ids`: only of
   * these.
   */
  schedules: {
    ask: { readonly after?: string; readonly limit: number; readonly ids?: readonly string[] }
    answer: readonly Schedule[]
  }
  /** Counters and timings of every transition since the store was opened. */
  metrics: { ask: object; answer: Metrics }
  /** Examines the next few jobs in memory: whether their invariants hold, and which wait for long. */
  examination: { ask: { readonly limit: number; readonly waitedMs: number }; answer: Examined }
  /** The commands that time or the orchestrator should send now. `forgets`: also to forget jobs; default: yes. */
  upkeep: {
    ask: { readonly limit: number; readonly forgets?: boolean }
    answer: readonly Command[]
  }
}

export type QueryKind = keyof Answers
export type QueryOf<K extends QueryKind> = { readonly kind: K } & Answers[K]['ask']
export type Query = { [K in QueryKind]: QueryOf<K> }[QueryKind]
export type AnswerTo<Q extends Query> = Answers[Q['kind']]['answer']

export interface SubmittedAndClaimed {
  readonly answers: readonly Answer[]
  /** What each claim was granted, in the order of the claims. */
  readonly claimed: readonly (readonly Claimed[])[]
}

/** What the jobs of a snapshot are filtered by. */
export type SnapshotFilter = Pick<JobsFilter, 'type' | 'state' | 'queue' | 'tag' | 'group' | 'key'>

/** A job as it was at the moment of a snapshot. */
export interface PastJob {
  readonly record: JobRecord
  /** Its entries up to then, oldest first, as far as they are kept. */
  readonly entries: readonly PositionedEntry[]
}

/**
 * Time travel: the store as it was at a moment, read while it is open.
 *
 * Entries up to the moment are folded again, job by job; what came later does not count. Entries are never
 * changed, so a snapshot answers the same whenever it is asked, until the history that it needs is removed:
 * then it throws `BeforeHistory`.
 */
export interface StoreSnapshot {
  /** When states are derived: the time that was asked for, or that of the entry at the position. */
  readonly time: number
  /** Up to and with which entries it goes: that of the newest of them, or of what stands between it and the next; 0: of none. */
  position(): Promise<number>
  /** Null: there was none then, or it was forgotten by then. */
  job(id: string): Promise<PastJob | null>
  /** Every job that there was, in order of submission, in memory that does not grow with their number. */
  jobs(filter: SnapshotFilter): AsyncIterable<JobSummary>
}

export interface Store {
  /** The same for as long as what it keeps. Left out: that is lost with its process. */
  readonly id?: string
  /**
   * One answer per command, in order. A bad command is answered `rejected`, never thrown. `isHandedOver`: they are plain data
   * that the caller made itself, and changes no more, so that the store may keep them.
   */
  execute(commands: readonly Command[], isHandedOver?: boolean): Promise<readonly Answer[]>
  /**
   * Only of a store on a database: decides in the user's transaction. What it decides holds once
   * the user commits, and never if they do not. Throws `BadRequest` for `EraseJob`, which is a transaction of
   * its own.
   */
  executeIn?(transaction: UserTransaction, commands: readonly Command[]): Promise<readonly Answer[]>
  /**
   * Only of a store on a database: decides in a transaction of its own, and if an entry follows,
   * lets the user write in it, too. If that fails nothing happened, and it throws `WritesFailed`.
   */
  executeWith?(command: Command, writes: Writes): Promise<Answer>
  /**
   * Up to `max` leases, best first. The same worker and request number gets the same leases
   * again, as far as it still holds them. Throws `BadRequest` for a request of the wrong form.
   */
  claim(request: ClaimRequest): Promise<readonly Claimed[]>
  /** A snapshot: later changes do not show in it. */
  query<const Q extends Query>(query: Q): Promise<AnswerTo<Q>>
  /**
   * Every entry after the position `from` (0: all), in order, each once, and then new ones as
   * they become durable. Going on later from the last position seen misses nothing.
   */
  watch(from: number): AsyncIterable<PositionedEntry>
  /** Every entry that becomes durable AFTER this answer, and none that the caller was shown before. */
  watchNew(): Promise<AsyncIterable<PositionedEntry>>
  /**
   * The store as it was then. A moment that is still to come is now. Throws `BeforeHistory` where too
   * much was removed.
   */
  at(moment: Moment): Promise<StoreSnapshot>
  /**
   * Of a store that several processes share: calls when something may have happened that was not
   * asked for here. What comes together is one call, and a call may be about nothing. Gives its
   * end. Left out: no other process changes anything, and `upkeep` shows what time did.
   */
  onNews?(listener: (news: News) => void): () => void
  /**
   * Executes commands together with claims for the jobs that they submit: what such a claim may
   * have is granted in the transaction of the submit. The commands are handed over. Left out: a claim that follows is as
   * quick.
   */
  submitAndClaim?(
    commands: readonly Command[],
    claims: readonly ClaimRequest[],
  ): Promise<SubmittedAndClaimed>
  /**
   * What this process wrote since it opened the store, from memory; null: nothing yet. It may be a moment ahead of what is
   * durable. Left out: a server writes for this process, and counts.
   */
  totals?(): Totals | null
  /** Left out: no process but this one is on the store, or presence is turned off. */
  readonly presence?: Presence
  /** Whether the server can be reached. Left out: there is none. */
  readonly availability?: Reachability
  /**
   * AFTER it, nothing that jobs held which were erased before is in any file of the store's own. It may
   * take long, and others may have to wait for it. Left out: nothing is there as soon as it is erased.
   */
  compact?(): Promise<void>
  /** It is about to be closed: from now on, no call waits longer than a moment for a database that is away. */
  expectClose?(): void
  /** Ends watches once they have seen everything. Closing twice is fine. */
  close(): Promise<void>
}

/** To ask, and nothing else. */
export type Queries = Pick<Store, 'query'>

/** Which jobs that are over stay readable. */
export interface Retention {
  /** How long a job that is over stays readable, if it did not say so itself. */
  readonly ageMs: number
  /** How many jobs that are over stay readable, the newest, of all types together. */
  readonly count: number
  /** Of single types: their own age, and how many of them at most. */
  readonly types?: { readonly [type: string]: Partial<Omit<Retention, 'types'>> }
}
