/**
 * The ledger: one state in memory, with every index that makes it quick, changed one entry at
 * a time. What the memory store and the directory store share.
 *
 * - `perform` decides a command and applies what follows. `Undecided`: nothing has changed. `submitAlike` does so for
 *   submits that are alike, at once.
 * - `apply` applies an entry that was decided before: replay. A ledger that was replayed from
 *   a log equals the one that wrote it, indexes included, because indexes follow entries only.
 * - `claim` lets the ready-index propose and the kernel decide, until enough is granted.
 * - `restore` puts a job in memory as a checkpoint had it; `evict` drops one that is over and can be
 *   found again. A job that is not in memory is asked of the `FinishedJobSource`.
 *
 * It is synchronous and keeps no log: what it decides goes to its owner's journal, in order,
 * and the owner makes it durable BEFORE it answers a caller. Its time never runs backwards: a
 * clock that does is taken to stand still.
 */
import type {
  Command,
  Decision,
  Entry,
  Indexes,
  Job,
  JobReplaced,
  JobSubmitted,
  Lease,
  LimitUse,
  QueueEntry,
  StageOpened,
  SubmitJob,
  Tallies,
  Task,
  TaskEntry,
  Usage,
  Wait,
  World,
} from '../../kernel/index.ts'
import {
  applyToTask,
  BrokenEntry,
  createJob,
  createWorld,
  decideAlike,
  decideIn,
  findTask,
  fold,
  isEnding,
  isFinal,
  isSuspect,
  isSuspended,
  jobState,
  loadReads,
  malformed,
  NO_TALLIES,
  noReads,
  openableStages,
  takesToken,
  tasksOf,
} from '../../kernel/index.ts'
import type { JobRecord, Manifest } from '../../log/index.ts'
import { CorruptLog } from '../../log/index.ts'
import type { ClaimRequest } from '../claim-request.ts'
import { mayBeClaimedAhead, mostLeases } from '../claim-request.ts'
import { checksAfter, checksOf, checksOfEnd } from './call-checks.ts'
import type { FinishedJobSource } from './finished-job-source.ts'
import { namesOneJob, Undecided } from './finished-job-source.ts'
import { HeldLeases } from './held-leases.ts'
import { JobCounter } from './job-counts.ts'
import { JobsByKey, LiveJobMap } from './live-job-map.ts'
import type { Metrics } from '../metrics.ts'
import { Meters } from './metrics.ts'
import { OpenQuestions } from './open-questions.ts'
import { DeadJobs } from './ordered-jobs.ts'
import { ReadyIndex } from '../ready/ready-index.ts'
import { StageTallies } from './stage-tallies.ts'
import { keepSpec } from './job-with-stored-spec.ts'
import { PackedJob, packJob, ParkedJobs } from './packed-job.ts'
import { isListed, isNeverTaken, TaskSnapshot } from './task-snapshot.ts'
import { DueCommands } from './due-commands.ts'

/** Where each entry goes that was decided, and the job it belongs to: created, or changed, or gone. */
export type Journal = (entry: Entry, job: Job | null) => void

export class Ledger implements Indexes {
  readonly world: World
  readonly ready: ReadyIndex
  readonly leases = new HeldLeases()
  readonly meters = new Meters()
  readonly counter = new JobCounter()
  readonly dead = new DeadJobs((id) => this.inMemory(id))
  readonly questions = new OpenQuestions()
  readonly #tallies = new StageTallies()
  #scheduleIds: readonly string[] = []
  readonly #dueCommands: DueCommands
  readonly #journal: Journal
  readonly #finished: FinishedJobSource | null
  readonly #keys = new JobsByKey()
  readonly #reads = noReads()
  readonly #snapshot = new TaskSnapshot()
  /** Suspended jobs as bytes; null: all of them are kept as they are. */
  readonly #parked: ParkedJobs | null
  /** Another object stands for a job that was parked, or is so no more. */
  onParked: (job: Job, by: Job) => void = () => undefined
  /** The task that is being granted, and so is out of the ready-index already. */
  #offered: Task | null = null
  #now = 0
  /** The time before it went on. */
  #before = 0

  constructor(journal: Journal = () => undefined, finished: FinishedJobSource | null = null) {
    this.#journal = journal
    this.#finished = finished
    this.#parked = finished === null ? null : new ParkedJobs()
    const jobs =
      finished === null ? undefined : new LiveJobMap((id) => this.#readmit(finished.find(id)))
    this.world = createWorld(jobs)
    this.ready = new ReadyIndex(this.world.jobs)
    this.ready.onDue = (job) => this.#becameDue(job)
    this.#dueCommands = new DueCommands(
      this.world,
      this.leases,
      (job) => this.#tallies.of(job),
      (id) => this.inMemory(id),
    )
  }

  /** The largest time seen. */
  get now(): number {
    return this.#now
  }

  get usage(): ReadonlyMap<string, Usage> {
    return this.ready.usage
  }

  tallies(job: Job): Tallies {
    return this.#tallies.of(job)
  }

  /** Of all schedules that were ever set, in order: none is ever dropped. */
  scheduleIds(): readonly string[] {
    const { schedules } = this.world
    if (this.#scheduleIds.length !== schedules.size) {
      this.#scheduleIds = [...schedules.keys()].toSorted((a, b) => (a < b ? -1 : 1))
    }
    return this.#scheduleIds
  }

  queueUsage(queue: string): Usage | null {
    return this.ready.queueUsage(queue)
  }

  /** Of the task that is being granted: the ready-index has them at hand. */
  limitsOf(task: Task): readonly LimitUse[] | null {
    return task === this.#offered ? this.ready.offeredLimits : null
  }

  keyHolder(type: string, key: string): Job | null {
    const known = this.#keys.get(type, key)
    if (known !== undefined) return known
    return this.#finished === null ? null : this.#readmit(this.#finished.findKey(type, key))
  }

  /** Those in memory that hold a key, of this type or of any. */
  jobsWithKey(key: string, type: string | undefined): Job[] {
    return this.#keys.withKey(key, type)
  }

  /** Moves time on; back is ignored. */
  tick(now: number): number {
    // Whole milliseconds, whatever the clock says.
    if (now > this.#now) {
      this.#before = this.#now
      this.#now = Math.floor(now)
      const parked = this.#parked
      if (parked !== null && parked.size > 0) parked.takeDue(this.#now, this.#takeBack)
      // BEFORE anything else happens at this time, so that a replay sees it in the same order.
      this.ready.advance(this.#now)
      if (this.counter.hasDue(this.#now)) {
        for (const id of this.counter.dueBy(this.#now)) this.#countPipeline(this.inMemory(id))
      }
    }
    return this.#now
  }

  /**
   * Reads what the command will be decided on, and decides nothing: throws if `perform` could not
   * read it. What is in memory, or nowhere, is not read: nearly always that is all.
   */
  preload(command: Command, now: number): void {
    if (namesOneJob(command)) {
      const { job: id, type } = command
      if (this.#finished === null) return
      // A job that reports is in memory, and one that is new is nowhere: what is most likely is asked first.
      if (type !== 'SubmitJob' && this.inMemory(id) !== undefined) return
      if (!this.#finished.mayHave(id) || this.inMemory(id) !== undefined) return
    }
    if (malformed(command) === null) loadReads(this.#reads, this.world, this, command, now)
  }

  perform(command: Command, now: number): Decision {
    this.#finished?.evictReadmitted()
    const reads = this.#reads
    let decision = this.#decide(command, this.tick(now))
    // It was decided on a copy: AFTER the job itself is back, it is decided on that.
    if (decision.entry !== null && this.#takeBackFor(decision.entry)) {
      decision = this.#decide(command, this.#now)
    }
    const { entry } = decision
    if (entry === null) return decision
    // `decide` has read what the entry changes: it is not looked up again.
    if (entry.type === 'JobSubmitted') {
      this.meters.submitted(entry)
      this.#journal(entry, this.#submit(entry))
    } else if ('segment' in entry) {
      const job = reads.job as Job
      const task = reads.task as Task
      this.meters.countMove(job, task, this.#now, () => this.#changeTask(entry, job, task))
      this.meters.changedTask(entry, job, this.#snapshot, task.state === 'DEAD', task.policy.queue)
      this.#journal(entry, job)
    } else {
      this.meters.changed(entry)
      const { job } = reads
      const changed = this.meters.countMove(job, job?.task ?? null, this.#now, () =>
        this.apply(entry),
      )
      this.#journal(entry, changed)
    }
    return decision
  }

  /**
   * Submits that are alike, decided together and applied, as `perform` would one by one. What follows goes to this journal.
   * False, and nothing has changed: an id may be known.
   */
  submitAlike(commands: readonly SubmitJob[], now: number, journal: Journal): boolean {
    this.#finished?.evictReadmitted()
    const at = this.tick(now)
    for (const command of commands) if (this.#mayKnow(command)) return false
    const entries = decideAlike(commands, at)
    for (const entry of entries) journal(entry, this.#submit(entry))
    const [first] = entries
    if (first !== undefined) this.meters.submitted(first, entries.length)
    return first !== undefined
  }

  #mayKnow({ job }: SubmitJob): boolean {
    return this.inMemory(job) !== undefined || this.#finished?.mayHave(job) === true
  }

  /** The kernel never throws, but reading a job that is over may: its bytes may be damaged. */
  #decide(command: Command, now: number): Decision {
    try {
      return decideIn(this.world, this, command, this.#reads, now)
    } catch (error) {
      throw error instanceof CorruptLog ? new Undecided(error) : error
    }
  }

  /** The job that the entry belongs to, if any. */
  apply(entry: Entry): Job | null {
    this.#finished?.evictReadmitted()
    this.tick(entry.at)
    this.#takeBackFor(entry)
    switch (entry.type) {
      case 'JobSubmitted':
        if (this.world.jobs.has(entry.job)) throw new BrokenEntry(entry, `job ${entry.job} exists`)
        return this.#submit(entry)
      case 'JobForgotten':
        return this.#forget(entry)
      case 'StageOpened':
        return this.#openStage(entry)
      case 'JobReplaced':
        return this.#replaceJob(entry)
      case 'JobReleased':
      case 'MessageKept':
      case 'JobCancelled':
      case 'JobErased':
        return this.#changeJob(entry)
      case 'QueueConfigured':
      case 'QueuePaused':
      case 'QueueResumed':
        this.#changeQueue(entry)
        return null
      case 'ScheduleSet':
      case 'ScheduleFired':
      case 'ScheduleRemoved':
        fold(this.world, entry)
        return null
      default: {
        const { job: id, stage, segment } = entry
        const task = findTask(this.world, id, stage, segment)
        if (task === undefined) {
          throw new BrokenEntry(entry, `there is no task ${id}/${stage}/${segment}`)
        }
        const job = this.world.jobs.get(id) as Job
        this.#changeTask(entry, job, task)
        return job
      }
    }
  }

  /** Puts a job in memory as it was: not by an entry, so only the leases it holds are charged. */
  restore(record: JobRecord): void {
    this.#keys.addIfFree(record.job)
    this.#putInMemory(record)
    this.counter.add(record.job, this.#tallies.of(record.job), this.#now)
    const checks = checksOf(record.job, tasksOf(this.world, record.job))
    if (checks.length > 0) this.#dueCommands.callsChanged(checks)
  }

  #putInMemory({ job, stages }: JobRecord): void {
    this.world.jobs.set(job.id, job)
    this.#dueCommands.jobAdded(job)
    if (job.task !== null) {
      this.dead.update(job, NO_TALLIES)
      return this.#restoreTask(job, job.task)
    }
    this.world.tasks.set(job.id, stages ?? [])
    this.#tallies.addJob(job)
    for (const tasks of stages ?? []) {
      for (const task of tasks ?? []) {
        this.#tallies.addTask(task, null)
        this.#restoreTask(job, task)
      }
    }
    const tallies = this.#tallies.of(job)
    // Now, while its spec is in memory: later it would be read again for nothing.
    if (isEnding(job, tallies) || openableStages(job, tallies).length > 0) {
      this.#dueCommands.pipelineChanged(job.id)
    }
    this.dead.update(job, tallies)
  }

  /** What a checkpoint holds beside jobs. Copies: the next checkpoint is folded from the manifest. */
  restoreManifest({
    marker,
    queues,
    schedules,
  }: Pick<Manifest, 'marker' | 'queues' | 'schedules'>): void {
    this.tick(marker.now)
    for (const queue of queues) {
      const own = { ...queue }
      this.world.queues.set(own.name, own)
      this.ready.queueChanged(own)
    }
    for (const schedule of schedules) this.world.schedules.set(schedule.id, { ...schedule })
    this.ready.restoreBuckets(marker.queues, marker.limits)
  }

  isOver(job: Job): boolean {
    return isFinal(jobState(job, this.tallies(job), this.#now))
  }

  /** A job in memory; others are not read. */
  inMemory(id: string): Job | undefined {
    const { jobs } = this.world
    return jobs instanceof LiveJobMap ? jobs.peek(id) : jobs.get(id)
  }

  /** Another object stands for the job from now on, with the same tasks. */
  replace(job: Job, by: Job): void {
    this.world.jobs.set(job.id, by)
    this.#keys.replace(job, by)
  }

  /**
   * AFTER a plain job was suspended, or restored: it becomes bytes until it is due, or an entry changes it. Gives
   * what stands for it from now on.
   */
  park(job: Job): Job {
    const { task } = job
    if (this.#parked === null || task === null || !this.#isParked(job, task)) return job
    const isDue = isListed(job, task)
    const packed = packJob(job, task)
    if (packed === null && isDue) this.ready.insert(task, job)
    if (packed === null) return job
    this.#parked.add(packed, isDue)
    this.replace(job, packed)
    return packed
  }

  /** Whether the owner is going to park it, so that no index has it. */
  #isParked(job: Job, task: Task): boolean {
    if (this.#parked === null || job.task === null) return false
    return task.state === 'WAITING' && isSuspended(task) && !this.ready.isDue(task.dueAt)
  }

  /** Whether the entry is about a job that was parked: it is not any more. */
  #takeBackFor(entry: Entry): boolean {
    if (this.#parked === null || this.#parked.size === 0 || !('job' in entry)) return false
    const job = this.inMemory(entry.job)
    if (!(job instanceof PackedJob)) return false
    this.#takeBack(job)
    return true
  }

  readonly #takeBack = (packed: PackedJob): void => {
    const job = packed.unpack()
    this.#parked?.takeBack(packed)
    this.replace(packed, job)
    this.onParked(packed, job)
    if (job.task !== null && isListed(job, job.task)) this.ready.insert(job.task, job)
  }

  /** Drops a job that is over, and that the source of finished jobs can find. */
  evict(job: Job): void {
    // Its id may be another one's by now.
    if (this.inMemory(job.id) !== job) return
    this.world.jobs.delete(job.id)
    if (job.task === null) this.world.tasks.delete(job.id)
    this.#dropIndexes(job)
  }

  /**
   * Up to `max` leases, and up to `ahead` more that are not started. A request that was answered before
   * gets the same, as far as still held.
   */
  claim(request: ClaimRequest, now: number): readonly Task[] {
    const at = this.tick(now)
    const { worker, request: number, max, session = '' } = request
    const most = mostLeases(request)
    const before = this.leases.ofRequest(worker, number)
    if (before !== null) return before
    const { suspects = true, lastChances = true } = request
    const channels = this.ready.find(request.channels, { suspects: false, lastChances: false })
    const wantsSuspect = suspects && channels.some(({ hasSuspects }) => hasSuspects)
    const inOrder = this.ready.inOrder(channels)
    const forFirst = wantsSuspect
      ? this.ready.inOrder(this.ready.find(request.channels, { suspects, lastChances }))
      : inOrder
    const tasks: Task[] = []
    let refused: Task[] | null = null
    while (tasks.length < most) {
      const isAhead = tasks.length >= max
      const isFirst = tasks.length === 0 && !isAhead
      const task = this.ready.offer(
        isFirst ? forFirst : inOrder,
        isAhead ? this.#isForAhead : undefined,
      )
      if (task === null) break
      const started = request.started && !isAhead
      const { job, stage, segment } = task
      this.#offered = task
      const decision = this.perform(
        { type: 'GrantLease', job, stage, segment, worker, request: number, started, session },
        at,
      )
      this.#offered = null
      if (decision.entry === null) {
        // The index is never wrong about a task; if it were, the others are still offered.
        refused ??= []
        refused.push(task)
        if (decision.rejection?.check === 'well-formed') break
      } else {
        tasks.push(task)
        if (isSuspect(task)) break
      }
    }
    // AFTER the last offer, so that none is offered twice in one claim.
    for (const task of refused ?? []) {
      const job = this.world.jobs.get(task.job)
      if (job !== undefined && isListed(job, task)) this.ready.putBack(task, job)
    }
    return tasks
  }

  readonly #isForAhead = (task: Task, group: string | null): boolean => {
    return mayBeClaimedAhead(task, group, this.world.queues.get(task.policy.queue))
  }

  metrics(): Metrics {
    return this.meters.metrics(this.#now, { leases: this.leases.count, ...this.dead.counts })
  }

  /** At most `limit` commands that time and the orchestrator should send now. */
  upkeep(now: number, limit: number): Command[] {
    return this.#dueCommands.dueCommands(this.tick(now), limit)
  }

  #readmit(found: JobRecord | null): Job | null {
    if (found === null) return null
    const here = this.inMemory(found.job.id)
    if (here !== undefined) return here
    // It is over, so that its key is free if it was unique.
    if (!found.job.spec.unique) this.#keys.addIfFree(found.job)
    this.#putInMemory(found)
    this.#finished?.noteReadmitted(found.job)
    return found.job
  }

  #restoreTask(job: Job, task: Task): void {
    if (task.waiting !== null) this.questions.update(job, task)
    if (isNeverTaken(task)) this.#dueCommands.taskCreated(task)
    if (isListed(job, task) && !this.#isParked(job, task)) this.ready.insert(task, job)
    if (task.lease === null) return
    this.leases.granted(task, task.lease)
    // As a resumed one: it counts for the limits, and the checkpoint has what it used of a rate.
    this.ready.granted(task, this.#now, true, false)
  }

  #submit(entry: JobSubmitted): Job {
    const job = createJob(entry)
    this.world.jobs.set(job.id, job)
    this.#keys.add(job)
    this.#dueCommands.jobAdded(job)
    if (job.task !== null) {
      this.counter.add(job, NO_TALLIES, this.#now)
      this.#taskCreated(job, job.task)
      return job
    }
    this.world.tasks.set(
      job.id,
      Array.from(job.opened ?? [], () => null),
    )
    this.#tallies.addJob(job)
    this.counter.add(job, this.#tallies.of(job), this.#now)
    this.#dueCommands.pipelineChanged(job.id)
    return job
  }

  #openStage(entry: StageOpened): Job {
    const { job: id, stage } = entry
    const known = this.world.jobs.get(id)
    // BEFORE thousands of its tasks ask for the spec.
    if (known !== undefined) keepSpec(known)
    fold(this.world, entry)
    const job = known as Job
    for (const task of this.world.tasks.get(id)?.[stage] ?? []) {
      this.#tallies.addTask(task, null)
      this.#taskCreated(job, task)
    }
    this.#pipelineChanged(job)
    return job
  }

  #taskCreated(job: Job, task: Task): void {
    this.#dueCommands.taskCreated(task)
    if (isListed(job, task)) this.ready.insert(task, job)
  }

  #forget(entry: Entry & { type: 'JobForgotten' }): Job | null {
    const job = this.world.jobs.get(entry.job) ?? null
    if (job !== null) this.counter.remove(job, this.#tallies.of(job), this.#now)
    fold(this.world, entry)
    if (job !== null) this.#dropIndexes(job)
    return job
  }

  #dropIndexes(job: Job): void {
    this.#keys.remove(job)
    this.#dueCommands.jobRemoved(job.id)
    if (job.task === null) this.#tallies.removeJob(job.id)
  }

  #changeJob(
    entry: Entry & { type: 'JobReleased' | 'MessageKept' | 'JobCancelled' | 'JobErased' },
  ): Job {
    const job = this.world.jobs.get(entry.job)
    if (job === undefined) throw new BrokenEntry(entry, `there is no job ${entry.job}`)
    if (job.task === null) {
      fold(this.world, entry)
      this.#pipelineChanged(job)
      return job
    }
    this.#snapshot.note(job, job.task)
    this.counter.note(job, this.#now)
    const waits = job.task.waiting?.waits
    fold(this.world, entry)
    this.counter.update(job, this.#now)
    this.#noteWaits(entry, job, job.task, waits)
    this.#updateIndexes(job, job.task, entry.at)
    return job
  }

  #replaceJob(entry: JobReplaced): Job {
    const job = this.world.jobs.get(entry.job)
    if (job === undefined) throw new BrokenEntry(entry, `there is no job ${entry.job}`)
    const { deadlineAt } = job
    if (job.task === null) {
      fold(this.world, entry)
      this.#pipelineChanged(job)
    } else {
      this.#moveTask(job, job.task, () => fold(this.world, entry))
    }
    if (job.deadlineAt !== deadlineAt) this.#dueCommands.jobAdded(job)
    return job
  }

  #changeQueue(entry: QueueEntry): void {
    fold(this.world, entry)
    const queue = this.world.queues.get(entry.queue)
    if (queue !== undefined) this.ready.queueChanged(queue)
  }

  #changeTask(entry: TaskEntry, job: Job, task: Task): void {
    if (entry.type === 'TaskRescheduled') {
      return this.#moveTask(job, task, () => applyToTask(task, entry))
    }
    const before = this.#snapshot.note(job, task)
    const waits = task.waiting?.waits
    if (job.task !== null) {
      this.counter.note(job, this.#now)
      applyToTask(task, entry)
      this.counter.update(job, this.#now)
      this.#noteWaits(entry, job, task, waits)
      return this.#updateIndexes(job, task, entry.at, entry.type === 'ExecutionSuspended')
    }
    // Its other segments will ask for the spec soon.
    keepSpec(job)
    this.#tallies.subtractTask(task)
    applyToTask(task, entry)
    this.#tallies.addTask(task, before.state === 'WAITING' ? before.dueAt : null)
    this.#noteWaits(entry, job, task, waits)
    if (before.state !== task.state) this.#pipelineChanged(job)
    else if (before.dueAt !== task.dueAt) this.#countPipeline(job)
    this.#updateIndexes(job, task, entry.at)
  }

  /** `waits`: those that it had BEFORE the entry was applied. */
  #noteWaits(entry: Entry, job: Job, task: Task, waits: readonly Wait[] | undefined): void {
    if (task.waiting !== null || waits !== undefined) this.questions.update(job, task)
    const checks = checksAfter(entry, job, task, waits)
    if (checks.length > 0) this.#dueCommands.callsChanged(checks)
  }

  /** It leaves its place BEFORE the entry is applied: that is found by queue, priority and time. */
  #moveTask(job: Job, task: Task, apply: () => void): void {
    const { listed, dueAt } = this.#snapshot.note(job, task)
    const { startBy } = task
    if (listed) this.ready.moves(task, job)
    if (job.task === null) {
      keepSpec(job)
      this.#tallies.subtractTask(task)
    } else {
      this.counter.note(job, this.#now)
    }
    apply()
    if (job.task === null) {
      this.#tallies.addTask(task, dueAt)
      this.#countPipeline(job)
    } else {
      this.counter.update(job, this.#now)
    }
    if (listed) this.ready.insert(task, job)
    if (startBy !== task.startBy) {
      this.#dueCommands.startByMet()
      this.#dueCommands.taskCreated(task)
    }
  }

  #pipelineChanged(job: Job): void {
    this.#dueCommands.pipelineChanged(job.id)
    const tallies = this.#tallies.of(job)
    this.dead.update(job, tallies)
    this.counter.updatePipeline(job, tallies, this.#now)
    const ends = checksOfEnd(job)
    if (ends.length > 0 && this.isOver(job)) this.#dueCommands.callsChanged(ends)
  }

  #becameDue(job: Job): void {
    if (job.task !== null) return this.counter.becameDue(job, this.#before, this.#now)
    // It waits for a retry, or the whole job waited for its time.
    this.#countPipeline(job)
  }

  #countPipeline(job: Job | undefined): void {
    if (job !== undefined) this.counter.updatePipeline(job, this.#tallies.of(job), this.#now)
  }

  /** AFTER an entry was applied: brings the indexes up to date with what differs from the snapshot. */
  #updateIndexes(job: Job, task: Task, at: number, isSuspension = false): void {
    const { listed, state, attempt, dueAt, lease, expiresAt } = this.#snapshot
    if (task.lease !== lease) {
      if (lease !== null) {
        this.leases.ended()
        this.ready.ended(task, at)
      }
      if (task.lease !== null) this.#taskGranted(task, task.lease)
    } else if (lease !== null && lease.expiresAt !== expiresAt) {
      this.leases.extended(task, lease)
    }
    const stays = isListed(job, task)
    // A task that is due and stays due keeps its position.
    const hasMoved = !stays || (task.dueAt !== dueAt && !this.ready.isDue(dueAt))
    if (listed && hasMoved) this.ready.left(task, job, dueAt, task === this.#offered)
    const isParked = isSuspension && this.#isParked(job, task)
    if (stays && (!listed || hasMoved) && !isParked) this.ready.insert(task, job)
    if (job.task !== null && (state === 'DEAD') !== (task.state === 'DEAD')) {
      this.dead.update(job, NO_TALLIES)
    }
    const neverTaken = state === 'WAITING' && attempt === 0
    if (task.startBy !== null && neverTaken && !isNeverTaken(task)) this.#dueCommands.startByMet()
  }

  #taskGranted(task: Task, lease: Lease): void {
    const resumed = !takesToken(task, lease)
    this.leases.granted(task, lease)
    this.ready.granted(task, lease.grantedAt, resumed, task === this.#offered)
  }
}
