/**
 * Which rows a transaction needs for its commands, and which of them it locks: what `loadReads` of the
 * kernel reads, said ahead of time.
 *
 * Some of it follows from rows that are not loaded yet (the stage that a pipeline's `each` names, the
 * limits of a task). So a plan is made again after each load, until it is empty.
 *
 * Everything that could still change is locked; for a decision about a whole pipeline also those of its
 * tasks that are not over. Not locked are:
 * - the job of a segment, for reports about the segment: completing one never changes its job;
 * - the job and the tallies of a segment that is stopped: a job that is ending stays so;
 * - a child, and the job of a tick: once submitted, they stay until their origin is recorded;
 * - a callee, when its caller is told of its end: once over, it stays so, and it is kept until then.
 */
import type {
  Command,
  Job,
  JobSpec,
  ParentRef,
  Task,
  TaskAddress,
  Wait,
} from '../../../kernel/index.ts'
import {
  calleeOf,
  childId,
  eachPath,
  findWait,
  invalidFields,
  invalidShape,
  RULES,
  segmentsOf,
  stageIndex,
  stagesOf,
  standsAlone,
  tickId,
} from '../../../kernel/index.ts'
import type { LeasedRowCache, QueueCache } from './context.ts'
import type { WorkingSet } from './working-set.ts'
import { JOB_ROW, keyName, rowKey } from '../rows/work-rows.ts'

export type RowAddress = readonly [job: string, stage: number, segment: number]

export class LockPlan {
  readonly rowsToLock = new Map<string, RowAddress>()
  readonly rowsToRead = new Map<string, RowAddress>()
  readonly keys = new Set<string>()
  readonly tallies = new Set<string>()
  /** Jobs whose open tasks are locked, so that none ends or fails before this is decided. */
  readonly jobsWithTasks = new Set<string>()
  /** Locked alone: no other transaction grants in them, or changes them. */
  readonly exclusiveQueues = new Set<string>()
  /** Locked so that they stay as they are; how much of them is used is read, too. */
  readonly sharedQueues = new Set<string>()
  readonly schedules = new Set<string>()
  readonly limits = new Set<string>()
  /** Queues of which this process does not know how they rank what waits in them. */
  readonly queuesToRead = new Set<string>()
  readonly #loaded: WorkingSet
  readonly #queues: QueueCache
  readonly #leasedRows: LeasedRowCache | null
  /** By commands BEFORE the one that is added, each of which may be the one that is accepted. */
  readonly #submitted = new Map<string, JobSpec[]>()
  /** Queues that commands BEFORE it move tasks of a job to. */
  readonly #movedTo = new Map<string, string[]>()

  /**
   * `leasedRows`: an optimistic plan. It takes jobs from this cache, and ids that are submitted to be
   * new; the database checks both when they are written. Null: everything is read.
   */
  constructor(loaded: WorkingSet, queues: QueueCache, leasedRows: LeasedRowCache | null = null) {
    this.#loaded = loaded
    this.#queues = queues
    this.#leasedRows = leasedRows
  }

  get isEmpty(): boolean {
    const rows = [this.rowsToLock, this.rowsToRead, this.keys, this.tallies]
    const queues = [this.exclusiveQueues, this.sharedQueues, this.queuesToRead]
    return [...rows, ...queues, this.schedules, this.limits].every(({ size }) => size === 0)
  }

  addReadJob(id: string): void {
    this.#job(id, 'read')
  }

  /** A task of a pipeline. */
  addReadTask({ job, stage, segment }: TaskAddress): void {
    if (this.#loaded.world.tasks.get(job)?.[stage]?.[segment] !== undefined) return
    this.rowsToRead.set(rowKey(job, stage, segment), [job, stage, segment])
  }

  addTallies(job: Job): void {
    if (job.task === null && !this.#loaded.hasTallies(job.id)) this.tallies.add(job.id)
  }

  addLimits({ policy }: Pick<Task, 'policy'>): void {
    for (const { key } of policy.limits) {
      if (!this.#loaded.usage.isLoaded(key)) this.limits.add(key)
    }
  }

  /** How a queue ranks what waits in it. */
  addRanking(queue: string): void {
    if (!this.#queues.has(queue)) this.queuesToRead.add(queue)
  }

  addQueue(name: string): void {
    if (!this.#loaded.queues.isLoaded(name)) this.sharedQueues.add(name)
  }

  /** For a command that is well-formed. */
  addCommand(command: Command): void {
    switch (command.type) {
      case 'SubmitJob':
        return this.#submit(command.job, command.spec)
      case 'ConfigureQueue':
      case 'PauseQueue':
      case 'ResumeQueue':
        if (!this.#loaded.queues.isLoaded(command.queue)) this.exclusiveQueues.add(command.queue)
        return
      case 'SetSchedule':
      case 'RemoveSchedule':
        return this.#schedule(command.schedule)
      case 'FireSchedule':
        this.#job(tickId(command.schedule, command.tick), 'read')
        return this.#schedule(command.schedule)
      case 'ReleaseJob':
      case 'ReplaceJob':
      case 'CancelJob':
      case 'EraseJob':
      case 'ForgetJob':
      case 'OpenStage':
        return this.#aboutJob(command)
      default:
        return this.#aboutTask(command)
    }
  }

  #submit(id: string, spec: JobSpec): void {
    if (this.#leasedRows !== null && standsAlone(spec)) {
      // Whether it is valid, the kernel says; it was not read, so only an entry may follow.
      this.#loaded.addUnread(id)
      add(this.#submitted, id, spec)
      const queue: unknown = spec?.policy?.queue
      if (typeof queue === 'string') this.addRanking(queue)
      return
    }
    this.#job(id, 'lock')
    if (!isValid(spec)) return
    add(this.#submitted, id, spec)
    if (spec.policy !== null) this.addRanking(spec.policy.queue)
    if (spec.key !== null) this.#key(spec.type, spec.key)
    this.#origin(spec)
  }

  #aboutJob(command: Command & { job: string }): void {
    const job = this.#job(command.job, 'lock')
    if (job === null) return
    this.#wholeJob(job)
    if (command.type === 'ForgetJob') this.#origin(job.spec)
    if (command.type === 'OpenStage') this.#openStage(job, command.stage)
    if (job.task === null) return
    if (command.type === 'CancelJob') this.addLimits(job.task)
    if (command.type === 'ReplaceJob') this.addRanking(job.task.policy.queue)
  }

  #aboutTask(command: Command & TaskAddress): void {
    const { locksJob } = RULES.table[command.type]
    // Stage 0, segment 0 may be a plain job: its task is in the job's own row.
    const isMaybePlain = command.stage === 0 && command.segment === 0
    if (isMaybePlain && this.#leasedRows !== null && 'worker' in command)
      this.#useLeasedRow(command.job)
    const job = this.#job(command.job, locksJob || isMaybePlain ? 'lock' : 'read')
    // In the same load as the job: only a pipeline has such a row.
    if (!isMaybePlain && !this.#loaded.jobs.isLoaded(command.job)) this.#row(command)
    if (command.type === 'GrantLease') this.#grant(command, job)
    if (command.type === 'RescheduleTask' && command.toQueue !== null) {
      add(this.#movedTo, command.job, command.toQueue)
    }
    if (job === null) return
    const task = this.#task(job, command.stage, command.segment)
    if (locksJob) this.#wholeJob(job)
    else if (command.type === 'StopTask') this.addTallies(job)
    if (task === null) return
    // It may have been rescheduled to another queue than that of its spec.
    if (command.type === 'GrantLease') this.addQueue(task.policy.queue)
    if (command.type === 'RescheduleTask') this.addRanking(command.toQueue ?? task.policy.queue)
    this.addLimits(task)
    if (command.type === 'FinishEffect') this.#child(command, task)
    if (command.type === 'AnswerCall') this.#callee(findWait(task, command.name))
    if (command.type === 'EndWait') this.#callee(findWait(task, command.wait.name))
  }

  /** The job that a wait calls, and whether it is over. */
  #callee(wait: Wait | undefined): void {
    const id = calleeOf(wait)
    const job = id === null ? null : this.#job(id, 'read')
    if (job !== null) this.addTallies(job)
  }

  /**
   * By its spec: the same transaction may submit the job, move it to another queue, or open the stage, BEFORE this is
   * decided.
   */
  #grant({ job: id, stage }: TaskAddress, job: Job | null): void {
    const submitted = (this.#submitted.get(id) ?? []).filter(isValid)
    const specs = job === null ? submitted : [job.spec, ...submitted]
    for (const { policy: own, stages } of specs) {
      const policy = own ?? stages?.[stage]?.policy
      if (policy === undefined) continue
      this.addQueue(policy.queue)
      this.addLimits({ policy })
    }
    for (const queue of this.#movedTo.get(id) ?? []) this.addQueue(queue)
  }

  /** A job that this process was granted: it is as it was then, or its write will fail. */
  #useLeasedRow(id: string): void {
    const leased = this.#loaded.jobs.isLoaded(id) ? null : this.#leasedRows?.take(id)
    if (leased != null) this.#loaded.addCached(leased)
  }

  /** The child that an effect stands for, and the job that holds its key. */
  #child(at: ParentRef, parent: Task): void {
    const child = parent.commit?.effects[at.effect]?.promise.child
    if (child == null) return
    const { job, stage, segment, effect } = at
    this.#job(childId({ job, stage, segment, effect }), 'read')
    if (child.key !== null) this.#key(child.type, child.key)
  }

  #origin({ parent, schedule, caller }: JobSpec): void {
    if (schedule !== null) this.#schedule(schedule.id)
    for (const at of [parent, caller]) {
      const job = at === null ? null : this.#job(at.job, 'lock')
      if (at !== null && job !== null) this.#task(job, at.stage, at.segment)
    }
  }

  #openStage(job: Job, stage: number): void {
    const spec = stagesOf(job)[stage]
    if (spec === undefined) return
    this.addRanking(spec.policy.queue)
    const { each } = spec
    if (each === null) return
    const { source } = eachPath(each)
    if (source !== 'input') this.#task(job, stageIndex(job, source), 0)
  }

  /** Null: it is not there, or not loaded yet. */
  #job(id: string, how: 'lock' | 'read'): Job | null {
    const { jobs } = this.#loaded
    if (jobs.isLoaded(id)) return jobs.get(id) ?? null
    const address = [id, JOB_ROW, 0] as const
    if (how === 'lock') this.rowsToLock.set(rowKey(...address), address)
    else this.rowsToRead.set(rowKey(...address), address)
    return null
  }

  #task(job: Job, stage: number, segment: number): Task | null {
    if (job.task !== null) return stage === 0 && segment === 0 ? job.task : null
    if (segment < 0 || segment >= segmentsOf(job, stage)) return null
    const known = this.#loaded.world.tasks.get(job.id)?.[stage]?.[segment]
    if (known !== undefined) return known
    this.#row({ job: job.id, stage, segment })
    return null
  }

  #row({ job, stage, segment }: TaskAddress): void {
    this.rowsToLock.set(rowKey(job, stage, segment), [job, stage, segment])
  }

  /** What is decided about a whole job holds only while none of its tasks changes. */
  #wholeJob(job: Job): void {
    this.addTallies(job)
    if (this.tallies.has(job.id)) this.jobsWithTasks.add(job.id)
  }

  #schedule(id: string): void {
    if (!this.#loaded.schedules.isLoaded(id)) this.schedules.add(id)
  }

  /** The job that holds the key, and whether it is over. */
  #key(type: string, key: string): void {
    const { keys, jobs } = this.#loaded
    const name = keyName(type, key)
    if (!keys.isLoaded(name)) {
      this.keys.add(name)
      return
    }
    const holder = keys.get(name)
    const job = holder === undefined ? undefined : jobs.get(holder)
    if (job !== undefined) this.addTallies(job)
  }
}

function add<T>(lists: Map<string, T[]>, name: string, item: T): void {
  const known = lists.get(name)
  if (known === undefined) lists.set(name, [item])
  else known.push(item)
}

function isValid(spec: JobSpec): boolean {
  return invalidFields(spec) === null && invalidShape(spec) === null
}
