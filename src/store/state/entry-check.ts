/**
 * Whether an entry was legitimate when it was written: what is wrong with the step from the state
 * before it to the state after it, in words. The caller has the state, and changes it.
 */
import type { Entry, Job, Task, World } from '../../kernel/index.ts'
import {
  calleeOf,
  childId,
  copyJob,
  copyTask,
  createWorld,
  findTask,
  findWait,
  headOf,
  stepViolations,
  taskViolations,
  tickId,
} from '../../kernel/index.ts'

/**
 * To check an entry all tasks of its job are counted, before and after. In a job with more
 * tasks than this that would make an audit take the square of its size, so there only version
 * and time are checked; the invariants that are checked in the end count all the same.
 */
const MOST_TASKS = 100

export interface CheckedEntry {
  /** What is wrong with the step. */
  readonly step: readonly string[]
  /** What is wrong with the task that it changed, since this step or since one before. */
  readonly task: readonly string[]
  /** It could be applied. */
  readonly isApplied: boolean
}

/** `change` applies the entry to the world. */
export function checkEntry(world: World, entry: Entry, change: () => void): CheckedEntry {
  const before = stateBefore(world, entry)
  const step = before === null ? headProblems(world, entry) : []
  let isApplied = false
  try {
    change()
    isApplied = true
    if (before !== null) step.push(...texts(stepViolations(before, entry, world)))
    return { step, task: taskProblems(world, entry), isApplied }
  } catch (error) {
    step.push(`${entry.type}: ${(error as Error).message}`)
    return { step, task: [], isApplied }
  }
}

export function texts(violations: readonly { readonly what: string }[]): string[] {
  return violations.map(({ what }) => what)
}

/** The task that an entry changed must be sound at once, and not only in the end. */
function taskProblems(world: World, entry: Entry): string[] {
  if (!('segment' in entry)) return []
  const task = findTask(world, entry.job, entry.stage, entry.segment)
  return task === undefined ? [] : texts(taskViolations(task))
}

/** A copy of what an entry touches, and of what it rests on; null: that is too much. */
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
    if (entry.type === 'ScheduleFired')
      addUnchanged(world, before, tickId(entry.schedule, entry.tick))
    return before
  }
  const job = world.jobs.get(entry.job)
  if (entry.type === 'EffectFinished') addUnchanged(world, before, childId(entry))
  for (const id of callsOf(world, entry)) addUnchanged(world, before, id)
  if (job === undefined) return before
  if (job.task === null && !copyStages(world, before, job, entry)) return null
  before.jobs.set(job.id, copyJob(job))
  return before
}

/** A job that the entry rests on and does not change. */
function addUnchanged(world: World, before: World, id: string): void {
  const job = world.jobs.get(id)
  if (job === undefined) return
  before.jobs.set(id, job)
  const tasks = world.tasks.get(id)
  if (tasks !== undefined) before.tasks.set(id, tasks)
}

/** The caller of a job that is submitted or forgotten, and the callee whose end a wait is told. */
function callsOf(world: World, entry: Entry): string[] {
  switch (entry.type) {
    case 'JobSubmitted':
      return entry.spec.caller === null ? [] : [entry.spec.caller.job]
    case 'JobForgotten': {
      const caller = world.jobs.get(entry.job)?.spec.caller ?? null
      return caller === null ? [] : [caller.job]
    }
    case 'MessageSent':
    case 'WaitEnded': {
      const task = findTask(world, entry.job, entry.stage, entry.segment)
      const name = entry.type === 'MessageSent' ? entry.wait : entry.wait.name
      const callee = task === undefined ? null : calleeOf(findWait(task, name ?? ''))
      return callee === null ? [] : [callee]
    }
    default:
      return []
  }
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
