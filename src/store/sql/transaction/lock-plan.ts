/**
 * Which rows a command needs, and which of them are locked: what `loadReads` of the kernel looks at,
 * said ahead of time.
 *
 * Some of it follows from rows that are not loaded yet (the stage that a pipeline's `each` names, the
 * limits of a task). So it is asked again after each load, until nothing is missing.
 *
 * Everything that could still change is locked: for what is decided about a pipeline as a whole, also
 * those of its tasks that are not over. Not locked are:
 * - the job of a segment, for reports about the segment: completing one never touches its job;
 * - a child, and the job of a tick: once submitted, they stay until their origin is recorded.
 */
import type { Command, Job, JobSpec, ParentRef, Task, TaskAddress } from '../../../kernel/index.ts'
import {
  childId,
  eachPath,
  invalidFields,
  invalidShape,
  RULES,
  segmentsOf,
  stageIndex,
  stagesOf,
  tickId,
} from '../../../kernel/index.ts'
import type { LeasedRowCache, QueueCache } from './context.ts'
import type { WorkingSet } from './working-set.ts'
import { JOB_ROW, keyName, rowKey } from '../rows/work-rows.ts'

export type RowAddress = readonly [job: string, stage: number, segment: number]

export class LockPlan {
  readonly locked = new Map<string, RowAddress>()
  readonly seen = new Map<string, RowAddress>()
  readonly keys = new Set<string>()
  readonly tallies = new Set<string>()
  /** Jobs whose tasks must not end, or fail, before this is decided. */
  readonly tasks = new Set<string>()
  /** Nobody else grants in them, or changes them. */
  readonly ownQueues = new Set<string>()
  /** They stay as they are, and how much of them is used is known. */
  readonly queues = new Set<string>()
  readonly schedules = new Set<string>()
  readonly limits = new Set<string>()
  /** Queues of which it is not known how they rank what waits in them. */
  readonly ranks = new Set<string>()
  readonly #loaded: WorkingSet
  readonly #queues: QueueCache
  readonly #trusted: LeasedRowCache | null

  /**
   * `trusted`: jobs that are taken to be as they were last. And ids that are submitted are taken to
   * be new. The database says so if one is not. Null: everything is looked up.
   */
  constructor(loaded: WorkingSet, queues: QueueCache, trusted: LeasedRowCache | null = null) {
    this.#loaded = loaded
    this.#queues = queues
    this.#trusted = trusted
  }

  get isEmpty(): boolean {
    const { locked, seen, keys, tallies, ownQueues, queues, schedules, limits } = this
    const all = [locked, seen, keys, tallies, ownQueues, queues, schedules, limits, this.ranks]
    return all.every(({ size }) => size === 0)
  }

  /** A job that is only looked at. */
  addJob(id: string): void {
    this.#job(id, 'see')
  }

  /** A task of a pipeline that is only looked at. */
  addSeen({ job, stage, segment }: TaskAddress): void {
    if (this.#loaded.world.tasks.get(job)?.[stage]?.[segment] !== undefined) return
    this.seen.set(rowKey(job, stage, segment), [job, stage, segment])
  }

  /** What a grant of a task is decided on, beside the task. */
  addTask(task: Task): void {
    this.#limits(task)
  }

  addTallies(job: Job): void {
    this.#tallies(job)
  }

  /** For a command that is well-formed. */
  add(command: Command): void {
    switch (command.type) {
      case 'SubmitJob':
        return this.#submit(command.job, command.spec)
      case 'ConfigureQueue':
      case 'PauseQueue':
      case 'ResumeQueue':
        if (!this.#loaded.queues.isLoaded(command.queue)) this.ownQueues.add(command.queue)
        return
      case 'SetSchedule':
      case 'RemoveSchedule':
        return this.#schedule(command.schedule)
      case 'FireSchedule':
        this.#job(tickId(command.schedule, command.tick), 'see')
        return this.#schedule(command.schedule)
      case 'ReleaseJob':
      case 'CancelJob':
      case 'ForgetJob':
      case 'OpenStage':
        return this.#aboutJob(command)
      default:
        return this.#aboutTask(command)
    }
  }

  #submit(id: string, spec: JobSpec): void {
    const isValid = invalidFields(spec) === null && invalidShape(spec) === null
    if (isValid && this.#trusted !== null && hasOnlyItsId(spec)) this.#loaded.jobs.setAbsent(id)
    else this.#job(id, 'lock')
    if (!isValid) return
    if (spec.policy !== null) this.#rank(spec.policy.queue)
    if (spec.key !== null) this.#key(spec.type, spec.key)
    this.#origin(spec)
  }

  #aboutJob(command: Command & { job: string }): void {
    const job = this.#job(command.job, 'lock')
    if (job === null) return
    this.#locked(job)
    if (command.type === 'ForgetJob') this.#origin(job.spec)
    if (command.type === 'OpenStage') this.#openStage(job, command.stage)
    if (command.type === 'CancelJob' && job.task !== null) this.#limits(job.task)
  }

  #aboutTask(command: Command & TaskAddress): void {
    const locksJob = RULES.table[command.type].locksJob || command.type === 'StopTask'
    // Stage 0, segment 0 may be a plain job: its task is in the job's own row.
    const isMaybePlain = command.stage === 0 && command.segment === 0
    if (isMaybePlain && this.#trusted !== null && 'worker' in command) this.#trust(command.job)
    const job = this.#job(command.job, locksJob || isMaybePlain ? 'lock' : 'see')
    // With the job at once: only a pipeline has such a row.
    if (!isMaybePlain && !this.#loaded.jobs.isLoaded(command.job)) this.#row(command)
    if (job === null) return
    const task = this.#task(job, command.stage, command.segment)
    if (locksJob) this.#locked(job)
    if (task === null) return
    this.#limits(task)
    if (command.type === 'GrantLease') this.#queue(task.policy.queue)
    if (command.type === 'FinishEffect') this.#child(command, task)
  }

  /** A job whose lease was given to this process: it is as it was then, or saving it will fail. */
  #trust(id: string): void {
    const held = this.#loaded.jobs.isLoaded(id) ? null : this.#trusted?.take(id)
    if (held != null) this.#loaded.addCached(held)
  }

  /** The child that an effect stands for, and whoever has its key. */
  #child(at: ParentRef, parent: Task): void {
    const child = parent.commit?.effects[at.effect]?.promise.child
    if (child == null) return
    const { job, stage, segment, effect } = at
    this.#job(childId({ job, stage, segment, effect }), 'see')
    if (child.key !== null) this.#key(child.type, child.key)
  }

  #origin({ parent, schedule }: JobSpec): void {
    if (schedule !== null) this.#schedule(schedule.id)
    if (parent === null) return
    const job = this.#job(parent.job, 'lock')
    if (job !== null) this.#task(job, parent.stage, parent.segment)
  }

  #openStage(job: Job, stage: number): void {
    const spec = stagesOf(job)[stage]
    if (spec === undefined) return
    this.#rank(spec.policy.queue)
    const { each } = spec
    if (each === null) return
    const { source } = eachPath(each)
    if (source !== 'input') this.#task(job, stageIndex(job, source), 0)
  }

  /** Null: it is not there, or not loaded yet. */
  #job(id: string, how: 'lock' | 'see'): Job | null {
    const { jobs } = this.#loaded
    if (jobs.isLoaded(id)) return jobs.get(id) ?? null
    const address = [id, JOB_ROW, 0] as const
    if (how === 'lock') this.locked.set(rowKey(...address), address)
    else this.seen.set(rowKey(...address), address)
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
    this.locked.set(rowKey(job, stage, segment), [job, stage, segment])
  }

  /** What is decided about the whole job stays right only as long as none of its tasks moves on. */
  #locked(job: Job): void {
    this.#tallies(job)
    if (this.tallies.has(job.id)) this.tasks.add(job.id)
  }

  #tallies(job: Job): void {
    if (job.task === null && !this.#loaded.hasTallies(job.id)) this.tallies.add(job.id)
  }

  #limits({ policy }: Task): void {
    for (const { key } of policy.limits) {
      if (!this.#loaded.usage.isLoaded(key)) this.limits.add(key)
    }
  }

  #queue(name: string): void {
    if (!this.#loaded.queues.isLoaded(name)) this.queues.add(name)
  }

  #rank(queue: string): void {
    if (!this.#queues.has(queue)) this.ranks.add(queue)
  }

  #schedule(id: string): void {
    if (!this.#loaded.schedules.isLoaded(id)) this.schedules.add(id)
  }

  /** Whoever holds the key, and whether that job is over. */
  #key(type: string, key: string): void {
    const { keys, jobs } = this.#loaded
    const name = keyName(type, key)
    if (!keys.isLoaded(name)) {
      this.keys.add(name)
      return
    }
    const holder = keys.get(name)
    const job = holder === undefined ? undefined : jobs.get(holder)
    if (job !== undefined) this.#tallies(job)
  }
}

/** Nothing but its id could be a reason to refuse it. */
function hasOnlyItsId({ key, parent, schedule }: JobSpec): boolean {
  return key === null && parent === null && schedule === null
}
