/**
 * The engine as a developer uses it: it submits jobs, shows them, runs workers, and sends the
 * commands of operators.
 *
 * It keeps no state of its own that matters: everything it says comes from the store.
 */
import type {
  AnyJob,
  AnyMessage,
  ArtifactPlace,
  MessageGiven,
  OutcomeOf,
  SubmitArguments,
  SubmitItem,
} from '../definition/index.ts'
import { NO_DEFAULTS } from '../definition/index.ts'
import type { Command } from '../kernel/index.ts'
import type { Timing } from '../store/clock.ts'
import { CommandBatcher } from '../store/command-batcher.ts'
import type { PositionedEntry } from '../store/index.ts'
import { StoreClosed } from '../store/index.ts'
import type { StalledTask, WorkerOptions } from '../worker/index.ts'
import { executorFor, memoryPlace, SuspectGate, Worker } from '../worker/index.ts'
import type { Actor } from './actor.ts'
import { actorOrDefault } from './actor.ts'
import { ArtifactSweep } from './artifacts/artifact-sweep.ts'
import { Artifacts } from './artifacts/artifacts.ts'
import type { Backup, BackupOptions } from './artifacts/backup.ts'
import { backUp } from './artifacts/backup.ts'
import {
  assertExecutionsFilter,
  assertJobId,
  assertLimit,
  assertLimitsFilter,
  assertSegmentsFilter,
  CALL_OPTIONS,
} from './call-options.ts'
import type { HandleParts } from './client/handle.ts'
import { Handle } from './client/handle.ts'
import type { JobInfo } from './client/job-info.ts'
import { jobInfo } from './client/job-info.ts'
import type { JobList, ListFilter } from './client/job-list.ts'
import { listJobs } from './client/job-list.ts'
import type { ManyItems } from './client/many-items.ts'
import { isList } from './client/many-items.ts'
import type { AnswerOptions, InboxFilter, InboxPage, QuestionRef } from './messages/inbox.ts'
import type { SendOptions, SentMessage } from './messages/messages.ts'
import { Messages } from './messages/messages.ts'
import { Results } from './client/results.ts'
import { momentOf, Snapshot } from './client/snapshot.ts'
import type { ItemOptions, SubmitOptions, SubmitSummary } from './client/submitter.ts'
import { assertDefinitions } from './client/worked-definitions.ts'
import { NO_OPTIONS, Submitter } from './client/submitter.ts'
import { waitingBounds } from './client/waiting-bounds.ts'
import { giveAccess } from './engine-access.ts'
import type { Counts, CountsOptions, QueueListItem } from './inspect/counts.ts'
import { countJobs, listQueues } from './inspect/counts.ts'
import type { EngineMetrics } from './inspect/engine-metrics.ts'
import { engineMetrics } from './inspect/engine-metrics.ts'
import type { ExecutionsFilter, ExecutionsPage } from './inspect/executions.ts'
import { executionsPage } from './inspect/executions.ts'
import type { SegmentList, SegmentsFilter } from './inspect/segments.ts'
import { listSegments } from './inspect/segments.ts'
import type { Explanation } from './inspect/explain.ts'
import { explain } from './inspect/explain.ts'
import type { Health } from './inspect/health.ts'
import type { HealthWatch } from './inspect/health.ts'
import { stalledInfo } from './inspect/health.ts'
import type { JobEventName } from './hooks/job-events.ts'
import type { JobListener, ListenOptions } from './hooks/subscription.ts'
import { listen, listenTerms, StalledTasks } from './hooks/subscription.ts'
import type { HistoryItem, HistoryOptions } from './inspect/history.ts'
import { HistoryReplays, jobHistory } from './inspect/history.ts'
import type { LimitList, LimitsFilter } from './inspect/limit-list.ts'
import { listLimits } from './inspect/limit-list.ts'
import type { QueueInfo } from './inspect/queue-info.ts'
import { queueInfo } from './inspect/queue-info.ts'
import { SoftState } from './inspect/soft-state.ts'
import type { WorkerInfo } from './inspect/worker-info.ts'
import type { BulkAction, BulkFilter, BulkOptions, BulkReport } from './client/bulk.ts'
import { bulk } from './client/bulk.ts'
import type { AcceptedActions } from './operator/accepted-actions.ts'
import { acceptedActions } from './operator/accepted-actions.ts'
import type { TaskChoice } from './operator/operator-commands.ts'
import type { EraseOptions } from './operator/erasure.ts'
import { Erasure } from './operator/erasure.ts'
import type {
  DefinitionOf,
  DiscardOptions,
  EffectAnswer,
  ForceOptions,
  QueueOptions,
  RerunOptions,
  RescheduleOptions,
  RetryJobOptions,
  RevokeOptions,
} from './operator/operator.ts'
import { Operator } from './operator/operator.ts'
import { Quarantine } from './operator/quarantine.ts'
import type { Notice, PawlParts } from './pawl-parts.ts'
import { newHealthWatch } from './presence/health-watch.ts'
import { PresenceLoop } from './presence/presence-loop.ts'
import type { RunScheduleOptions } from './schedule/run-now.ts'
import { ScheduleHandle } from './schedule/schedule-handle.ts'
import type { RefusedCommand } from './refusals.ts'
import { Refusals } from './refusals.ts'
import type { ScheduleInfo, UnreadableScheduleInfo } from './schedule/schedule-info.ts'
import { Schedules } from './schedule/schedules.ts'
import type { ScheduleTerms } from './schedule/terms.ts'
import { CommandListeners } from './upkeep/command-listeners.ts'
import { ForgetHook } from './upkeep/forget-hook.ts'
import { ForgetPace } from './upkeep/forget-pace.ts'
import { UpkeepLoop } from './upkeep/upkeep-loop.ts'
import { neverThrowing, notifier } from './user-callbacks.ts'

const DEFAULT_PAGE = 100

export class Pawl {
  /** Jobs that were given up, many at a time. */
  readonly quarantine: Quarantine
  /** Files that handlers wrote. */
  readonly artifacts: Artifacts
  readonly #parts: PawlParts
  readonly #now: () => number
  readonly #batcher: CommandBatcher
  readonly #submitter: Submitter
  readonly #upkeepLoop: UpkeepLoop
  readonly #schedules: Schedules
  readonly #place: ArtifactPlace
  readonly #sweep: ArtifactSweep
  readonly #operator: Operator
  readonly #messages: Messages
  readonly #erasure: Erasure
  readonly #results: Results
  readonly #commandListeners: CommandListeners
  readonly #softState: SoftState
  readonly #refusals: Refusals
  readonly #stalledTasks = new StalledTasks()
  readonly #replays = new HistoryReplays()
  readonly #presenceLoop: PresenceLoop
  readonly #suspects: SuspectGate
  readonly #healthWatch: HealthWatch
  readonly #workers = new Set<Worker>()
  /** The definitions that this engine was given last, by their names. */
  readonly #definitions = new Map<string, AnyJob>()
  readonly #handleParts: HandleParts
  #closing: Promise<void> | null = null
  readonly #closed = new AbortController()

  constructor(parts: PawlParts) {
    const { store, timing, upkeepTiming = timing, defaults = NO_DEFAULTS } = parts
    this.#now = parts.now ?? (() => timing.now())
    const onError = neverThrowing(parts.onError)
    this.#parts = { ...parts, onError }
    this.#batcher = new CommandBatcher(store, {
      sent: (commands) => this.#commandListeners.sent(commands),
      answered: (commands, answers) => this.#commandListeners.answered(commands, answers),
      failed: onError,
    })
    const notify = notifier(parts.onNotice, onError)
    const tellRefused = (one: RefusedCommand): void => notify({ kind: 'refused', ...one })
    this.#refusals = new Refusals(parts.noticeRefusals === true ? tellRefused : null)
    const onStalled = (task: StalledTask): void => {
      notify({ kind: 'stalled', ...stalledInfo(task) })
      this.#stalledTasks.tell(stalledInfo(task))
    }
    this.#softState = this.#newSoftState(notify, onStalled)
    this.#suspects = new SuspectGate(timing)
    this.#presenceLoop = this.#newPresenceLoop(parts.presenceTiming ?? upkeepTiming, onStalled)
    this.#healthWatch = newHealthWatch(this.#parts, this.#presenceLoop, (unserved) =>
      notify({ kind: 'unserved', ...unserved }),
    )
    const definitionOf: DefinitionOf = (type) => this.#definitions.get(type) ?? null
    this.#operator = new Operator(store, this.#batcher, definitionOf, this.#now, this.#refusals)
    this.#messages = new Messages(store, this.#batcher, definitionOf)
    const { signal: closing } = this.#closed
    const batcher = this.#batcher
    this.quarantine = new Quarantine({ store, batcher, timing, definitionOf, closing })
    const upkeepParts = { store, onError, now: this.#now, timing: upkeepTiming }
    this.#schedules = new Schedules({ ...upkeepParts, batcher, defaults })
    this.#place = parts.artifacts ?? memoryPlace()
    this.artifacts = new Artifacts(store, this.#place)
    this.#sweep = new ArtifactSweep({ ...upkeepParts, place: this.#place })
    this.#erasure = new Erasure({
      store,
      batcher: this.#batcher,
      place: this.#place,
      refusals: this.#refusals,
      forgetReports: (job) => this.#presenceLoop.forgetReports(job),
    })
    const traffic = { others: 0, ends: 0 }
    this.#upkeepLoop = new UpkeepLoop({
      store,
      pace: new ForgetPace(traffic),
      batcher: this.#batcher,
      timing: upkeepTiming,
      onError,
      forgetHook: this.#forgetHook(),
      examine: () => this.#healthWatch.examineSome(),
      onEnded: (error) => this.#results.end(error),
    })
    this.#results = new Results(store, timing)
    this.#commandListeners = new CommandListeners({
      store,
      workers: this.#workers,
      results: this.#results,
      upkeepLoop: this.#upkeepLoop,
      traffic,
      schedules: this.#schedules,
      onRefused: this.#refusals.onRefused,
    })
    this.#handleParts = this.#newHandleParts()
    this.#submitter = new Submitter(
      store,
      this.#batcher,
      this.#handleParts,
      this.#definitions,
      defaults,
      waitingBounds(this.#parts, this.#refusals),
    )
    this.#giveAccess()
  }

  /**
   * Durable when it returns; in a transaction of yours (`tx`), when you commit it. If a job has the
   * same key or id already, the handle is of that job.
   */
  submit<J extends AnyJob>(
    definition: J,
    ...[input, options = NO_OPTIONS]: SubmitArguments<J, SubmitOptions>
  ): Promise<Handle<OutcomeOf<J>>> {
    return this.#submitter.submitOne(definition, input, options)
  }

  /**
   * All are durable when it returns, or when you commit `tx`. Of a list, inputs are checked before any
   * is submitted; if the store refuses one (its id or key stands for something else), the others are in
   * all the same, and the error says which one it was.
   *
   * Anything else that can be iterated over, an async generator for example, is read as the store takes
   * the jobs, a few thousand ahead at most: that takes little memory, however many there are. There
   * are no handles, and the first job that is wrong, or refused, ends it.
   */
  submitMany<J extends AnyJob>(
    definition: J,
    jobs: readonly SubmitItem<J, ItemOptions>[],
    options?: Pick<SubmitOptions, 'tx'>,
  ): Promise<Handle<OutcomeOf<J>>[]>
  submitMany<J extends AnyJob>(
    definition: J,
    jobs: Iterable<SubmitItem<J, ItemOptions>> | AsyncIterable<SubmitItem<J, ItemOptions>>,
    options?: Pick<SubmitOptions, 'tx'>,
  ): Promise<SubmitSummary>
  submitMany<J extends AnyJob>(
    definition: J,
    jobs: ManyItems<J>,
    options: Pick<SubmitOptions, 'tx'> = {},
  ): Promise<Handle<OutcomeOf<J>>[] | SubmitSummary> {
    CALL_OPTIONS.submitMany.assert(options, 'submitMany()')
    const { tx } = options
    return isList(jobs)
      ? this.#submitter.submitList(definition, jobs, tx)
      : this.#submitter.submitEach(definition, jobs, tx)
  }

  /** Of a job that was submitted before. With its definition, `result()` is typed. */
  handle(id: string): Handle
  handle<J extends AnyJob>(id: string, definition: J): Handle<OutcomeOf<J>>
  handle(id: string, definition: AnyJob | null = null): Handle {
    assertJobId(id)
    return new Handle(this.#handleParts, id, definition)
  }

  async get(id: string): Promise<JobInfo | null> {
    assertJobId(id)
    const [view, { progress, lines }, stalled] = await Promise.all([
      this.#parts.store.query({ kind: 'overview', job: id }),
      this.#presenceLoop.reportsOf(id),
      this.#presenceLoop.stalledTasks(id),
    ])
    if (view === null) return null
    const stalledSince = stalled[0]?.since ?? null
    return jobInfo(this.#parts.store, view, { progress, lines, stalledSince })
  }

  async list(filter: ListFilter = {}): Promise<JobList> {
    return listJobs(this.#parts.store, filter)
  }

  async counts(filter: CountsOptions = {}): Promise<Counts> {
    return countJobs(this.#parts.store, filter)
  }

  /** Does to all jobs that a filter lets through what the call for one does; to be stopped, and made again, anywhere. */
  async bulk(action: BulkAction, filter: BulkFilter, options?: BulkOptions): Promise<BulkReport> {
    const own = { closing: this.#closed.signal, operator: this.#operator, now: this.#now }
    return bulk({ ...this.#parts, ...own }, action, filter, options)
  }

  /** Everything that happened to a job, oldest first: what, when, who and why, and its state by it. */
  async history(id: string, page: HistoryOptions = {}): Promise<readonly HistoryItem[]> {
    assertJobId(id)
    CALL_OPTIONS.history.assert(page, 'history()')
    assertLimit(page.limit)
    const { newest = false, limit = DEFAULT_PAGE } = page
    const after = newest ? 'newest' : (page.after ?? 0)
    return jobHistory(this.#parts.store, id, { after, limit }, this.#now(), this.#replays)
  }

  /** Every attempt at a job, or at one stage or segment of it, page by page, in the order they were leased. */
  async executions(id: string, filter: ExecutionsFilter = {}): Promise<ExecutionsPage> {
    assertJobId(id)
    assertExecutionsFilter(filter)
    assertLimit(filter.limit)
    return executionsPage(this.#parts.store, id, filter)
  }

  /** The segments of a stage, page by page: what each does, how often it was tried, and what went wrong. */
  async segments(id: string, filter: SegmentsFilter): Promise<SegmentList> {
    assertJobId(id)
    assertSegmentsFilter(filter)
    assertLimit(filter.limit)
    return listSegments(this.#parts.store, id, filter)
  }

  /**
   * What of the calls below would be accepted of a job now, or of one task of a pipeline: to show people only what
   * they can do. Each call is decided when it is made.
   */
  async actions(id: string, choice: TaskChoice = {}): Promise<AcceptedActions> {
    assertJobId(id)
    CALL_OPTIONS.choice.assert(choice, 'actions()')
    return acceptedActions(this.#parts.store, this.#now(), id, choice)
  }

  /** Every entry from a position on (default: from the beginning), and then as they come. */
  watch(options: { readonly from?: number } = {}): AsyncIterable<PositionedEntry> {
    CALL_OPTIONS.watch.assert(options, 'watch()')
    return this.#parts.store.watch(options.from ?? 0)
  }

  /**
   * Calls a listener with what happens to jobs, in whichever process, from now on or behind a position. Gives what
   * stops it.
   */
  async on(
    events: JobEventName | readonly JobEventName[],
    listener: JobListener,
    options: ListenOptions = {},
  ): Promise<() => Promise<void>> {
    const { store, onError } = this.#parts
    const parts = { store, onError, stalled: this.#stalledTasks }
    const stop = await listen(parts, listenTerms(events, listener, options), listener)
    if (this.#stalledTasks.hasListeners) this.#presenceLoop.listen()
    return stop
  }

  /**
   * All jobs as they were at a time of the store's clock, or when the entry at a position was written. What
   * is later than now is now.
   */
  at(moment: Date | number): Snapshot {
    return new Snapshot(this.#parts.store, momentOf(moment))
  }

  /** Why is this job not running? Every reason that holds now. */
  async explain(id: string): Promise<Explanation> {
    const workers = await this.#presenceLoop.workers()
    const stalled = await this.#presenceLoop.stalledTasks(id)
    return explain({ store: this.#parts.store, workers, now: this.#now(), stalled }, id)
  }

  /**
   * The workers of all processes on the store, as they said of themselves in the last seconds: what they
   * serve, what they hold, and where they are. Soft: empty after a restart until workers speak.
   */
  workers(): Promise<readonly WorkerInfo[]> {
    if (this.#closing !== null) return Promise.reject(new StoreClosed())
    return this.#presenceLoop.workers()
  }

  /**
   * Sends a message to a job. It is kept from now on, whether or not the job waits for it yet; the same `id`
   * again does nothing.
   */
  async send<M extends AnyMessage>(
    id: string,
    message: M | string,
    value?: MessageGiven<M>,
    options: SendOptions = {},
  ): Promise<SentMessage> {
    assertJobId(id)
    CALL_OPTIONS.send.assert(options, 'send()', `send(id, message, value, { by: 'ada' })`)
    return this.#messages.send(id, message, value, options)
  }

  /** The questions that wait for people, the oldest first, a page at a time. */
  async inbox(filter: InboxFilter = {}): Promise<InboxPage> {
    CALL_OPTIONS.inbox.assertFilter(filter, 'inbox()', ['after', 'limit'])
    assertLimit(filter.limit)
    return this.#messages.inbox.list(filter)
  }

  /** Answers a question. An answer that does not fit, or that comes too late, is refused. */
  async answer(to: QuestionRef, value: unknown, options: AnswerOptions): Promise<void> {
    CALL_OPTIONS.answer.assert(options, 'answer()', `answer(item, value, { by: 'ada' })`)
    return this.#messages.inbox.answer(to, value, options)
  }

  async cancel(id: string, actor: Actor = {}): Promise<void> {
    CALL_OPTIONS.actor.assert(actor, 'cancel()')
    return this.#operator.cancel(id, actor)
  }

  /** Lets a job go that was submitted with `hold`. */
  async release(id: string, actor: Actor = {}): Promise<void> {
    CALL_OPTIONS.actor.assert(actor, 'release()')
    return this.#operator.release(id, actor)
  }

  /** A job in quarantine gets a fresh budget, and a new input if there is one. */
  async retry(id: string, options: RetryJobOptions = {}): Promise<void> {
    CALL_OPTIONS.retry.assert(options, 'retry()')
    return this.#operator.retry(id, options)
  }

  /** A job in quarantine is given up, or one task of it. Others are refused. */
  async discard(id: string, options: DiscardOptions = {}): Promise<void> {
    CALL_OPTIONS.task.assert(options, 'discard()')
    return this.#operator.discard(id, options)
  }

  /** Sets the state of a job, whatever its workers report. */
  async force(id: string, options: ForceOptions): Promise<void> {
    CALL_OPTIONS.force.assert(options ?? {}, 'force()')
    return this.#operator.force(id, options)
  }

  /**
   * Takes the lease from the worker that has the job: its handler is told who and why by its `signal`, and
   * the job is tried again at once, which costs a retry if it had begun. After the commit, an effect that
   * runs counts as one whose outcome is unknown: an effect that hangs is ended so. Refused if no worker has
   * it (LeaseNotHeld).
   */
  async revoke(id: string, options: RevokeOptions = {}): Promise<void> {
    CALL_OPTIONS.task.assert(options, 'revoke()')
    return this.#operator.revoke(id, options)
  }

  /** Another due time, priority or queue for a job that waits, for its retry as well. */
  async reschedule(id: string, options: RescheduleOptions): Promise<void> {
    CALL_OPTIONS.reschedule.assert(options ?? {}, 'reschedule()')
    return this.#operator.reschedule(id, options)
  }

  /** A job that is over again, as a new job that points to it; `from` a step, with the steps before it. */
  async rerun(id: string, options: RerunOptions = {}): Promise<Handle> {
    CALL_OPTIONS.rerun.assert(options, 'rerun()')
    return this.handle(await this.#operator.rerun(id, options))
  }

  /**
   * Erases what a job that is over was given and made, with its artifacts: that it ran stays. If other jobs hold
   * copies, say with `copies` what is to become of them. The ids of the jobs that are erased. Until `compact()`,
   * the bytes may still be in files of the store.
   */
  async erase(id: string, options: EraseOptions = {}): Promise<readonly string[]> {
    assertJobId(id)
    CALL_OPTIONS.erase.assert(options, 'erase()')
    return this.#erasure.erase(id, options)
  }

  /**
   * AFTER it, nothing that was erased before is in the store's files. A directory gives up the history of all
   * jobs before it; a database writes its tables anew, and others wait meanwhile.
   */
  async compact(): Promise<void> {
    await this.#parts.store.compact?.()
  }

  /** Says what became of an effect whose outcome is unknown, or that is held. */
  async resolveEffect(id: string, effect: number, answer: EffectAnswer): Promise<void> {
    CALL_OPTIONS.effect.assert(answer, 'resolveEffect()', `{ outcome: 'happened' }`)
    return this.#operator.resolveEffect(id, effect, answer)
  }

  /** Nothing more of the queue is handed out. What runs goes on. */
  async pause(queue: string, actor: Actor = {}): Promise<void> {
    CALL_OPTIONS.actor.assert(actor, 'pause()')
    return this.#operator.pause(queue, actor)
  }

  async resume(queue: string, actor: Actor = {}): Promise<void> {
    CALL_OPTIONS.actor.assert(actor, 'resume()')
    return this.#operator.resume(queue, actor)
  }

  /** A worker of whatever process takes nothing more, within a second or two, until it is resumed or its process ends. */
  async drainWorker(worker: string, actor: Actor = {}): Promise<void> {
    CALL_OPTIONS.actor.assert(actor, 'drainWorker()')
    return this.#presenceLoop.ask(worker, true, actorOrDefault(actor, 'Drained'))
  }

  async resumeWorker(worker: string, actor: Actor = {}): Promise<void> {
    CALL_OPTIONS.actor.assert(actor, 'resumeWorker()')
    return this.#presenceLoop.ask(worker, false, actorOrDefault(actor, 'Resumed'))
  }

  async queues(): Promise<readonly QueueListItem[]> {
    return listQueues(this.#parts.store)
  }

  /** A queue that was never configured has no bounds. */
  async queue(name: string): Promise<QueueInfo> {
    return queueInfo(await this.#parts.store.query({ kind: 'queue', queue: name }), this.#now())
  }

  /** The limits that jobs declare of which something is used now, in order of their keys, page by page. */
  async limits(filter: LimitsFilter = {}): Promise<LimitList> {
    assertLimitsFilter(filter)
    return listLimits(this.#parts.store, filter)
  }

  /** Says what holds for the queue from now on, as a whole: an option that is left out is reset. */
  async configure(queue: string, options: QueueOptions, actor: Actor = {}): Promise<void> {
    CALL_OPTIONS.queue.assert(options, 'configure()', `configure(queue, { concurrency: 5 })`)
    CALL_OPTIONS.actor.assert(actor, 'configure()')
    await this.#operator.configure(queue, options, actor)
  }

  /** Sets a schedule, or changes it: durable when it returns. The same terms again change nothing. */
  async schedule<J extends AnyJob>(
    id: string,
    terms: ScheduleTerms<J>,
    actor: Actor = {},
  ): Promise<ScheduleHandle> {
    CALL_OPTIONS.schedule.assert(
      terms,
      `schedule '${id}'`,
      `schedule(id, { cron: '0 3 * * *', job })`,
    )
    CALL_OPTIONS.actor.assert(actor, 'schedule()')
    await this.#schedules.set(id, terms, actor)
    return this.scheduleHandle(id)
  }

  /** Of a schedule that was set before. */
  scheduleHandle(id: string): ScheduleHandle {
    return new ScheduleHandle(this.#schedules, id, (options) => this.runSchedule(id, options))
  }

  protected async runSchedule(id: string, options: RunScheduleOptions): Promise<Handle> {
    CALL_OPTIONS.run.assert(options, 'run()')
    return this.handle(await this.#schedules.run(id, options))
  }

  /** All that are set, in order of their ids, with those that cannot be read. */
  schedules(): Promise<(ScheduleInfo | UnreadableScheduleInfo)[]> {
    return this.#schedules.list()
  }

  /** A copy of the store as it is now, with its artifacts, in an empty folder, while work goes on. */
  async backup(to: string, options: BackupOptions = {}): Promise<Backup> {
    CALL_OPTIONS.backup.assert(options, 'backup()')
    const { backup, store } = this.#parts
    const parts = { backup, place: this.#place, store: store.id ?? null, sweep: this.#sweep }
    return backUp(parts, to, options)
  }

  /** Whether all is well: what is broken, which tasks are stalled, and which wait without a worker. */
  health(): Promise<Health> {
    return this.#healthWatch.health()
  }

  /** Counters and timings of every transition since the engine was opened. */
  async metrics(): Promise<EngineMetrics> {
    return engineMetrics(await this.#parts.store.query({ kind: 'metrics' }), this.#refusals)
  }

  /** Takes jobs of these definitions and runs them, until it is stopped. */
  work(definitions: readonly AnyJob[], options: WorkerOptions = {}): Worker {
    if (this.#closing !== null) throw new StoreClosed()
    assertDefinitions(definitions)
    CALL_OPTIONS.worker.assert(options, 'work()', 'work([definition], { concurrency: 5 })')
    for (const definition of definitions) this.#definitions.set(definition.name, definition)
    const { store, timing, onError } = this.#parts
    const worker: Worker = new Worker(
      {
        store,
        batcher: this.#batcher,
        timing,
        executor: executorFor(options, timing, this.#place, onError),
        artifacts: this.#place,
        defaults: this.#parts.defaults ?? null,
        workerEvents: this.#softState,
        onStageReport: () => this.#upkeepLoop.runNow(),
        // What the store noted about it is looked at once more.
        onCallAnswered: () => this.#upkeepLoop.runSoon(),
        onError,
        onStopped: () => this.#workers.delete(worker),
        presence: store.presence ?? null,
        suspects: this.#suspects,
        nameWorker: this.#parts.nameWorker,
      },
      definitions,
      options,
    )
    this.#workers.add(worker)
    this.#presenceLoop.began(worker)
    return worker
  }

  /** Does now what is due: leases that ran out, schedules, files to remove. For tests. */
  async upkeep(): Promise<number> {
    const sent = (await this.#upkeepLoop.sendDue()) + (await this.#schedules.fireDue())
    await this.#sweep.sweepSome()
    return sent
  }

  /** Stops the workers, waits until all that was sent is durable, and closes the store. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    try {
      this.#closed.abort()
      this.#commandListeners.close()
      await Promise.all([...this.#workers].map((worker) => worker.stop()))
      this.#parts.store.expectClose?.()
      const loops = [this.#upkeepLoop, this.#presenceLoop, this.#schedules, this.#sweep]
      await Promise.all(loops.map((one) => one.close()))
      // AFTER the workers have sent their last reports, and BEFORE the store takes nothing more.
      await this.#batcher.close()
      await this.#presenceLoop.leave()
      await this.#parts.store.close()
    } finally {
      this.#results.end(new StoreClosed())
      this.#parts.onClose()
    }
  }

  #giveAccess(): void {
    const { store } = this.#parts
    const [listeners, presence] = [this.#commandListeners, this.#presenceLoop]
    const healthWatch = this.#healthWatch
    const definitionOf: DefinitionOf = (type) => this.#definitions.get(type) ?? null
    giveAccess(this, { store, now: this.#now, definitionOf, listeners, presence, healthWatch })
  }

  #newHandleParts(): HandleParts {
    return {
      store: this.#parts.store,
      timing: this.#parts.timing,
      results: this.#results,
      get: (id) => this.get(id),
      progressOf: async (id) => (await this.#presenceLoop.reportsOf(id)).progress,
      onProgress: (id, listener) => this.#softState.onProgress(id, listener),
      cancel: (id, actor) => this.cancel(id, actor),
      onAppended: (id, listener) => this.#commandListeners.onAppended(id, listener),
    }
  }

  #newSoftState(
    notify: (notice: Notice) => void,
    onStalled: (task: StalledTask) => void,
  ): SoftState {
    const { timing } = this.#parts
    return new SoftState({
      now: this.#now,
      authorityTime: (ms) => this.#now() - (timing.now() - ms),
      onStalled,
      onNewer: (job) => notify({ kind: 'newer-version', ...job }),
    })
  }

  #newPresenceLoop(timing: Timing, onStalled: (task: StalledTask) => void): PresenceLoop {
    const { store, onNotice } = this.#parts
    const presence = store.presence ?? null
    const own = { workers: this.#workers, softState: this.#softState, batcher: this.#batcher }
    const wantsStalled = () => onNotice !== undefined || this.#stalledTasks.hasListeners
    const now = this.#now
    return new PresenceLoop({ ...own, presence, store, timing, now, onStalled, wantsStalled })
  }

  #forgetHook(): ForgetHook | null {
    const { onForget, onError, timing } = this.#parts
    if (onForget === undefined) return null
    const send = (commands: readonly Command[]): Promise<unknown> => this.#batcher.sendAll(commands)
    const again = (): void => this.#upkeepLoop.runNow()
    return new ForgetHook({ timing, onForget, onError, send, again, get: (id) => this.get(id) })
  }
}
