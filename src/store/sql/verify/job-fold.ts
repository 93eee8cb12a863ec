/**
 * The events of one job, folded one after the other: each must have been legitimate when it was
 * written, and what they lead to is what the rows of the job must say.
 *
 * An id may be used again once its job was forgotten: then it has several lives, and the rows are
 * of the last one. What is wrong is said, and it goes on; where an event cannot be applied, nothing
 * is known of this life any more.
 */
import type { Entry, Job, JobSubmitted, StageTasks, Task } from '../../../kernel/index.ts'
import {
  childId,
  countTallies,
  createWorld,
  findTask,
  fold,
  jobViolations,
} from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import { checkEntry, texts } from '../../state/entry-check.ts'
import type { Baseline, EventRow, EventProblem } from '../rows/event-rows.ts'
import { newestOf, readEvent, shown } from '../rows/event-rows.ts'
import type { Records } from '../rows/records.ts'
import { CorruptRecord } from '../rows/records.ts'
import { JOB_ROW, rowKey } from '../rows/work-rows.ts'

/** Told of what matters to other jobs, and to limits. */
export interface Onlooker {
  granted(task: Task, at: number): void
  /** A job that an effect or a tick stands for was submitted. */
  submitted(id: string): void
  /** An entry says that such a job was submitted. */
  recorded(id: string, position: number): void
}

export interface SubmittedAt {
  readonly entry: JobSubmitted
  readonly position: number
}

export class JobFold {
  readonly id: string
  readonly wrong: EventProblem[] = []
  /** What this life came to is not known. */
  isDamaged = false
  readonly #records: Records
  readonly #onlooker: Onlooker
  readonly #baselines: readonly Baseline[]
  readonly #through: number
  readonly #world = createWorld()
  /** Where the newest entry of each row stands. */
  readonly #last = new Map<string, number>()
  readonly #said = new Set<string>()
  #submitted: SubmittedAt | null = null
  #isBegun: boolean
  /** The time of its newest entry. */
  #now = 0

  constructor(id: string, baselines: readonly Baseline[], records: Records, onlooker: Onlooker) {
    this.id = id
    this.#records = records
    this.#onlooker = onlooker
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
    // What was given up may well be damaged.
    if (isHistory && this.#baselines[0]?.kind === 'gone') return
    const { entry, wrong } = readEvent(row, this.#records)
    if (isHistory) {
      if (this.#baselines[0]?.kind === 'job') for (const what of wrong) this.#say(what, position)
      // The baseline needs nothing of it but what was submitted.
      if (entry?.type === 'JobSubmitted') this.#submitted = { entry, position }
      return
    }
    this.#begin()
    for (const what of wrong) this.#say(what, position)
    if (entry === null) {
      this.isDamaged = true
      return
    }
    if (entry.type === 'JobSubmitted') {
      this.#submitted = { entry, position }
      if (this.isDamaged) this.#beginAnew()
    }
    if (!this.isDamaged) this.#fold(entry, row)
    if (entry.type === 'JobForgotten') this.#beginAnew()
  }

  /** AFTER the last event. */
  finish(): void {
    this.#begin()
    if (this.record === null) return
    const job = this.#world.jobs.get(this.id) as Job
    const tallies = countTallies(this.#world, job)
    for (const what of texts(jobViolations(this.#world, job, tallies, this.#now))) {
      this.#sayOnce(what, null)
    }
  }

  #fold(entry: Entry, { position, before }: EventRow): void {
    const stub = this.#stub(entry, position)
    const { step, task, isApplied } = checkEntry(this.#world, entry, () => {
      const expected = this.#before(entry)
      if (before !== expected) {
        const what = `before is ${shown(before)}, and the entry before it is ${shown(expected)}`
        this.#say(`${entry.type}: ${what}`, position)
      }
      fold(this.#world, entry)
    })
    if (stub !== null) this.#world.jobs.delete(stub)
    for (const what of step) this.#say(what, position)
    for (const what of task) this.#sayOnce(what, position)
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
      if ((parent !== null && key === null) || schedule !== null) this.#onlooker.submitted(job.id)
    }
    if (entry.type === 'LeaseGranted') {
      const task = findTask(this.#world, job.id, entry.stage, entry.segment)
      if (task !== undefined) this.#onlooker.granted(task, entry.at)
    }
  }

  /**
   * The child that an effect was finished for is another job: here it stands for itself, and
   * whether it was submitted shows in the end.
   */
  #stub(entry: Entry, position: number): string | null {
    if (entry.type !== 'EffectFinished') return null
    const task = findTask(this.#world, this.id, entry.stage, entry.segment)
    const child = task?.commit?.effects[entry.effect]?.promise.child
    if (child == null || child.key !== null) return null
    const id = childId(entry)
    this.#onlooker.recorded(id, position)
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

  /** With what the baseline says, once all that it holds was passed. */
  #begin(): void {
    if (this.#isBegun) return
    this.#isBegun = true
    if (this.#baselines[0]?.kind === 'gone') return
    try {
      this.#restore()
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error
      this.#say(`its baseline is damaged: ${error.why}`, this.#through)
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

  #sayOnce(what: string, position: number | null): void {
    if (this.#said.has(what)) return
    this.#said.add(what)
    this.#say(what, position)
  }

  #say(what: string, position: number | null): void {
    this.wrong.push({ what, position })
  }
}
