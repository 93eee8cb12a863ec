/**
 * The tallies of pipelines, kept up to date task by task instead of counted again.
 *
 * `retryAt` is a minimum, so it cannot follow one task: `of` works it out from the number of waiting
 * tasks that were never granted, and a queue of those that were.
 */
import type { Job, Tallies, Tally, Task } from '../../kernel/index.ts'
import { addToTally, emptyTally, NO_TALLIES } from '../../kernel/index.ts'
import { TaskQueue, TaskSlots } from '../ready/task-queue.ts'

interface StageCounts {
  /** One per stage: what `decide` reads. */
  readonly tallies: Tally[]
  /** Waiting tasks that were never granted, per stage. */
  readonly fresh: number[]
  /** Waiting tasks that were granted before, per stage, by the time they wait for. */
  readonly again: (TaskQueue | null)[]
}

function stillWaits(task: Task, at: number): boolean {
  return task.state === 'WAITING' && task.attempt > 0 && task.dueAt === at
}

export class StageTallies {
  readonly #byJob = new Map<string, StageCounts>()
  readonly #slots = new TaskSlots(stillWaits)
  #places = 0

  addJob(job: Job): void {
    const count = job.spec.stages?.length ?? 0
    this.#byJob.set(job.id, {
      tallies: Array.from({ length: count }, emptyTally),
      fresh: Array.from({ length: count }, () => 0),
      again: Array.from({ length: count }, () => null),
    })
  }

  removeJob(job: string): void {
    for (const queue of this.#byJob.get(job)?.again ?? []) queue?.clear()
    this.#byJob.delete(job)
  }

  of(job: Job): Tallies {
    const stages = this.#byJob.get(job.id)
    if (stages === undefined) return NO_TALLIES
    const { tallies, fresh, again } = stages
    for (let i = 0; i < tallies.length; i++) {
      const tally = tallies[i] as Tally
      if (tally.waiting === 0) tally.retryAt = Infinity
      else if ((fresh[i] as number) > 0) tally.retryAt = 0
      else tally.retryAt = again[i]?.headTime ?? Infinity
    }
    return tallies
  }

  /** BEFORE an entry changes the task. */
  subtractTask(task: Task): void {
    const stages = this.#byJob.get(task.job) as StageCounts
    addToTally(stages.tallies[task.stage] as Tally, task, -1)
    if (task.state === 'WAITING' && task.attempt === 0) {
      stages.fresh[task.stage] = (stages.fresh[task.stage] as number) - 1
    }
  }

  /** AFTER an entry created or changed the task. `waitedFor`: what it waited for before, or null. */
  addTask(task: Task, waitedFor: number | null): void {
    const stages = this.#byJob.get(task.job) as StageCounts
    addToTally(stages.tallies[task.stage] as Tally, task, 1)
    const waits = task.state === 'WAITING' ? task.dueAt : null
    if (waits !== null && task.attempt === 0) {
      stages.fresh[task.stage] = (stages.fresh[task.stage] as number) + 1
      return
    }
    if (waits === waitedFor) return
    if (waitedFor !== null) stages.again[task.stage]?.discard()
    if (waits === null) return
    this.#places += 1
    const queue = (stages.again[task.stage] ??= new TaskQueue(this.#slots))
    queue.push(task, waits, this.#places)
  }
}
