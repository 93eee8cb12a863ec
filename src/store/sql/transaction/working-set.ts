/**
 * The part of the state that one transaction has loaded: what the kernel reads, and what changed.
 *
 * It is a world with gaps. It refuses to answer for what was never loaded (`NotLoaded`): that is a bug,
 * because `LockPlan` says what commands need.
 *
 * - `add…`: what came from the database.
 * - `apply`: an entry that was decided. The records change, and what is to be written is noted.
 */
import type {
  Command,
  Entry,
  Indexes,
  Job,
  JobSubmitted,
  Lease,
  Queue,
  QueueEntry,
  Schedule,
  StageTasks,
  Tallies,
  Tally,
  Task,
  Usage,
  World,
} from '../../../kernel/index.ts'
import {
  changeRate,
  chargeGrant,
  creditEnd,
  emptyTally,
  errorFingerprint,
  fold,
  NO_TALLIES,
  PawlError,
  addToTally,
  isEnding,
  isHeldTask,
  stagesOf,
  takesToken,
} from '../../../kernel/index.ts'
import type { CallCheck } from '../../state/call-checks.ts'
import { checksAfter } from '../../state/call-checks.ts'
import { CountTable } from '../../state/job-counts.ts'
import type { StatesAround } from '../../state/metrics.ts'
import { statesAround, statesBefore } from '../../state/metrics.ts'
import { isListed, TaskSnapshot } from '../../state/task-snapshot.ts'
import type { Row } from '../connection.ts'
import type { LackingSteps, LeasedRow } from './context.ts'
import { SqlFailed } from '../failures.ts'
import type { Records } from '../rows/records.ts'
import { errorLabel, tagLabel } from '../rows/counted-rows.ts'
import { NO_ROWS, questionKey, questionRows } from '../rows/question-rows.ts'
import type { TallyRow } from '../rows/tally-rows.ts'
import { TallyChange } from '../rows/tally-rows.ts'
import type { LoadedColumns, RowState } from '../rows/work-rows.ts'
import { countedAs, JOB_ROW, keyName, rowKey, tagsColumn } from '../rows/work-rows.ts'

/** An entry that was decided, with the job and task as they are AFTER it. */
export interface AppliedEntry {
  readonly entry: Entry
  readonly position: number
  /** Of the entry before it of the same row; null: there is none. */
  readonly previousPosition: number | null
  readonly job: Job | null
  readonly task: Task | null
  readonly taskBefore: TaskSnapshot | null
  /** Of the task; null: it has none. */
  readonly states: StatesAround | null
}

export class NotLoaded extends PawlError {
  constructor(what: string) {
    super('NotLoaded', 'bug', `${what} was decided on before it was loaded: please report this.`)
  }
}

/** Knows what is there and what is not. It refuses to answer for what was never loaded. */
export class LoadedMap<T> extends Map<string, T> {
  readonly #kind: string
  readonly #absent = new Set<string>()

  constructor(kind: string) {
    super()
    this.#kind = kind
  }

  /** It was read, and is not there. */
  setAbsent(id: string): void {
    if (!super.has(id)) this.#absent.add(id)
  }

  isLoaded(id: string): boolean {
    return super.has(id) || this.#absent.has(id)
  }

  override get(id: string): T | undefined {
    const found = super.get(id)
    if (found === undefined && !this.#absent.has(id)) throw new NotLoaded(`${this.#kind} ${id}`)
    return found
  }

  override set(id: string, value: T): this {
    // The constructor of a map has no fields yet.
    this.#absent?.delete(id)
    return super.set(id, value)
  }

  override delete(id: string): boolean {
    this.#absent.add(id)
    return super.delete(id)
  }
}

/** The job of a segment is read without a lock, for reports about the segment. */
const ID_REUSED = 'A job was forgotten, and its id used again, while it was loaded.'

export class WorkingSet implements Indexes {
  readonly jobs = new LoadedMap<Job>('Job')
  readonly queues = new LoadedMap<Queue>('Queue')
  readonly schedules = new LoadedMap<Schedule>('Schedule')
  readonly world: World = {
    jobs: this.jobs,
    tasks: new Map<string, StageTasks>(),
    queues: this.queues,
    schedules: this.schedules,
  }
  readonly usage = new LoadedMap<Usage>('Limit')
  /** Which job holds a key. */
  readonly keys = new LoadedMap<string>('Key')
  readonly rows = new Map<string, RowState>()
  readonly applied: AppliedEntry[] = []
  /** Rows to be saved, in the order in which they were first changed. */
  readonly changed = new Set<RowState>()
  /** Of those that were there before: rows whose queue or priority may be another one now. */
  readonly moved = new Set<RowState>()
  readonly forgotten = new Set<string>()
  /** How the counts of jobs change. */
  counts = new CountTable()
  /** Labels of jobs that are forgotten: (label, position). */
  droppedLabels: Row[] = []
  /** What jobs that are forgotten asked: keys of `questions`. */
  droppedQuestions: Row[] = []
  /** Pipelines that were submitted: see `savePipelines`. */
  newPipelines: Row[] = []
  readonly droppedKeys = new Set<string>()
  readonly changedQueues = new Map<string, number>()
  readonly chargedQueues = new Set<string>()
  readonly changedSchedules = new Map<string, number>()
  readonly changedLimits = new Set<string>()
  /** Keys of limits that leases were given back to, and how many. */
  readonly freed = new Map<string, number>()
  /** Calls that upkeep must look at. */
  readonly callsToCheck = new Map<string, CallCheck>()
  readonly changedPipelines = new Map<string, ChangedPipeline>()
  readonly forgottenPipelines = new Set<string>()
  /** Jobs that were not read (see `LeasedRowCache`): only an entry, whose write is checked, may follow. */
  readonly fromCache = new Set<string>()
  /** The same of ids that are taken to be new. */
  readonly #unread = new Set<string>()
  /** Tallies that are no longer known were needed: the rest is for another transaction. */
  hasUnknownTallies = false
  /** No record that was loaded is of a later time. */
  latestTime = 0
  readonly #records: Records
  readonly #lackingSteps: LackingSteps
  readonly #tallies = new Map<string, LoadedTallies>()
  readonly #queueUsage = new Map<string, Usage>()

  constructor(records: Records, lackingSteps: LackingSteps) {
    this.#records = records
    this.#lackingSteps = lackingSteps
  }

  tallies(job: Job): Tallies {
    if (job.task !== null) return NO_TALLIES
    const loaded = this.#tallies.get(job.id)
    if (loaded === undefined) throw new NotLoaded(`The tallies of job ${job.id}`)
    const tallies = loaded.of(job)
    if (tallies === null) this.hasUnknownTallies = true
    // Never used: the transaction ends before this command.
    return tallies ?? stagesOf(job).map(emptyTally)
  }

  hasTallies(job: string): boolean {
    return this.#tallies.has(job)
  }

  queueUsage(queue: string): Usage | null {
    return this.#queueUsage.get(queue) ?? null
  }

  keyHolder(type: string, key: string): Job | null {
    const id = this.keys.get(keyName(type, key))
    return id === undefined ? null : (this.jobs.get(id) ?? null)
  }

  /** A row as it was loaded, with what was submitted as its job. The job of a segment comes first. */
  addRow(columns: LoadedColumns, submitted: JobSubmitted | null): void {
    const { job: id, stage, segment, position, lastPosition, version, turn, parked } = columns
    const key = rowKey(id, stage, segment)
    if (this.rows.has(key)) return
    const { record } = columns
    let task: Task | null
    if (stage === JOB_ROW) {
      if (submitted === null) throw new NotLoaded(`What was submitted as job ${id}`)
      task = this.#addJob(
        this.#lackingSteps.read(key, lastPosition, () => this.#records.job(record, submitted)),
        columns,
      ).task
    } else {
      const job = this.jobs.get(id) as Job
      if (job.firstPosition !== position) throw new SqlFailed('conflict', ID_REUSED, null)
      task = this.#lackingSteps.read(key, lastPosition, () => {
        return this.#records.task(record as Uint8Array, job, stage, segment)
      })
      this.latestTime = Math.max(this.latestTime, task.time)
      this.#tasksOfStage(job, stage)[segment] = task
    }
    this.rows.set(key, {
      job: id,
      stage,
      segment,
      position,
      lastPosition,
      version,
      turn,
      parked,
      countedAs: countedAs(this.jobs.get(id) as Job, task, turn),
      error: stage === JOB_ROW ? errorFingerprint(this.jobs.get(id) as Job) : null,
      held: stage === JOB_ROW && task !== null && isHeldTask(task),
      questions: questionRows(this.jobs.get(id) as Job, task),
    })
  }

  /** A plain job that was not read. */
  addCached({ job, row }: LeasedRow): void {
    this.latestTime = Math.max(this.latestTime, job.task?.time ?? 0)
    this.jobs.set(job.id, job)
    this.rows.set(rowKey(row.job, row.stage, row.segment), row)
    this.fromCache.add(job.id)
  }

  /** A job that was not read, and is taken not to be there: its insert fails if it is. */
  addUnread(id: string): void {
    if (this.jobs.isLoaded(id)) return
    this.#unread.add(id)
    this.jobs.setAbsent(id)
  }

  /** Whether an answer that no entry goes with may be given: it speaks of a job that was read, or is written. */
  mayAnswer(command: Command): boolean {
    if (this.fromCache.size === 0 && this.#unread.size === 0) return true
    if (typeof command !== 'object' || command === null || !('job' in command)) return true
    const { job } = command
    return !this.fromCache.has(job) && (!this.#unread.has(job) || this.jobs.get(job) !== undefined)
  }

  #addJob(job: Job, { position, lastPosition }: LoadedColumns): Job {
    job.firstPosition = position
    job.lastPosition = lastPosition
    this.latestTime = Math.max(this.latestTime, job.time, job.task?.time ?? 0)
    this.jobs.set(job.id, job)
    if (job.opened !== null && !this.world.tasks.has(job.id)) {
      this.world.tasks.set(
        job.id,
        job.opened.map(() => null),
      )
    }
    return job
  }

  addTallies(job: Job, tallies: LoadedTallies): void {
    this.#tallies.set(job.id, tallies)
  }

  addQueue(queue: Queue, fullAt: number): void {
    this.latestTime = Math.max(this.latestTime, queue.time)
    this.queues.set(queue.name, queue)
    this.setQueueUsage(queue.name, 0, fullAt)
  }

  addSchedule(schedule: Schedule): void {
    this.latestTime = Math.max(this.latestTime, schedule.time)
    this.schedules.set(schedule.id, schedule)
  }

  setQueueUsage(queue: string, held: number, fullAt: number): void {
    this.#queueUsage.set(queue, { held, fullAt })
  }

  /** AFTER what was noted is written, in the same transaction. */
  clearChanges(): void {
    this.applied.length = 0
    const ofJobs = [this.changed, this.moved, this.forgotten, this.droppedKeys]
    const ofPipelines = [this.changedPipelines, this.forgottenPipelines, this.callsToCheck]
    const ofQueues = [this.changedQueues, this.chargedQueues, this.changedSchedules]
    for (const one of [...ofJobs, ...ofPipelines, ...ofQueues, this.changedLimits, this.freed])
      one.clear()
    // Statements that were made of these are still to be sent.
    this.droppedLabels = []
    this.droppedQuestions = []
    this.newPipelines = []
    this.counts = new CountTable()
  }

  apply(entry: Entry, position: number): void {
    switch (entry.type) {
      case 'JobSubmitted':
        return this.#submit(entry, position)
      case 'JobForgotten':
        return this.#forget(entry, position)
      case 'StageOpened':
        return this.#openStage(entry, position)
      case 'JobReleased':
      case 'JobReplaced':
      case 'MessageKept':
      case 'JobCancelled':
      case 'JobErased': {
        const job = this.jobs.get(entry.job) as Job
        return this.#change(entry, position, job, job.task)
      }
      case 'QueueConfigured':
      case 'QueuePaused':
      case 'QueueResumed':
        return this.#changeQueue(entry, position)
      case 'ScheduleSet':
      case 'ScheduleFired':
      case 'ScheduleRemoved': {
        const known = this.schedules.get(entry.schedule)
        if (!this.changedSchedules.has(entry.schedule)) {
          this.changedSchedules.set(entry.schedule, known?.version ?? 0)
        }
        fold(this.world, entry)
        this.#noteApplied(entry, position)
        return
      }
      default: {
        const job = this.jobs.get(entry.job) as Job
        const task = job.task ?? this.world.tasks.get(job.id)?.[entry.stage]?.[entry.segment]
        if (task === undefined) {
          throw new NotLoaded(`Task ${entry.job}/${entry.stage}/${entry.segment}`)
        }
        this.#change(entry, position, job, task)
      }
    }
  }

  #submit(entry: JobSubmitted, position: number): void {
    const { type, key } = entry.spec
    if (key !== null) {
      const before = this.keys.get(keyName(type, key))
      if (before !== undefined) this.droppedKeys.add(before)
      this.keys.set(keyName(type, key), entry.job)
    }
    fold(this.world, entry)
    const job = this.jobs.get(entry.job) as Job
    job.firstPosition = position
    job.lastPosition = position
    if (job.task === null) {
      this.#tallies.set(job.id, new LoadedTallies(stagesOf(job).length))
      this.#changedPipeline(job).isToCheck = true
      this.#countPipeline(job, entry.at)
    }
    this.#newRow(job, JOB_ROW, 0, position)
    this.#noteApplied(entry, position, null, job, job.task)
  }

  /** None of its stages is open yet. Upkeep counts what becomes of it. */
  #countPipeline({ id, firstPosition, spec, held, dueAt }: Job, now: number): void {
    const isLater = dueAt > now
    const until = isLater && !held ? dueAt : null
    const counted = held || isLater ? 'CREATED' : 'QUEUED'
    const tags = tagsColumn(spec.tags)
    this.newPipelines.push([id, firstPosition, spec.type, tags, counted, false, until])
  }

  #openStage(entry: Entry & { type: 'StageOpened' }, position: number): void {
    const job = this.jobs.get(entry.job) as Job
    const previousPosition = this.#markChanged(rowKey(job.id, JOB_ROW, 0), position)
    fold(this.world, entry)
    const changed = this.#changedPipeline(job)
    changed.isToCheck = true
    for (const task of this.world.tasks.get(job.id)?.[entry.stage] ?? []) {
      this.#tallies.get(job.id)?.add(task)
      changed.count(task, 1)
      this.#newRow(job, task.stage, task.segment, position)
    }
    job.lastPosition = position
    this.#noteApplied(entry, position, previousPosition, job)
  }

  #forget(entry: Entry & { type: 'JobForgotten' }, position: number): void {
    const job = this.jobs.get(entry.job) as Job
    const { type, key } = job.spec
    const previousPosition = this.rows.get(rowKey(job.id, JOB_ROW, 0))?.lastPosition ?? null
    if (key !== null && this.keys.isLoaded(keyName(type, key))) {
      if (this.keys.get(keyName(type, key)) === job.id) {
        this.keys.delete(keyName(type, key))
      }
    }
    fold(this.world, entry)
    for (const [name, row] of this.rows) {
      if (row.job !== job.id) continue
      this.rows.delete(name)
      this.changed.delete(row)
      this.moved.delete(row)
      // It may have ended in this transaction: then it is still counted as it was before.
      const policy = job.task?.policy ?? job.spec.stages?.[row.stage]?.policy
      if (policy !== undefined) this.count(row, job, policy.queue, -1)
      if (row.stage === JOB_ROW) this.#dropLabels(job, row)
      // It may have been cancelled in this transaction.
      this.droppedQuestions.push(...row.questions.map(questionKey))
    }
    this.#tallies.delete(job.id)
    this.changedPipelines.delete(job.id)
    this.forgotten.add(job.id)
    if (job.task === null) this.forgottenPipelines.add(job.id)
    this.#noteApplied(entry, position, previousPosition, job)
  }

  /** An entry of a task, or of a job that is not about its stages. */
  #change(entry: Entry & { job: string }, position: number, job: Job, task: Task | null): void {
    const name =
      task === null || job.task !== null
        ? rowKey(job.id, JOB_ROW, 0)
        : rowKey(job.id, task.stage, task.segment)
    const previousPosition = this.#markChanged(name, position)
    const taskBefore = task === null ? null : new TaskSnapshot().note(job, task)
    const before = task === null ? 0 : statesBefore(job, task, entry.at)
    const wasReady = taskBefore?.listed === true && this.#isReady(name)
    if (entry.type === 'TaskRescheduled' || entry.type === 'JobReplaced') this.#move(name, task)
    const waits = task?.waiting?.waits
    if (job.task === null) this.#changePipeline(entry, job, task)
    else fold(this.world, entry)
    if (task !== null) {
      for (const check of checksAfter(entry, job, task, waits)) {
        this.callsToCheck.set(rowKey(check.job, check.stage, check.segment), check)
      }
    }
    if (job.task !== null || task === null) job.lastPosition = position
    if (task !== null && taskBefore !== null) this.#updateUsage(task, taskBefore)
    if (task !== null && wasReady) this.#freeLimitsOf(task, isListed(job, task), entry.at)
    const states = task === null ? null : statesAround(before, job, task, entry.at)
    this.#noteApplied(entry, position, previousPosition, job, task, taskBefore, states)
  }

  /** Counts a row in or out as it says that it is counted. `queue`: of its task. */
  count(
    { stage, countedAs: state, error, held }: RowState,
    job: Job,
    queue: string,
    by: 1 | -1,
  ): void {
    if (state === null) return
    const { type, tags } = job.spec
    if (stage !== JOB_ROW) this.counts.addSegment(type, queue, state, by)
    else this.counts.addJob({ type, queue, tags, error, held }, state, by)
  }

  #dropLabels({ spec, firstPosition }: Job, { error }: RowState): void {
    const labels = spec.tags.map(tagLabel)
    if (error !== null) labels.push(errorLabel(error))
    for (const label of labels) this.droppedLabels.push([label, firstPosition])
  }

  /** It may be counted in another queue, and stands in another line. BEFORE the entry is applied. */
  #move(name: string, task: Task | null): void {
    const row = this.rows.get(name) as RowState
    if (task !== null) this.count(row, this.jobs.get(row.job) as Job, task.policy.queue, -1)
    row.countedAs = null
    row.turn = null
    row.parked = null
    if (row.version > 0) this.moved.add(row)
  }

  /** `task`: null if the entry is about the pipeline itself. */
  #changePipeline(entry: Entry, job: Job, task: Task | null): void {
    const changed = this.#changedPipeline(job)
    if (task === null) {
      changed.isToCheck = true
      return fold(this.world, entry)
    }
    const tallies = this.#tallies.get(job.id)
    const { state, dueAt } = task
    tallies?.remove(task)
    changed.count(task, -1)
    fold(this.world, entry)
    tallies?.add(task)
    changed.count(task, 1)
    // A grant opens no stage, stops no task and ends no job, but its job may be counted as another one now.
    if (task.state !== state || task.dueAt !== dueAt) changed.isToCheck = true
  }

  #changedPipeline({ id }: Job): ChangedPipeline {
    const known = this.changedPipelines.get(id)
    if (known !== undefined) return known
    const changed = new ChangedPipeline()
    this.changedPipelines.set(id, changed)
    return changed
  }

  /** It waits for nothing but a claim. */
  #isReady(name: string): boolean {
    const row = this.rows.get(name)
    return row !== undefined && row.turn !== null && row.parked === null
  }

  /** A ready task that leaves without a grant may have been unparked: others are, in its place. */
  #freeLimitsOf({ lease, dueAt, policy }: Task, listed: boolean, now: number): void {
    if (lease !== null || (listed && dueAt <= now)) return
    for (const { key } of policy.limits) this.freed.set(key, (this.freed.get(key) ?? 0) + 1)
  }

  /** What a lease that began or ended means for limits. */
  #updateUsage(task: Task, before: TaskSnapshot): void {
    if (task.lease === before.lease) return
    const { queue, limits } = task.policy
    const usage = this.#queueUsage.get(queue)
    if (before.lease !== null) {
      if (usage !== undefined) creditEnd(usage)
      for (const { key } of limits) {
        creditEnd(this.usage.get(key) as Usage)
        this.changedLimits.add(key)
        this.freed.set(key, (this.freed.get(key) ?? 0) + 1)
      }
    }
    if (task.lease !== null) this.#charge(task, task.lease, usage)
  }

  #charge(task: Task, lease: Lease, usage: Usage | undefined): void {
    const { queue: name, limits } = task.policy
    const isResumed = !takesToken(task, lease)
    if (usage !== undefined) {
      const queue = this.queues.get(name)
      const own = { key: name, concurrency: queue?.concurrency ?? null, rate: queue?.rate ?? null }
      chargeGrant(usage, own, lease.grantedAt, isResumed)
      if (own.rate !== null) this.chargedQueues.add(name)
    }
    for (const limit of limits) {
      chargeGrant(this.usage.get(limit.key) as Usage, limit, lease.grantedAt, isResumed)
      this.changedLimits.add(limit.key)
    }
  }

  #changeQueue(entry: QueueEntry, position: number): void {
    const known = this.queues.get(entry.queue)
    if (!this.changedQueues.has(entry.queue)) {
      this.changedQueues.set(entry.queue, known?.version ?? 0)
    }
    fold(this.world, entry)
    const usage = this.#queueUsage.get(entry.queue)
    const { rate } = this.queues.get(entry.queue) as Queue
    if (usage !== undefined) changeRate(usage, rate, entry.at)
    this.#noteApplied(entry, position)
  }

  #noteApplied(
    entry: Entry,
    position: number,
    previousPosition: number | null = null,
    job: Job | null = null,
    task: Task | null = null,
    taskBefore: TaskSnapshot | null = null,
    states: StatesAround | null = null,
  ): void {
    this.applied.push({ entry, position, previousPosition, job, task, taskBefore, states })
  }

  #newRow(job: Job, stage: number, segment: number, lastPosition: number): void {
    const row: RowState = {
      job: job.id,
      stage,
      segment,
      position: job.firstPosition,
      lastPosition,
      version: 0,
      turn: null,
      parked: null,
      countedAs: null,
      error: null,
      held: false,
      questions: NO_ROWS,
    }
    this.rows.set(rowKey(job.id, stage, segment), row)
    this.changed.add(row)
  }

  /** The position of its entry before. */
  #markChanged(name: string, position: number): number {
    const row = this.rows.get(name)
    if (row === undefined) throw new NotLoaded(`Row ${name}`)
    const before = row.lastPosition
    row.lastPosition = position
    this.changed.add(row)
    return before
  }

  /** By segment, with gaps: to make room for all of them would take longer than the transaction. */
  #tasksOfStage(job: Job, stage: number): Task[] {
    const stages = this.world.tasks.get(job.id) as StageTasks
    return (stages[stage] ??= [])
  }
}

/** What a transaction changed in the tallies of a pipeline. */
export class ChangedPipeline {
  /** Upkeep must look at it: a stage may be opened, tasks stopped, or the job may be over. */
  isToCheck = false
  readonly #stages = new Map<number, TallyChange>()

  count(task: Task, by: 1 | -1): void {
    const known = this.#stages.get(task.stage)
    const change = known ?? new TallyChange()
    if (known === undefined) this.#stages.set(task.stage, change)
    change.count(task, by)
  }

  /** Rows of `tallies`. */
  rows(job: string): Row[] {
    // What is to be checked needs a row, also if nothing was counted.
    if (this.isToCheck && this.#stages.size === 0) this.#stages.set(0, new TallyChange())
    return [...this.#stages].flatMap(([stage, change]) =>
      this.isToCheck || change.isOne ? [change.columns(job, stage, this.isToCheck)] : [],
    )
  }
}

/** The tallies of a pipeline: counted by the database when they were loaded, and updated with each entry. */
export class LoadedTallies {
  readonly #tallies: Tally[]
  /** Waiting tasks that were never granted, by stage. */
  readonly #neverGranted: number[]
  /** By stage: the task that was first to be retried waits no more, and the next one is not known. */
  readonly #isRetryUnknown: boolean[]

  constructor(stages: number) {
    this.#tallies = Array.from({ length: stages }, emptyTally)
    this.#neverGranted = this.#tallies.map(() => 0)
    this.#isRetryUnknown = this.#tallies.map(() => false)
  }

  set({ stage, tally, neverGranted }: TallyRow): void {
    if (stage >= this.#tallies.length) return
    this.#tallies[stage] = tally
    this.#neverGranted[stage] = neverGranted
  }

  /** Null: an entry of this transaction made it impossible to say when a retry is due. */
  of(job: Job): Tallies | null {
    // The kernel does not ask when an ending pipeline is retried.
    return this.#isRetryUnknown.includes(true) && !isEnding(job, this.#tallies)
      ? null
      : this.#tallies
  }

  /** BEFORE an entry changes the task. */
  remove(task: Task): void {
    const tally = this.#tallies[task.stage] as Tally
    addToTally(tally, task, -1)
    if (task.state !== 'WAITING') return
    if (task.attempt === 0)
      this.#neverGranted[task.stage] = (this.#neverGranted[task.stage] as number) - 1
    else if (task.dueAt <= tally.retryAt) this.#isRetryUnknown[task.stage] = true
  }

  /** AFTER an entry created or changed the task. */
  add(task: Task): void {
    const { stage, state, attempt, dueAt } = task
    const tally = this.#tallies[stage] as Tally
    addToTally(tally, task, 1)
    const isWaiting = state === 'WAITING'
    if (isWaiting && attempt === 0)
      this.#neverGranted[stage] = (this.#neverGranted[stage] as number) + 1
    if (tally.waiting === 0) {
      tally.retryAt = Infinity
      this.#isRetryUnknown[stage] = false
    } else if ((this.#neverGranted[stage] as number) > 0) {
      tally.retryAt = 0
      this.#isRetryUnknown[stage] = false
    } else if (isWaiting) {
      tally.retryAt = Math.min(tally.retryAt, dueAt)
    } else if (tally.retryAt === 0) {
      // The last one that was never granted is gone: the others wait for their times.
      this.#isRetryUnknown[stage] = true
    }
  }
}
