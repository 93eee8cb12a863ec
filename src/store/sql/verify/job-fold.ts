/**
 * One job from its events, and from its rows.
 *
 * Events are folded one after the other: each must have been legitimate when it was written, and what they
 * lead to is what the rows of the job must say. An id may be used again once its job was forgotten: then
 * it has several lives, and the rows are of the last one. The fold notes what is wrong, and goes on; where
 * an event cannot be applied, nothing is known of this life any more. What is wrong with a life that may be
 * removed (`HistoryMark`) is nothing wrong: some of its events are gone, or will be.
 */
import type { Entry, Job, JobSubmitted, StageTasks, Task } from '../../../kernel/index.ts'
import {
  childId,
  countTallies,
  createWorld,
  findTask,
  fold,
  jobViolations,
  segmentsOf,
} from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import { checkEntry, texts } from '../../state/entry-check.ts'
import type { Row } from '../connection.ts'
import type { Baseline, EventRow, EventProblem } from '../rows/event-rows.ts'
import { newestOf, readEvent, shown } from '../rows/event-rows.ts'
import type { Records } from '../rows/records.ts'
import { CorruptRecord, STEP_IN_EVENTS } from '../rows/records.ts'
import { WORK_COLUMN_AT } from '../statements.ts'
import { JOB_ROW, rowKey } from '../rows/work-rows.ts'

/** Told of what concerns other jobs, and limits. */
export interface FoldListener {
  granted(task: Task, at: number): void
  /** A job that an effect or a tick stands for was submitted. */
  submitted(id: string): void
  /** An entry says that such a job was submitted. */
  recorded(id: string, position: number): void
}

/** For a fold that is only about one job, or one schedule. */
export const NO_LISTENER: FoldListener = {
  granted: () => undefined,
  submitted: () => undefined,
  recorded: () => undefined,
}

interface SubmittedAt {
  readonly entry: JobSubmitted
  readonly position: number
}

export class JobFold {
  readonly id: string
  readonly wrong: EventProblem[] = []
  /** What this life of the job came to is not known. */
  isDamaged = false
  readonly #records: Records
  readonly #listener: FoldListener
  readonly #baselines: readonly Baseline[]
  readonly #through: number
  readonly #removedThrough: number
  /** How much was wrong before this life. */
  #wrongBefore = 0
  readonly #world = createWorld()
  /** Where the newest entry of each row stands. */
  readonly #last = new Map<string, number>()
  readonly #reported = new Set<string>()
  #submitted: SubmittedAt | null = null
  #isBegun: boolean
  /** The time of its newest entry. */
  #now = 0

  /** `removedThrough`: lives that ended up to this position may be removed, in part or whole. */
  constructor(
    id: string,
    baselines: readonly Baseline[],
    records: Records,
    listener: FoldListener,
    removedThrough = 0,
  ) {
    this.id = id
    this.#removedThrough = removedThrough
    this.#records = records
    this.#listener = listener
    this.#baselines = baselines.length === 0 ? baselines : newestOf(baselines)
    this.#through = this.#baselines[0]?.through ?? -1
    this.#isBegun = this.#baselines.length === 0
  }

  /** Null: there is no such job (any more), or nothing is known of it. */
  get record(): JobRecord | null {
    const job = this.#world.jobs.get(this.id)
    if (job === undefined || this.isDamaged) return null
    return { job, stages: this.#world.tasks.get(this.id) ?? null }
  }

  /** What was submitted last, and where that stands; null: it cannot be read. */
  get submitted(): SubmittedAt | null {
    return this.#submitted
  }

  lastPosition(stage: number, segment: number): number {
    return this.#last.get(rowKey(this.id, stage, segment)) ?? 0
  }

  apply(row: EventRow): void {
    const { position } = row
    const isHistory = position <= this.#through
    // Events that were given up may well be damaged.
    if (isHistory && this.#baselines[0]?.kind === 'gone') return
    const { entry, wrong } = readEvent(row, this.#records)
    if (isHistory) {
      if (this.#baselines[0]?.kind === 'job') for (const what of wrong) this.#report(what, position)
      // The baseline needs nothing of it but what was submitted.
      if (entry?.type === 'JobSubmitted') this.#submitted = { entry, position }
      return
    }
    this.#begin()
    for (const what of wrong) this.#report(what, position)
    if (entry === null) {
      this.isDamaged = true
      return
    }
    if (entry.type === 'JobSubmitted') {
      this.#submitted = { entry, position }
      if (this.isDamaged) this.#beginAnew()
    }
    if (!this.isDamaged) this.#fold(entry, row)
    if (entry.type !== 'JobForgotten') return
    if (position <= this.#removedThrough) this.#dropProblems()
    this.#wrongBefore = this.wrong.length
    this.#beginAnew()
  }

  #dropProblems(): void {
    this.wrong.length = this.#wrongBefore
    this.#reported.clear()
  }

  /** AFTER the last event. */
  finish(): void {
    this.#begin()
    if (this.record === null) return
    const job = this.#world.jobs.get(this.id) as Job
    const tallies = countTallies(this.#world, job)
    for (const what of texts(jobViolations(this.#world, job, tallies, this.#now))) {
      this.#reportOnce(what, null)
    }
  }

  #fold(entry: Entry, { position, before }: EventRow): void {
    const stub = this.#addStub(entry, position)
    const { step, task, isApplied } = checkEntry(this.#world, entry, () => {
      const expected = this.#before(entry)
      if (before !== expected) {
        const what = `before is ${shown(before)}, and the entry before it is ${shown(expected)}`
        this.#report(`${entry.type}: ${what}`, position)
      }
      fold(this.#world, entry)
    })
    if (stub !== null) this.#world.jobs.delete(stub)
    for (const what of step) this.#report(what, position)
    for (const what of task) this.#reportOnce(what, position)
    this.isDamaged = !isApplied
    this.#now = Math.max(this.#now, entry.at)
    if (isApplied) this.#note(entry, position)
  }

  /** Where the entry before of the same row stands. */
  #before(entry: Entry): number | null {
    return entry.type === 'JobSubmitted' ? null : (this.#last.get(this.#rowOf(entry)) ?? null)
  }

  /** A plain job's task is in its own row. */
  #rowOf(entry: Entry): string {
    const isSegment = 'segment' in entry && this.#world.jobs.get(this.id)?.task === null
    return isSegment ? rowKey(this.id, entry.stage, entry.segment) : rowKey(this.id, JOB_ROW, 0)
  }

  /** AFTER it was applied. */
  #note(entry: Entry, position: number): void {
    const job = this.#world.jobs.get(this.id)
    if (job === undefined) return
    job.lastPosition = position
    this.#last.set(this.#rowOf(entry), position)
    if (entry.type === 'StageOpened') {
      for (const { stage, segment } of this.#world.tasks.get(this.id)?.[entry.stage] ?? []) {
        this.#last.set(rowKey(this.id, stage, segment), position)
      }
    }
    if (entry.type === 'JobSubmitted') {
      job.firstPosition = position
      const { parent, schedule, key } = entry.spec
      // A child with a key may be another job.
      if ((parent !== null && key === null) || schedule !== null) this.#listener.submitted(job.id)
    }
    if (entry.type === 'LeaseGranted') {
      const task = findTask(this.#world, job.id, entry.stage, entry.segment)
      if (task !== undefined) this.#listener.granted(task, entry.at)
    }
  }

  /**
   * The child that an effect was finished for is another job, of which there is only a stub here: whether it
   * was submitted is counted.
   */
  #addStub(entry: Entry, position: number): string | null {
    if (entry.type !== 'EffectFinished') return null
    const task = findTask(this.#world, this.id, entry.stage, entry.segment)
    const child = task?.commit?.effects[entry.effect]?.promise.child
    if (child == null || child.key !== null) return null
    const id = childId(entry)
    this.#listener.recorded(id, position)
    this.#world.jobs.set(id, { id, spec: { parent: entry } } as unknown as Job)
    return id
  }

  /** Nothing of the life before is left. */
  #beginAnew(): void {
    this.isDamaged = false
    this.#world.jobs.clear()
    this.#world.tasks.clear()
    this.#last.clear()
  }

  /** AFTER the last event that the baseline holds: begins with what it says. */
  #begin(): void {
    if (this.#isBegun) return
    this.#isBegun = true
    if (this.#baselines[0]?.kind === 'gone') return
    try {
      this.#restore()
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error
      this.#report(`its baseline is damaged: ${error.why}`, this.#through)
      this.isDamaged = true
    }
  }

  #restore(): void {
    const submitted = this.#submitted
    const own = this.#baselines.find(({ stage }) => stage === JOB_ROW)
    if (submitted === null || own === undefined) {
      throw new CorruptRecord(this.id, 'what was submitted is not there')
    }
    const job = this.#records.job(own.record, submitted.entry)
    job.firstPosition = submitted.position
    const stages: StageTasks | null = job.opened?.map((n) => (n < 0 ? null : [])) ?? null
    for (const { stage, segment, record, lastPosition } of this.#baselines) {
      this.#last.set(rowKey(this.id, stage, segment), lastPosition)
      job.lastPosition = Math.max(job.lastPosition, lastPosition)
      if (stage === JOB_ROW) continue
      const task = this.#records.task(record, job, stage, segment)
      const tasks = stages?.[stage]
      if (tasks == null) throw new CorruptRecord(this.id, `stage ${stage} is not open`)
      tasks[segment] = task
      this.#now = Math.max(this.#now, task.time)
    }
    this.#now = Math.max(this.#now, job.time)
    this.#world.jobs.set(this.id, job)
    if (stages !== null) this.#world.tasks.set(this.id, stages)
  }

  #reportOnce(what: string, position: number | null): void {
    if (this.#reported.has(what)) return
    this.#reported.add(what)
    this.#report(what, position)
  }

  #report(what: string, position: number | null): void {
    this.wrong.push({ what, position })
  }
}

export interface JobFromRows {
  readonly record: JobRecord
  readonly lastPosition: (stage: number, segment: number) => number
}

/** What the job was submitted by: all of it follows from the job, whatever happened since. */
export function submissionOf({ id, spec, submittedAt, dueAt }: Job): JobSubmitted {
  return { type: 'JobSubmitted', job: id, at: submittedAt, version: 1, spec, dueAt }
}

/** A job as its rows say it is, for one whose events are damaged. Null: they do not make up a job. */
export function jobFromRows(
  { id, submitted }: Pick<JobFold, 'id' | 'submitted'>,
  rows: readonly Row[],
  records: Records,
): JobFromRows | null {
  const own = rows.find((row) => row[WORK_COLUMN_AT.stage] === JOB_ROW)
  if (own === undefined || submitted === null) return null
  try {
    const job = records.job(own[WORK_COLUMN_AT.record] as Uint8Array | null, submitted.entry)
    const stages: StageTasks | null = job.opened?.map((n) => (n < 0 ? null : [])) ?? null
    const last = new Map<string, number>()
    for (const row of rows) {
      const stage = row[WORK_COLUMN_AT.stage] as number
      const segment = row[WORK_COLUMN_AT.segment] as number
      const position = row[WORK_COLUMN_AT.last_position] as number
      last.set(rowKey(id, stage, segment), position)
      job.lastPosition = Math.max(job.lastPosition, position)
      if (row === own) continue
      const task = records.task(row[WORK_COLUMN_AT.record] as Uint8Array, job, stage, segment)
      if (segment < 0 || segment >= segmentsOf(job, stage)) return null
      const tasks = stages?.[stage]
      if (tasks == null) return null
      tasks[segment] = task
      dropStepsInEvents(task)
    }
    if (job.task !== null) dropStepsInEvents(job.task)
    job.firstPosition = submitted.position
    const isWhole = (stages ?? []).every((tasks, stage) => {
      return tasks === null || countTasks(tasks) === segmentsOf(job, stage)
    })
    if (!isWhole) return null
    return {
      record: { job, stages },
      lastPosition: (stage, segment) => last.get(rowKey(id, stage, segment)) ?? 0,
    }
  } catch (error) {
    if (!(error instanceof CorruptRecord)) throw error
    return null
  }
}

/** They are lost with the events, and safe to do again. */
function dropStepsInEvents(task: Task): void {
  if (task.steps.includes(STEP_IN_EVENTS)) {
    task.steps = task.steps.filter((step) => step !== STEP_IN_EVENTS)
  }
}

/** Without gaps. */
function countTasks(tasks: readonly unknown[]): number {
  return tasks.filter((task) => task !== undefined).length
}
