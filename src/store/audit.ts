/**
 * An audit: entries are applied one after the other, and each must have been legitimate when it
 * was written. What is wrong is said, and the audit goes on.
 *
 * It has a ledger of its own with every job in memory, so that its indexes are those of a store
 * that was never stopped.
 */
import type { Entry, Job, Task, World } from '../kernel/index.ts'
import {
  childId,
  copyJob,
  copyTask,
  createWorld,
  findTask,
  headOf,
  stepViolations,
  taskViolations,
  tickId,
  worldViolations,
} from '../kernel/index.ts'
import type { Disk, Manifest } from '../log/index.ts'
import { readCheckpoint } from '../log/index.ts'
import { Ledger } from './ledger.ts'

/**
 * To judge an entry all tasks of its job are counted, before and after. In a job with more
 * tasks than this that would make an audit take the square of its size, so there only version
 * and time are checked; the invariants at each checkpoint and at the end count all the same.
 */
const MOST_TASKS = 100

export class Audit {
  readonly ledger = new Ledger()
  /** What is wrong stays wrong: it is said once. */
  readonly #said = new Set<string>()

  /** Begins with the state that a checkpoint holds. */
  static async from(disk: Disk, folder: string, manifest: Manifest): Promise<Audit> {
    const audit = new Audit()
    const { ledger } = audit
    const { waypoint, queues, schedules } = manifest
    ledger.tick(waypoint.now)
    for (const queue of queues) ledger.restoreQueue({ ...queue })
    for (const schedule of schedules) ledger.restoreSchedule({ ...schedule })
    ledger.ready.restoreBuckets(waypoint.queues, waypoint.limits)
    await readCheckpoint(disk, folder, manifest, ({ record }) => ledger.restore(record))
    return audit
  }

  /** What is wrong with the next entry. */
  apply(entry: Entry, position: number): string[] {
    const { world } = this.ledger
    const before = stateBefore(world, entry)
    const wrong = before === null ? headProblems(world, entry) : []
    try {
      const job = this.ledger.apply(entry)
      if (job !== null) {
        if (entry.type === 'JobSubmitted') job.firstPosition = position
        job.lastPosition = position
      }
      if (before !== null) wrong.push(...texts(stepViolations(before, entry, world)))
      wrong.push(...this.#unsaid(taskProblems(world, entry)))
    } catch (error) {
      wrong.push(`${entry.type}: ${(error as Error).message}`)
    }
    return wrong
  }

  /** Which invariants do not hold now. */
  violations(): string[] {
    const { ledger } = this
    try {
      return this.#unsaid(texts(worldViolations(ledger.world, ledger, ledger.now)))
    } catch (error) {
      return [`the invariants cannot be checked: ${(error as Error).message}`]
    }
  }

  #unsaid(problems: readonly string[]): string[] {
    const fresh = problems.filter((what) => !this.#said.has(what))
    for (const what of fresh) this.#said.add(what)
    return fresh
  }
}

/** The task that an entry changed must be sound at once, and not only in the end. */
function taskProblems(world: World, entry: Entry): string[] {
  if (!('segment' in entry)) return []
  const task = findTask(world, entry.job, entry.stage, entry.segment)
  return task === undefined ? [] : texts(taskViolations(task))
}

function texts(violations: readonly { readonly what: string }[]): string[] {
  return violations.map(({ what }) => what)
}

/** A copy of what an entry touches, and what it is judged by; null: that is too much. */
function stateBefore(world: World, entry: Entry): World | null {
  const before = createWorld()
  if ('queue' in entry) {
    const queue = world.queues.get(entry.queue)
    if (queue !== undefined) before.queues.set(queue.name, { ...queue })
    return before
  }
  if ('schedule' in entry) {
    const schedule = world.schedules.get(entry.schedule)
    if (schedule !== undefined) before.schedules.set(schedule.id, { ...schedule })
    if (entry.type === 'ScheduleFired') share(world, before, tickId(entry.schedule, entry.tick))
    return before
  }
  const job = world.jobs.get(entry.job)
  if (entry.type === 'EffectFinished') share(world, before, childId(entry))
  if (job === undefined) return before
  if (job.task === null && !copyStages(world, before, job, entry)) return null
  before.jobs.set(job.id, copyJob(job))
  return before
}

/** A job that the entry rests on and does not change. */
function share(world: World, before: World, id: string): void {
  const job = world.jobs.get(id)
  if (job !== undefined) before.jobs.set(id, job)
}

function copyStages(world: World, before: World, job: Job, entry: Entry): boolean {
  const stages = world.tasks.get(job.id) ?? []
  if (stages.reduce((sum, tasks) => sum + (tasks?.length ?? 0), 0) > MOST_TASKS) return false
  const copies = stages.map((tasks) => tasks?.slice() ?? null)
  const tasks = 'segment' in entry ? copies[entry.stage] : null
  if (tasks != null && 'segment' in entry) {
    const task: Task | undefined = tasks[entry.segment]
    if (task !== undefined) tasks[entry.segment] = copyTask(task)
  }
  before.tasks.set(job.id, copies)
  return true
}

function headProblems(world: World, entry: Entry & { job?: string }): string[] {
  const job = world.jobs.get(entry.job as string) as Job
  const task = 'segment' in entry ? findTask(world, job.id, entry.stage, entry.segment) : undefined
  const { version, time } = task ?? headOf(job)
  const wrong: string[] = []
  if (entry.version !== version + 1) {
    wrong.push(`${entry.type}: version ${entry.version} after ${version}`)
  }
  if (entry.at < time) wrong.push(`${entry.type}: time ${entry.at} after ${time}`)
  return wrong
}
