/**
 * The read model beside the jobs that it follows: counts, labels, what people are asked, and the states of pipelines as
 * they are counted. A pipeline is counted as it was when upkeep last looked at it, so only how it ended must be right.
 */
import type { Job, JobState, Task } from '../../../kernel/index.ts'
import { errorFingerprint, hasHeldEffects, isFinal, jobState } from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import { recordTallies } from '../../../log/index.ts'
import { countedJob, CountTable, NO_QUEUE } from '../../state/job-counts.ts'
import type { Connection, Row, Value } from '../connection.ts'
import { HELD_LIST } from '../count-statements.ts'
import { errorLabel, tagLabel } from '../rows/counted-rows.ts'
import { questionKey, questionRows } from '../rows/question-rows.ts'
import { countedAs, tagsColumn } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'
import { checkCounts } from './count-check.ts'
import type { Fix, ReportProblem } from './database-problem.ts'

interface ExpectedPipeline {
  readonly job: string
  readonly position: number
  readonly type: string
  readonly tags: readonly string[]
  readonly state: JobState
  readonly held: boolean
  /** Upkeep is going to count it again. */
  readonly isToCheck: boolean
}

interface Label {
  readonly label: string
  readonly position: number
  readonly job: string
}

const MOST_STRAYS = 1_000
/** Read at once. */
const MOST_QUESTIONS = 5_000

export class ReadModelCheck {
  readonly #sql: Statements
  readonly #connection: Connection
  readonly #report: ReportProblem
  /** Of the jobs as they are once all rows are repaired. */
  readonly #counts = new CountTable()
  readonly #pipelines = new Map<string, ExpectedPipeline>()
  /** Rows of `questions` by their keys. */
  readonly #questions = new Map<string, Row>()
  /** Those that were not looked up yet. */
  #labels: Label[] = []
  #labelCount = 0
  #missingLabels = 0

  constructor(sql: Statements, connection: Connection, report: ReportProblem) {
    this.#sql = sql
    this.#connection = connection
    this.#report = report
  }

  /** `isToCheck`: of a pipeline, upkeep is going to look at it. */
  noteJob(record: JobRecord, isToCheck: boolean): void {
    const { job } = record
    const { id, firstPosition, spec } = job
    const labels = [...new Set(spec.tags)].map(tagLabel)
    const error = errorFingerprint(job)
    if (error !== null) labels.push(errorLabel(error))
    for (const label of labels) this.#labels.push({ label, position: firstPosition, job: id })
    const tasks = job.task === null ? (record.stages ?? []).flatMap((one) => one ?? []) : [job.task]
    for (const task of tasks) {
      for (const row of questionRows(job, task)) this.#questions.set(keyText(row), row)
    }
    if (job.task !== null) return
    const tallies = recordTallies(record)
    const state = jobState(job, tallies, job.time)
    const held = hasHeldEffects(job, tallies)
    const { type, tags } = spec
    const position = firstPosition
    this.#pipelines.set(id, { job: id, position, type, tags, state, held, isToCheck })
  }

  /** A row of `work`; null: a pipeline's own. */
  noteTask(job: Job, task: Task | null, turn: number | null): void {
    const state = countedAs(job, task, turn)
    if (task === null || state === null) return
    if (job.task !== null) this.#counts.addJob(countedJob(job), state, 1)
    else this.#counts.addSegment(job.spec.type, task.policy.queue, state, 1)
  }

  /** Of the jobs that were noted since the last call. */
  async checkLabels(): Promise<void> {
    const labels = this.#labels
    if (labels.length === 0) return
    this.#labels = []
    this.#labelCount += labels.length
    const rows = labels.map(({ label, position }) => [label, position])
    const [answered] = await this.#connection.run([{ sql: this.#sql.labelsAt, rows }])
    const found = new Set(
      answered?.rows.map(([label, position]) => `${String(position)} ${String(label)}`),
    )
    for (const one of labels) {
      if (found.has(`${one.position} ${one.label}`)) continue
      this.#missingLabels += 1
      this.#report('labels', one.label, `job ${one.job} is missing`, { table: 'labels', ...one })
    }
  }

  async checkCounts(rewritten: ReadonlySet<string>, onFix: (fix: Fix) => void): Promise<void> {
    await this.#checkStrayLabels()
    await this.#checkPipelines()
    await this.#checkQuestions()
    const rows = await this.#rowsOf(this.#sql.allCounts)
    checkCounts(rows, this.#counts, rewritten, this.#report, onFix)
  }

  async #checkStrayLabels(): Promise<void> {
    const [[count] = []] = await this.#rowsOf(this.#sql.countLabels)
    if (Number(count) === this.#labelCount - this.#missingLabels) return
    for (const [job, label, position] of await this.#rowsOf(this.#sql.strayLabels, MOST_STRAYS)) {
      const at = { label: label as string, position: position as number, job: null }
      this.#report('labels', at.label, `there is no job ${String(job)}`, { table: 'labels', ...at })
    }
  }

  async #checkQuestions(): Promise<void> {
    let after: Row = ['', 0, 0, 0, 0, '']
    for (;;) {
      const rows = await this.#rowsOf(this.#sql.allQuestions, ...after, MOST_QUESTIONS)
      for (const row of rows) {
        if (this.#questions.delete(keyText(row))) continue
        const what = `job ${String(row[6])} ${isOfHeld(row) ? 'has no such effect' : 'does not ask it'}`
        this.#report('questions', nameOf(row), what, { table: 'questions', row, isMissing: false })
      }
      const last = rows.at(-1)
      if (rows.length < MOST_QUESTIONS || last === undefined) break
      after = questionKey(last)
    }
    for (const row of this.#questions.values()) {
      const job = String(row[6])
      const what = isOfHeld(row)
        ? `that job ${job} has a held effect is missing`
        : `what job ${job} asks is missing`
      this.#report('questions', nameOf(row), what, { table: 'questions', row, isMissing: true })
    }
  }

  async #checkPipelines(): Promise<void> {
    for (const row of await this.#rowsOf(this.#sql.allPipelines)) {
      const [id, type, tags, counted, held, until = null] = row
      const job = id as string
      const known = this.#pipelines.get(job)
      this.#pipelines.delete(job)
      if (known === undefined) {
        this.#report('pipelines', job, 'there is no such job', {
          table: 'pipelines',
          job,
          row: null,
        })
        continue
      }
      const isSame = type === known.type && tags === tagsColumn(known.tags)
      const isEndRight = !isFinal(counted as JobState) || counted === known.state
      if (!isSame || !isEndRight) {
        this.#fixPipeline(known, `it is counted as ${String(counted)}, and is ${known.state}`)
      } else if (!known.isToCheck && Boolean(held) !== known.held) {
        const [as, has] = known.held ? ['without', 'some'] : ['with', 'none']
        const what = `it is counted ${as} held effects, and has ${has}`
        this.#fixPipeline({ ...known, state: counted as JobState }, what, until)
      } else this.#count(known, counted as JobState, Boolean(held))
    }
    for (const missing of this.#pipelines.values()) this.#fixPipeline(missing, 'it is missing')
  }

  /** `until`: when its state is another one without an entry. */
  #fixPipeline(known: ExpectedPipeline, what: string, until: Value = null): void {
    const { job, position, type, tags, state, held } = known
    const row = [job, position, type, tagsColumn(tags), state, held, until]
    this.#report('pipelines', job, what, { table: 'pipelines', job, row })
    this.#count(known, state, held)
  }

  #count({ type, tags }: ExpectedPipeline, state: JobState, held: boolean): void {
    this.#counts.addJob({ type, queue: NO_QUEUE, tags, error: null, held }, state, 1)
  }

  async #rowsOf(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    const [answered] = await this.#connection.run([{ sql, values }])
    return answered?.rows ?? []
  }
}

function keyText(row: Row): string {
  return JSON.stringify(questionKey(row))
}

function isOfHeld([list]: Row): boolean {
  return list === HELD_LIST
}

/** In words: the question, or the job with a held effect, and the list that it stands in. */
function nameOf(row: Row): string {
  const [list, , , , , name, job] = row
  return `${String(isOfHeld(row) ? job : name)} (${String(list)})`
}
