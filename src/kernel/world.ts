/**
 * A whole state in memory: every aggregate, and `fold`, which takes it from one entry to the next.
 *
 * This is what replay, the explorer, `verify` and the in-memory stores share. Indexes that
 * make it quick (what is ready, who uses a limit) belong to the stores, not here.
 */
import {
  applyToJob,
  applyToQueue,
  applyToSchedule,
  applyToTask,
  BrokenEntry,
  createStageTasks,
} from './apply.ts'
import { createJob, createQueue, createSchedule } from './create.ts'
import type { Tallies } from './derive.ts'
import { emptyTally, NO_TALLIES, tallyOf } from './derive.ts'
import type { Entry, JobEntry, TaskEntry } from './entries.ts'
import type { Job, Queue, Schedule, Task } from './model.ts'
import { redactTask } from './user-data.ts'

/** The tasks of a pipeline's stages, by segment; null before the stage is opened. */
export type StageTasks = (Task[] | null)[]

export interface World {
  readonly jobs: Map<string, Job>
  /** By job id; pipelines only. */
  readonly tasks: Map<string, StageTasks>
  readonly queues: Map<string, Queue>
  readonly schedules: Map<string, Schedule>
}

export function createWorld(jobs: Map<string, Job> = new Map()): World {
  return { jobs, tasks: new Map(), queues: new Map(), schedules: new Map() }
}

export function findTask(
  world: World,
  job: string,
  stage: number,
  segment: number,
): Task | undefined {
  const record = world.jobs.get(job)
  return record === undefined ? undefined : taskIn(world, record, stage, segment)
}

/** A task of a job that is at hand. */
export function taskIn(world: World, job: Job, stage: number, segment: number): Task | undefined {
  if (job.task !== null) return stage === 0 && segment === 0 ? job.task : undefined
  return world.tasks.get(job.id)?.[stage]?.[segment]
}

/** Every pipeline has an entry, from the moment it was submitted. */
function stageTasks(world: World, job: Job): StageTasks {
  return world.tasks.get(job.id) as StageTasks
}

/** All tasks of a job, in order of stage and segment. */
export function tasksOf(world: World, job: Job): Task[] {
  if (job.task !== null) return [job.task]
  return stageTasks(world, job).flatMap((tasks) => tasks ?? [])
}

/** Counts a pipeline's tasks anew; stores that cannot afford it keep tallies up to date. */
export function countTallies(world: World, job: Job): Tallies {
  if (job.task !== null) return NO_TALLIES
  return stageTasks(world, job).map((tasks) => (tasks === null ? emptyTally() : tallyOf(tasks)))
}

export function fold(world: World, entry: Entry): void {
  switch (entry.type) {
    case 'JobSubmitted': {
      if (world.jobs.has(entry.job)) throw new BrokenEntry(entry, `job ${entry.job} exists`)
      const job = createJob(entry)
      world.jobs.set(job.id, job)
      if (job.opened !== null)
        world.tasks.set(
          job.id,
          job.opened.map(() => null),
        )
      return
    }
    case 'JobForgotten':
      jobOf(world, entry)
      world.jobs.delete(entry.job)
      world.tasks.delete(entry.job)
      return
    case 'StageOpened': {
      const job = jobOf(world, entry)
      const tasks = createStageTasks(job, entry)
      applyToJob(job, entry)
      const stages = world.tasks.get(job.id)
      if (stages !== undefined) stages[entry.stage] = tasks
      return
    }
    case 'JobErased': {
      const job = jobOf(world, entry)
      applyToJob(job, entry)
      if (job.task === null) tasksOf(world, job).forEach(redactTask)
      return
    }
    case 'JobReleased':
    case 'JobReplaced':
    case 'MessageKept':
    case 'JobCancelled':
      return applyToJob(jobOf(world, entry), entry)
    case 'QueueConfigured':
    case 'QueuePaused':
    case 'QueueResumed': {
      let queue = world.queues.get(entry.queue)
      if (queue === undefined) world.queues.set(entry.queue, (queue = createQueue(entry.queue)))
      return applyToQueue(queue, entry)
    }
    case 'ScheduleSet':
    case 'ScheduleFired':
    case 'ScheduleRemoved': {
      let schedule = world.schedules.get(entry.schedule)
      if (schedule === undefined) {
        world.schedules.set(entry.schedule, (schedule = createSchedule(entry.schedule)))
      }
      return applyToSchedule(schedule, entry)
    }
    default:
      return applyToTask(taskOf(world, entry), entry)
  }
}

function jobOf(world: World, entry: JobEntry): Job {
  const job = world.jobs.get(entry.job)
  if (job === undefined) throw new BrokenEntry(entry, `there is no job ${entry.job}`)
  return job
}

function taskOf(world: World, entry: TaskEntry): Task {
  const task = findTask(world, entry.job, entry.stage, entry.segment)
  if (task === undefined) {
    throw new BrokenEntry(entry, `there is no task ${entry.job}/${entry.stage}/${entry.segment}`)
  }
  return task
}

/** The state that a log says, from nothing. */
export function replay(entries: Iterable<Entry>): World {
  const world = createWorld()
  for (const entry of entries) fold(world, entry)
  return world
}
