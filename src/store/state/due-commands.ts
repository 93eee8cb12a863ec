/**
 * What time and the orchestrator have to ask for: leases that ran out, tasks that came too
 * late, jobs whose deadline has passed, stages to open, tasks of ending pipelines to stop, and what is to
 * be done about calls.
 *
 * It only names the commands; the engine sends them, and `decide` has the last word. A pipeline is
 * examined after an entry that could have changed what is due, until nothing is: with nothing to do,
 * asking costs nothing.
 */
import type { Command, Job, StageTasks, Tallies, Tally, Task, World } from '../../kernel/index.ts'
import {
  findTask,
  hasPassedDeadline,
  isEnding,
  isFinal,
  isUndecided,
  jobState,
  openableStages,
  taskName,
} from '../../kernel/index.ts'
import type { CallCheck, CountedJob } from './call-checks.ts'
import { AS_CALLEE, commandsOfCallee, commandsOfCaller, inOrder } from './call-checks.ts'
import type { HeldLeases } from './held-leases.ts'
import { callerOf } from './job-with-stored-spec.ts'
import { Heap } from '../ready/indexed-queue.ts'
import { TaskQueue, TaskSlots } from '../ready/task-queue.ts'

/** How far the stopping of an ending pipeline got: everything before is over, or committed. */
interface DueCursor {
  stage: number
  segment: number
}

interface Deadline {
  readonly job: string
  readonly at: number
}

/** Below this many, deadlines that count no more are not worth a sweep. */
const FEW_DEADLINES = 64

export class DueCommands {
  readonly #world: World
  readonly #inMemory: (job: string) => Job | undefined
  /** The deadlines of jobs in memory, and some that count no more. */
  #deadlines = new Heap<Deadline>(isEarlier)
  readonly #withDeadline = new Set<string>()
  readonly #leases: HeldLeases
  readonly #tallies: (job: Job) => Tallies
  readonly #startBy = new TaskQueue(
    new TaskSlots(
      (task, time) => task.state === 'WAITING' && task.attempt === 0 && task.startBy === time,
    ),
  )
  readonly #pipelines = new Map<string, DueCursor>()
  readonly #calls = new Map<string, CallCheck>()
  #pushed = 0

  constructor(
    world: World,
    leases: HeldLeases,
    tallies: (job: Job) => Tallies,
    inMemory: (job: string) => Job | undefined,
  ) {
    this.#world = world
    this.#inMemory = inMemory
    this.#leases = leases
    this.#tallies = tallies
  }

  taskCreated(task: Task): void {
    if (task.startBy === null || task.state !== 'WAITING') return
    this.#pushed += 1
    this.#startBy.push(task, task.startBy, this.#pushed)
  }

  /** A task with a start-by time was granted, or stopped, for the first time. */
  startByMet(): void {
    this.#startBy.discard()
  }

  /** A job is in memory that is not over, or has another deadline. */
  jobAdded({ id, deadlineAt, cancelled }: Job): void {
    if (deadlineAt === null || cancelled !== null) return
    this.#withDeadline.add(id)
    this.#deadlines.push({ job: id, at: deadlineAt })
    this.#sweepDeadlines()
  }

  /** There may be something to do about a pipeline. */
  pipelineChanged(job: string): void {
    if (!this.#pipelines.has(job)) this.#pipelines.set(job, { stage: 0, segment: 0 })
  }

  /** There may be something to do about calls. Also of jobs that are over: they may leave memory before. */
  callsChanged(checks: readonly CallCheck[]): void {
    for (const check of checks) {
      this.#calls.set(taskName(check.job, check.stage, check.segment), check)
    }
  }

  jobRemoved(job: string): void {
    this.#pipelines.delete(job)
    if (this.#withDeadline.delete(job)) this.#sweepDeadlines()
  }

  /** Of jobs that are gone, and those that a replacement moved. */
  #sweepDeadlines(): void {
    const { items } = this.#deadlines
    if (items.length <= 2 * this.#withDeadline.size + FEW_DEADLINES) return
    const isKept = ({ job, at }: Deadline): boolean =>
      this.#withDeadline.has(job) && this.#inMemory(job)?.deadlineAt === at
    const kept = items.filter(isKept)
    this.#deadlines = new Heap<Deadline>(isEarlier)
    for (const one of kept) this.#deadlines.push(one)
  }

  /** At most `limit` commands that are due at this time. */
  dueCommands(now: number, limit: number): Command[] {
    const tasks: Task[] = []
    this.#leases.collectExpired(now, limit, tasks)
    const commands = tasks.map(expireLease)
    tasks.length = 0
    this.#startBy.collect(now, limit - commands.length, tasks)
    commands.push(...tasks.map(stopTask))
    this.#addLate(now, limit, commands)
    for (const [id, cursor] of this.#pipelines) {
      if (commands.length >= limit) break
      const before = commands.length
      const job = this.#world.jobs.get(id)
      if (job !== undefined) this.#addCommands(job, cursor, limit, commands)
      if (commands.length === before) this.#pipelines.delete(id)
    }
    if (this.#calls.size > 0) this.#addCalls(now, limit, commands)
    return commands
  }

  #addCalls(now: number, limit: number, commands: Command[]): void {
    const calls: Command[] = []
    for (const [name, check] of this.#calls) {
      if (commands.length + calls.length >= limit) break
      const due = this.#dueOf(check, now)
      if (due.length === 0) this.#calls.delete(name)
      calls.push(...due)
    }
    commands.push(...inOrder(calls).slice(0, limit - commands.length))
  }

  #dueOf({ job: id, stage, segment }: CallCheck, now: number): Command[] {
    const { jobs } = this.#world
    const find = (one: string): CountedJob | null => {
      const job = jobs.get(one)
      return job === undefined ? null : { job, tallies: this.#tallies(job) }
    }
    if (stage !== AS_CALLEE) {
      const task = findTask(this.#world, id, stage, segment)
      return task === undefined ? [] : commandsOfCaller(task, find, now)
    }
    const job = jobs.get(id)
    const ref = job === undefined ? null : callerOf(job)
    if (job === undefined || ref === null) return []
    const caller = findTask(this.#world, ref.job, ref.stage, ref.segment) ?? null
    return commandsOfCallee({ job, tallies: this.#tallies(job) }, caller, now)
  }

  /** One that is asked for is asked for again, until it is written. */
  #addLate(now: number, limit: number, commands: Command[]): void {
    const asked: Deadline[] = []
    for (;;) {
      const [first] = this.#deadlines.items
      if (first === undefined || first.at > now || commands.length >= limit) break
      this.#deadlines.removeAt(0)
      const job = this.#inMemory(first.job)
      // Another life of the id has a deadline of its own; what is decided stays decided.
      if (job?.deadlineAt !== first.at || !isPastDeadline(job, this.#tallies(job), now)) continue
      commands.push(cancelLate(first.job))
      asked.push(first)
    }
    for (const one of asked) this.#deadlines.push(one)
  }

  #addCommands(job: Job, cursor: DueCursor, limit: number, commands: Command[]): void {
    const tallies = this.#tallies(job)
    if (isEnding(job, tallies)) this.#addStops(job, tallies, cursor, limit, commands)
    for (const stage of openableStages(job, tallies)) {
      if (commands.length >= limit) return
      commands.push({ type: 'OpenStage', job: job.id, stage })
    }
  }

  #addStops(
    job: Job,
    tallies: Tallies,
    cursor: DueCursor,
    limit: number,
    commands: Command[],
  ): void {
    const stages = this.#world.tasks.get(job.id) as StageTasks
    let passed = true
    for (let stage = cursor.stage; stage < stages.length; stage++) {
      const onFailure = job.spec.stages?.[stage]?.onFailure === true
      const tasks = onFailure || !hasStoppable(tallies[stage] as Tally) ? [] : (stages[stage] ?? [])
      const from = stage === cursor.stage ? cursor.segment : 0
      for (let segment = from; segment < tasks.length; segment++) {
        const task = tasks[segment] as Task
        if (!isStoppable(task)) continue
        if (passed) {
          cursor.stage = stage
          cursor.segment = segment
          passed = false
        }
        if (commands.length >= limit) return
        commands.push(stopTask(task))
      }
    }
  }
}

function isEarlier(a: Deadline, b: Deadline): boolean {
  return a.at < b.at
}

/** Its deadline has passed, and there is something that it ends. */
export function isPastDeadline(job: Job, tallies: Tallies, now: number): boolean {
  if (!hasPassedDeadline(job, now) || job.cancelled !== null) return false
  if (isEnding(job, tallies) || isFinal(jobState(job, tallies, now))) return false
  return isUndecided(job, tallies)
}

export function cancelLate(job: string): Command {
  const reason = 'Its deadline has passed.'
  return { type: 'CancelJob', job, deadline: true, by: 'deadline', reason }
}

function hasStoppable(tally: Tally): boolean {
  return tally.waiting + tally.leased > tally.committedOpen - tally.deadCommitted
}

function isStoppable(task: Task): boolean {
  return (task.state === 'WAITING' || task.state === 'LEASED') && task.commit === null
}

function expireLease({ job, stage, segment, attempt }: Task): Command {
  return { type: 'ExpireLease', job, stage, segment, lease: attempt }
}

function stopTask({ job, stage, segment }: Task): Command {
  return { type: 'StopTask', job, stage, segment }
}
