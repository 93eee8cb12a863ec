/**
 * Which command needs to see what, loaded from a world in memory.
 *
 * Stores on a database load and lock the same things as rows. A world alone answers
 * everything by looking through it (`scan`); stores that hold many tasks bring indexes.
 */
import type { Command } from './commands.ts'
import type { Tallies } from './derive.ts'
import { jobState, NO_TALLIES } from './derive.ts'
import type { Reads } from './guards.ts'
import { NO_LIMITS } from './guards.ts'
import { childId, tickId } from './ids.ts'
import { asksForSame, isSubmitOf, keepsKey } from './keys.ts'
import type {
  Job,
  JobSpec,
  Lease,
  LimitSpec,
  LimitUse,
  ParentRef,
  Queue,
  Task,
  Usage,
} from './model.ts'
import { inputOf, stageIndex, stagesOf } from './model.ts'
import { eachPath } from './each.ts'
import { invalidFields, invalidShape } from './spec.ts'
import { isFinal } from './transitions.ts'
import { chargeGrant, creditEnd, noUsage } from './usage.ts'
import { calleeOf, findWait, takesToken } from './waits.ts'
import type { World } from './world.ts'
import { countTallies, findTask, taskIn, tasksOf } from './world.ts'

/** What is computed from the tasks, and may be thrown away and computed again. */
export interface Indexes {
  readonly usage: ReadonlyMap<string, Usage>
  /** Each limit of a task with its usage, if they are at hand; else they are looked up. */
  limitsOf?(task: Task): readonly LimitUse[] | null
  tallies(job: Job): Tallies
  queueUsage(queue: string): Usage | null
  keyHolder(type: string, key: string): Job | null
}

/** Fills in what `decide` needs for a well-formed command. The object is reused: nothing is allocated. */
export function loadReads(
  reads: Reads,
  world: World,
  indexes: Indexes,
  command: Command,
  now: number,
): void {
  clear(reads)
  switch (command.type) {
    case 'SubmitJob':
      return loadSubmit(reads, world, indexes, command.job, command.spec, now)
    case 'ConfigureQueue':
    case 'PauseQueue':
    case 'ResumeQueue':
      reads.queue = world.queues.get(command.queue) ?? null
      return
    case 'SetSchedule':
    case 'RemoveSchedule':
      reads.schedule = world.schedules.get(command.schedule) ?? null
      return
    case 'FireSchedule':
      reads.schedule = world.schedules.get(command.schedule) ?? null
      reads.originSubmitted = tickSubmitted(world, command.schedule, command.tick)
      return
  }
  const job = world.jobs.get(command.job) ?? null
  reads.job = job
  if (job === null) return
  switch (command.type) {
    case 'ReleaseJob':
    case 'ReplaceJob':
    case 'CancelJob':
    case 'EraseJob':
      reads.tallies = indexes.tallies(job)
      return
    case 'ForgetJob':
      reads.tallies = indexes.tallies(job)
      loadOrigin(reads, world, job.spec)
      return
    case 'OpenStage':
      reads.tallies = indexes.tallies(job)
      reads.eachSource = eachSource(world, job, command.stage)
      return
  }
  reads.task = taskIn(world, job, command.stage, command.segment) ?? null
  switch (command.type) {
    case 'GrantLease':
      if (reads.task === null) return
      reads.queue = world.queues.get(reads.task.policy.queue) ?? null
      if (isBounded(reads.queue)) reads.queueUsage = indexes.queueUsage(reads.task.policy.queue)
      reads.limits = indexes.limitsOf?.(reads.task) ?? limitsOf(reads.task, indexes)
      return
    case 'ResolveEffect':
    case 'StopTask':
    case 'RetryTask':
    case 'ForceTask':
    case 'SendMessage':
    case 'RescheduleTask':
      reads.tallies = indexes.tallies(job)
      return
    case 'EndWait':
      return loadCallee(reads, world, indexes, command.wait.name, now)
    case 'AnswerCall':
      return loadCallee(reads, world, indexes, command.name, now)
    case 'FinishEffect':
      reads.originSubmitted = childSubmitted(world, indexes, command, reads.task, now)
      return
    default:
  }
}

function clear(reads: Reads): void {
  reads.job = null
  reads.task = null
  reads.tallies = NO_TALLIES
  reads.queue = null
  reads.queueUsage = null
  reads.limits = NO_LIMITS
  reads.schedule = null
  reads.keyHolder = null
  reads.keyHolderIsFinal = false
  reads.parent = null
  reads.caller = null
  reads.callee = null
  reads.calleeState = null
  reads.originSubmitted = false
  reads.eachSource = null
}

/** How much is used of a queue without bounds matters to nobody. */
function isBounded(queue: Queue | null): boolean {
  return queue !== null && (queue.concurrency !== null || queue.rate !== null)
}

function limitsOf({ policy }: Task, indexes: Indexes): readonly LimitUse[] {
  if (policy.limits.length === 0) return NO_LIMITS
  const { usage } = indexes
  return policy.limits.map((limit) => ({ ...limit, usage: usage.get(limit.key) ?? noUsage() }))
}

/** A spec that is no spec is refused by a guard, so it must not trip this up. */
function loadSubmit(
  reads: Reads,
  world: World,
  indexes: Indexes,
  id: string,
  spec: JobSpec | undefined,
  now: number,
): void {
  reads.job = world.jobs.get(id) ?? null
  if (spec === undefined || standsAlone(spec)) return
  if (invalidFields(spec) !== null || invalidShape(spec) !== null) return
  if (spec.key !== null) {
    reads.keyHolder = indexes.keyHolder(spec.type, spec.key)
    reads.keyHolderIsFinal = reads.keyHolder !== null && isOver(reads.keyHolder, indexes, now)
  }
  loadOrigin(reads, world, spec)
}

function isOver(job: Job, indexes: Indexes, now: number): boolean {
  return isFinal(jobState(job, indexes.tallies(job), now))
}

/** Nothing but its id could be a reason to refuse it. Null, for one that is no spec. */
export function standsAlone(spec: Partial<JobSpec> | null): boolean {
  const { key, parent, schedule, caller } = spec ?? {}
  return key == null && parent == null && schedule == null && caller == null
}

function loadOrigin(reads: Reads, world: World, spec: JobSpec): void {
  if (spec.parent !== null) {
    const { job, stage, segment } = spec.parent
    reads.parent = findTask(world, job, stage, segment) ?? null
  }
  if (spec.caller !== null) {
    const { job, stage, segment } = spec.caller
    reads.caller = findTask(world, job, stage, segment) ?? null
  }
  if (spec.schedule !== null) reads.schedule = world.schedules.get(spec.schedule.id) ?? null
}

function loadCallee(reads: Reads, world: World, indexes: Indexes, name: string, now: number): void {
  const callee = reads.task === null ? null : calleeOf(findWait(reads.task, name))
  if (callee === null) return
  reads.callee = world.jobs.get(callee) ?? null
  if (reads.callee === null) return
  reads.calleeState = jobState(reads.callee, indexes.tallies(reads.callee), now)
}

/** A job that only has the same id does not count. */
function tickSubmitted(world: World, schedule: string, tick: number): boolean {
  return world.jobs.get(tickId(schedule, tick))?.spec.schedule?.tick === tick
}

/** Submitting it again would be answered `committed`: by its id, or by its key. */
function childSubmitted(
  world: World,
  indexes: Indexes,
  at: ParentRef,
  parent: Task | null,
  now: number,
): boolean {
  const child = parent?.commit?.effects[at.effect]?.promise.child
  if (child == null) return false
  const { job, stage, segment, effect } = at
  const own = { ...child, parent: { job, stage, segment, effect } }
  const known = world.jobs.get(childId(at))
  if (known !== undefined && isSubmitOf(own, known)) return true
  const holder = child.key === null ? null : indexes.keyHolder(child.type, child.key)
  return (
    holder !== null && keepsKey(holder, isOver(holder, indexes, now)) && asksForSame(child, holder)
  )
}

function eachSource(world: World, job: Job, stage: number): string | null {
  const each = stagesOf(job)[stage]?.each
  if (each == null) return null
  const { source } = eachPath(each)
  if (source === 'input') return inputOf(job)
  return findTask(world, job.id, stageIndex(job, source), 0)?.output ?? null
}

/** Indexes of a small world: each is computed anew whenever it is asked for. */
export function scan(world: World): Indexes {
  return new Scan(world)
}

class Scan implements Indexes {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  get usage(): Map<string, Usage> {
    return scanUsage(this.#world)
  }

  tallies(job: Job): Tallies {
    return countTallies(this.#world, job)
  }

  queueUsage(queue: string): Usage {
    const rate = this.#world.queues.get(queue)?.rate ?? null
    const limit = { key: queue, concurrency: null, rate }
    const grants = allTasks(this.#world).flatMap((task) => grantsOf(task, limit))
    return usageOf(grants.filter((grant) => grant.lease.queue === queue))
  }

  keyHolder(type: string, key: string): Job | null {
    let holder: Job | null = null
    for (const job of this.#world.jobs.values()) {
      if (job.spec.type === type && job.spec.key === key) holder = job
    }
    return holder
  }
}

function allTasks(world: World): Task[] {
  return [...world.jobs.values()].flatMap((job) => tasksOf(world, job))
}

interface Grant {
  readonly limit: LimitSpec
  readonly lease: Lease
  readonly resumed: boolean
}

function grantsOf(task: Task, limit: LimitSpec): Grant[] {
  return task.leases.map((lease) => ({ limit, lease, resumed: !takesToken(task, lease) }))
}

function scanUsage(world: World): Map<string, Usage> {
  const grants = new Map<string, Grant[]>()
  for (const task of allTasks(world)) {
    for (const limit of task.policy.limits) {
      const known = grants.get(limit.key) ?? []
      grants.set(limit.key, [...known, ...grantsOf(task, limit)])
    }
  }
  return new Map([...grants].map(([key, list]) => [key, usageOf(list)]))
}

function usageOf(grants: readonly Grant[]): Usage {
  const usage = noUsage()
  for (const { limit, lease, resumed } of grants.toSorted(byTime)) {
    chargeGrant(usage, limit, lease.grantedAt, resumed)
    if (lease.endedBy !== null) creditEnd(usage)
  }
  return usage
}

function byTime(a: Grant, b: Grant): number {
  return a.lease.grantedAt - b.lease.grantedAt
}
