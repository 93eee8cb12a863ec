/**
 * A row of `work` beside what the events say it must be, column by column.
 *
 * Some columns are proposals, and more than one value is right:
 * - `turn`: any; nothing wrong is granted by it.
 * - `parked`: none, or one of the task's own limits, while it waits.
 * - `level`, `rank`: by any rule that its queue had, because another process may hear of the newest
 *   one later; of a suspended task by its own due time, too, if its queue was ranked again meanwhile.
 * - `key_held`: a unique job that is over may have its key, until another job takes it.
 * - `over_at` of a pipeline: none, until the orchestrator has examined it.
 */
import type { Job, Step, Task } from '../../../kernel/index.ts'
import {
  countTallies,
  createWorld,
  emptyTally,
  isFinal,
  isSuspended,
  jobEndedAt,
  jobState,
  keepsKey,
  placeAt,
  sameContent,
} from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import { isListed } from '../../state/task-snapshot.ts'
import type { Row, Value } from '../connection.ts'
import type { Column } from '../statements.ts'
import { ROW_STATES, WORK_COLUMN_AT, WORK_COLUMNS } from '../statements.ts'
import { shown } from '../rows/event-rows.ts'
import { NO_ROWS } from '../rows/question-rows.ts'
import type { Records } from '../rows/records.ts'
import { CorruptRecord, STEP_IN_EVENTS } from '../rows/records.ts'
import type { TallyChange, TallyRow } from '../rows/tally-rows.ts'
import type { RowState } from '../rows/work-rows.ts'
import { changingColumns, fixedColumns, isFresh, JOB_ROW, keyName } from '../rows/work-rows.ts'
import { submissionOf } from './job-fold.ts'

const STATES: ReadonlySet<string> = new Set(ROW_STATES)

/** What a row must be. */
interface ExpectedRow {
  readonly stage: number
  readonly segment: number
  readonly lastPosition: number
  /** Null for a pipeline's own row. */
  readonly task: Task | null
}

/** A job with all that its rows are made from. */
export interface ExpectedJob {
  readonly job: Job
  readonly isOver: boolean
  /** When it was over; of a pipeline the orchestrator finds that out. */
  readonly overAt: number | null
  readonly rows: readonly ExpectedRow[]
}

export function expectedJob(
  { job, stages }: JobRecord,
  lastPosition: (stage: number, segment: number) => number,
): ExpectedJob {
  const world = createWorld(new Map([[job.id, job]]))
  if (stages !== null) world.tasks.set(job.id, stages)
  const tallies = countTallies(world, job)
  const isOver = isFinal(jobState(job, tallies, 0))
  const tasks = (stages ?? []).flatMap((one) => one ?? [])
  return {
    job,
    isOver,
    overAt: isOver ? jobEndedAt(job, tallies) : null,
    rows: [
      { stage: JOB_ROW, segment: 0, lastPosition: lastPosition(JOB_ROW, 0), task: job.task },
      ...tasks.map((task) => ({
        stage: task.stage,
        segment: task.segment,
        lastPosition: lastPosition(task.stage, task.segment),
        task,
      })),
    ],
  }
}

/** What is wrong with the tally of a stage. `found`: undefined if the database has none. */
export function tallyProblems(
  { tally, neverGranted }: TallyChange,
  found: TallyRow | undefined,
  isOver: boolean,
): string[] {
  const expected: Readonly<Record<string, number>> = { ...tally, neverGranted }
  const stored: Readonly<Record<string, number>> = {
    ...(found?.tally ?? emptyTally()),
    neverGranted: found?.neverGranted ?? 0,
  }
  return Object.keys(expected).flatMap((name) => {
    // The time of a retry is not kept. That of the last end is that of an end that was undone, or it counts.
    if (name === 'retryAt' || (name === 'endedAt' && !isOver)) return []
    if (stored[name] === expected[name]) return []
    return [`${name} is ${stored[name]}, and must be ${expected[name]}`]
  })
}

/** Where the ways that a queue ever ranked are not known, these columns are not compared. */
const RANKED: ReadonlySet<Column> = new Set<Column>(['level', 'rank'])

/** How a queue may rank what waits in it; the first is how it does now. */
type Ageings = (queue: string) => readonly (number | null)[]

export class RowCheck {
  readonly #records: Records
  readonly #ageings: Ageings | null

  /** `ageings`: null if they are not known. */
  constructor(records: Records, ageings: Ageings | null) {
    this.#records = records
    this.#ageings = ageings
  }

  /** A whole row, as it is to be written: without a turn, and not parked. */
  row(expected: ExpectedJob, row: ExpectedRow): Value[] {
    const { job, isOver } = expected
    const whole = this.#columns(expected, row, null, null, this.#ageingOf(row)[0] ?? null)
    if (!keepsKey(job, isOver)) whole[WORK_COLUMN_AT.key_held] = null
    if (row.stage === JOB_ROW) whole[WORK_COLUMN_AT.over_at] = expected.overAt
    return whole
  }

  /** What is wrong with the row that was found. */
  problems(expected: ExpectedJob, row: ExpectedRow, found: Row): string[] {
    const turn = found[WORK_COLUMN_AT.turn] as number | null
    const parked = found[WORK_COLUMN_AT.parked] as string | null
    const columns = this.#ranked(expected, row, turn, parked, found)
    return WORK_COLUMNS.flatMap((column, i) => {
      const value = found[i] as Value
      if (this.#ageings === null && RANKED.has(column)) return []
      if (column === 'record') {
        return this.#recordProblems(expected.job, row, columns[i] as Uint8Array, value)
      }
      const allowed = this.#allowed(column, expected, row, columns[i] as Value)
      if (allowed.some((one) => isSame(one, value))) return []
      if (column === 'state' && !STATES.has(value as string)) return [`${shown(value)} is no state`]
      return [`${column} is ${shown(value)}, and must be ${shown(allowed[0])}`]
    })
  }

  /** With the first of the ways to rank it that fits to what was found, or else as it is ranked now. */
  #ranked(
    expected: ExpectedJob,
    row: ExpectedRow,
    turn: number | null,
    parked: string | null,
    found: Row,
  ): Value[] {
    const ageings = this.#ageingOf(row)
    const now = this.#columns(expected, row, turn, parked, ageings[0] ?? null)
    if (isRankedAs(now, found)) return now
    for (const ageing of ageings.slice(1)) {
      const before = this.#columns(expected, row, turn, parked, ageing)
      if (isRankedAs(before, found)) return before
    }
    return now
  }

  /** All values that a column may have; the first is the best one. */
  #allowed(
    column: Column,
    expected: ExpectedJob,
    row: ExpectedRow,
    value: Value,
  ): readonly Value[] {
    const { job, isOver } = expected
    const isOwn = row.stage === JOB_ROW
    if (column === 'key_held' && isOwn && job.spec.key !== null) {
      const own = keyName(job.spec.type, job.spec.key)
      return keepsKey(job, isOver) ? [own] : [null, own]
    }
    if (column === 'over_at' && isOwn && row.task === null) {
      return [expected.overAt, null]
    }
    if (column === 'rank' && row.task !== null && isSuspended(row.task)) {
      return [value, (value as number) - placeAt(row.task) + row.task.dueAt]
    }
    if (column === 'parked') {
      const { task } = row
      const isWaiting = task !== null && isListed(job, task)
      return [null, ...(isWaiting ? task.policy.limits.map(({ key }) => key) : [])]
    }
    return [value]
  }

  #recordProblems(job: Job, row: ExpectedRow, expected: Uint8Array, found: Value): string[] {
    const { stage, segment, task } = row
    if (isSame(expected, found)) return []
    if (found === null) {
      return stage === JOB_ROW && isFresh(job) ? [] : ['its record is missing']
    }
    try {
      const record = found as Uint8Array
      if (stage !== JOB_ROW) {
        const stored = this.#records.task(record, job, stage, segment)
        assumeSteps(stored, task)
        return isSame(expected, this.#records.ofTask(stored, job)) ? [] : differing(stored, task)
      }
      const stored = this.#records.job(record, submissionOf(job))
      assumeSteps(stored.task, job.task)
      if (isSame(expected, this.#records.ofJob(stored))) return []
      // Where it stands is in the columns.
      const { firstPosition, lastPosition } = job
      return differing({ ...stored, firstPosition, lastPosition }, job)
    } catch (error) {
      if (!(error instanceof CorruptRecord)) throw error
      return [`its record is damaged: ${error.why}`]
    }
  }

  #ageingOf({ task }: ExpectedRow): readonly (number | null)[] {
    return task === null || this.#ageings === null ? [null] : this.#ageings(task.policy.queue)
  }

  #columns(
    { job }: ExpectedJob,
    { stage, segment, lastPosition, task }: ExpectedRow,
    turn: number | null,
    parked: string | null,
    ageing: number | null,
  ): Value[] {
    const state: RowState = {
      job: job.id,
      stage,
      segment,
      position: job.firstPosition,
      lastPosition,
      version: (task ?? job).version,
      turn,
      parked,
      countedAs: null,
      error: null,
      held: false,
      questions: NO_ROWS,
    }
    return [
      ...fixedColumns(state, job, task, true),
      ...changingColumns(state, job, task, this.#records, () => ageing),
    ]
  }
}

function isRankedAs(columns: Row, found: Row): boolean {
  return (
    columns[WORK_COLUMN_AT.level] === found[WORK_COLUMN_AT.level] &&
    columns[WORK_COLUMN_AT.rank] === found[WORK_COLUMN_AT.rank]
  )
}

/** Steps that are in events are what the events say. */
function assumeSteps(stored: Task | null, expected: Task | null): void {
  if (stored === null || stored.steps.length !== expected?.steps.length) return
  stored.steps = stored.steps.map((step, i) => {
    return step === STEP_IN_EVENTS ? (expected.steps[i] as Step) : step
  })
}

/** The fields of a record that are not as the events say. */
function differing(found: object, expected: object | null): string[] {
  const names = Object.keys(expected ?? {}).filter((name) => {
    const field = name as keyof typeof found
    return !sameContent(found[field], expected?.[field])
  })
  return [`its record is not what the events say: ${names.join(', ') || 'its form'}`]
}

/** SQLite has no booleans. */
export function isSame(expected: Value, found: Value): boolean {
  if (expected instanceof Uint8Array) {
    return found instanceof Uint8Array && Buffer.compare(expected, found) === 0
  }
  if (typeof expected === 'boolean') return found === expected || found === Number(expected)
  return expected === found
}
