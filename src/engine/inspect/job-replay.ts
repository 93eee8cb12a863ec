/**
 * A job as its entries made it: each entry is applied by the kernel, and what the job was before and
 * after is derived from the records, at the time of the entry.
 *
 * - whole: it began with the submit, and no entry was missing.
 * - partial: the history that is kept begins later, or has a gap. What the job was is not known then,
 *   and nothing is guessed.
 */
import type { Entry, Job, JobState, StageTasks, Tallies, Task, World } from '../../kernel/index.ts'
import { createWorld, fold, headOf, jobState, taskIn } from '../../kernel/index.ts'
import { StageTallies } from '../../store/state/stage-tallies.ts'

/** What an entry, or time alone, did to the job. Null: not known, or there was no job. */
export interface StateChange {
  readonly from: JobState | null
  readonly to: JobState | null
}

export interface TimedChange extends StateChange {
  readonly at: number
}

export class JobReplay {
  readonly #id: string
  #world: World = createWorld()
  #tallies = new StageTallies()
  /** Of the newest entry. */
  #at = 0
  #isWhole = true

  constructor(id: string) {
    this.#id = id
  }

  /** No entry was missing so far. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** The job and the tasks of its stages as they are now; null: not known, or gone. */
  get job(): Job | null {
    return this.#isWhole ? (this.#world.jobs.get(this.#id) ?? null) : null
  }

  get stages(): StageTasks | null {
    return this.#world.tasks.get(this.#id) ?? null
  }

  /** The task that an entry is about; null: it is about the job, or it is not known. */
  taskOf(entry: Entry): Task | null {
    const { job } = this
    if (job === null) return null
    if (!('segment' in entry)) return job.task
    return taskIn(this.#world, job, entry.stage, entry.segment) ?? null
  }

  add(entry: Entry): StateChange {
    this.#noteGap(entry)
    if (!this.#isWhole) return UNKNOWN
    const from = this.#stateAt(entry.at)
    this.#apply(entry)
    this.#at = entry.at
    return { from, to: this.#stateAt(entry.at) }
  }

  /** What time alone did to the job since the newest entry, up to a time and at it, in order. */
  changesUntil(time: number): TimedChange[] {
    const { job } = this
    if (job === null) return []
    const times = turnsOf(job, this.#tallies.of(job))
    const passed = times.filter((at) => at > this.#at && at <= time).toSorted((a, b) => a - b)
    const changes: TimedChange[] = []
    let from = this.#stateAt(this.#at)
    for (const at of passed) {
      const to = this.#stateAt(at)
      if (to !== from) changes.push({ at, from, to })
      from = to
    }
    return changes
  }

  #stateAt(time: number): JobState | null {
    const { job } = this
    return job === null ? null : jobState(job, this.#tallies.of(job), time)
  }

  /** A submit begins anew: an id may be used again once its job was forgotten. */
  #noteGap(entry: Entry): void {
    if (entry.type === 'JobSubmitted') {
      this.#world = createWorld()
      this.#tallies = new StageTallies()
      this.#isWhole = true
      return
    }
    const { job } = this
    const head = 'segment' in entry ? this.taskOf(entry) : job === null ? null : headOf(job)
    if (head === null || entry.version !== head.version + 1) this.#isWhole = false
  }

  #apply(entry: Entry): void {
    if (!('segment' in entry) || this.job?.task !== null) {
      fold(this.#world, entry)
      if (entry.type === 'JobSubmitted' && this.stages !== null) {
        this.#tallies.addJob(this.#world.jobs.get(this.#id) as Job)
      }
      if (entry.type !== 'StageOpened') return
      for (const task of this.stages?.[entry.stage] ?? []) this.#tallies.addTask(task, null)
      return
    }
    const task = this.taskOf(entry) as Task
    const waitedFor = task.state === 'WAITING' ? task.dueAt : null
    this.#tallies.subtractTask(task)
    fold(this.#world, entry)
    this.#tallies.addTask(task, waitedFor)
  }
}

const UNKNOWN: StateChange = { from: null, to: null }

/** When time alone may move the job: it is due, or a retry time is reached. */
function turnsOf(job: Job, tallies: Tallies): number[] {
  if (job.task !== null) return [job.task.dueAt]
  return [job.dueAt, ...tallies.map(({ retryAt }) => retryAt)]
}
