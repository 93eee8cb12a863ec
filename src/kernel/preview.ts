/**
 * Where an entry would take a job, without taking it there.
 */
import { applyToJob, applyToTask, createStageTasks } from './apply.ts'
import { copyJob, copyTask } from './copy.ts'
import type { Tallies, Tally } from './derive.ts'
import { addToTally, jobState, NO_TALLIES, readyAt } from './derive.ts'
import type { Entry, JobEntry, TaskEntry } from './entries.ts'
import type { Job, JobState, Task } from './model.ts'

export interface JobMove {
  readonly from: JobState
  readonly to: JobState
}

/** The job's state at the entry's time, before and after it. */
export function jobMove(job: Job, task: Task | null, tallies: Tallies, entry: Entry): JobMove {
  const from = jobState(job, tallies, entry.at)
  const after = copyJob(job)
  if ('segment' in entry) {
    if (after.task !== null) {
      applyToTask(after.task, entry)
      return { from, to: jobState(after, NO_TALLIES, entry.at) }
    }
    return { from, to: jobState(after, talliesAfter(tallies, task as Task, entry), entry.at) }
  }
  applyToJob(after, entry as JobEntry)
  const opened = entry.type === 'StageOpened' ? createStageTasks(job, entry) : []
  return { from, to: jobState(after, withTasks(tallies, opened), entry.at) }
}

function talliesAfter(tallies: Tallies, task: Task, entry: TaskEntry): Tallies {
  const after = copyTask(task)
  applyToTask(after, entry)
  return replaced(tallies, task.stage, (tally) => {
    addToTally(tally, task, -1)
    addToTally(tally, after, 1)
    if (after.state === 'WAITING') tally.retryAt = Math.min(tally.retryAt, readyAt(after))
  })
}

function withTasks(tallies: Tallies, tasks: readonly Task[]): Tallies {
  const stage = tasks[0]?.stage
  if (stage === undefined) return tallies
  return replaced(tallies, stage, (tally) => {
    for (const task of tasks) addToTally(tally, task, 1)
    tally.retryAt = 0
  })
}

function replaced(tallies: Tallies, stage: number, change: (tally: Tally) => void): Tallies {
  const copy = [...tallies]
  const tally = { ...(copy[stage] as Tally) }
  change(tally)
  copy[stage] = tally
  return copy
}
