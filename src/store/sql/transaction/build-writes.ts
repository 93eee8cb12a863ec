/**
 * Builds the writes of a transaction: the entries that it decided, and the rows that follow from them.
 */
import type { Job, JobState, Queue, Schedule, Task, Usage } from '../../../kernel/index.ts'
import { errorFingerprint, isHeldTask, taskIn } from '../../../kernel/index.ts'
import { isListed } from '../../state/task-snapshot.ts'
import type { Statement, Connection, Row } from '../connection.ts'
import type { WorkingSet } from './working-set.ts'
import type { TaskWithoutTurn } from './turn-assignment.ts'
import type { TransactionContext } from './context.ts'
import { errorLabel, tagLabel } from '../rows/counted-rows.ts'
import { changedQuestions, questionRows } from '../rows/question-rows.ts'
import type { Records } from '../rows/records.ts'
import type { RowState } from '../rows/work-rows.ts'
import {
  changingColumns,
  channelOf,
  countedAs,
  fixedColumns,
  freshColumns,
  isFreshRow,
  isUnlisted,
  JOB_ROW,
  levelOf,
  movableColumns,
  unlistedColumns,
} from '../rows/work-rows.ts'

/**
 * The statements that write what a transaction decided. From here on the row states say what the
 * database will have.
 */
export async function buildWrites(
  loaded: WorkingSet,
  connection: Connection,
  now: number,
  context: TransactionContext,
): Promise<Statement[]> {
  const { sql, records, queues } = context
  for (const [name] of loaded.changedQueues) queues.set(loaded.queues.get(name) as Queue)
  await assignTurns(loaded, connection, now, context)
  const writes: Statement[] = []
  const write = (text: string, rows: readonly Row[], expect?: number): void => {
    if (rows.length === 0) return
    writes.push(expect === undefined ? { sql: text, rows } : { sql: text, rows, expect })
  }
  write(sql.insertEvents, eventRows(loaded, records))
  write(sql.deleteJobs, inRows(loaded.forgotten))
  const gone = inRows(loaded.forgottenPipelines)
  write(sql.deleteTalliesOf, gone)
  // BEFORE they are read: upkeep may count them again.
  write(sql.lockPipelines, gone)
  write(sql.uncountPipelines, gone)
  write(sql.deletePipelines, gone)
  write(sql.dropKeys, inRows(loaded.droppedKeys))
  const { fresh, inserted, updated, unlisted, labels, questions } = workRows(loaded, context)
  write(sql.insertFresh, fresh)
  write(sql.insertRows, inserted)
  write(sql.updateRows, updated, updated.length)
  write(sql.moveTasks, movedRows(loaded))
  write(sql.updateUnlisted, unlisted, unlisted.length)
  write(sql.saveQueues, queueRows(loaded, records))
  for (const { entry } of loaded.applied) {
    if (entry.type !== 'QueueConfigured') continue
    const values = [entry.queue, entry.ageingMs ?? 0, entry.ageingMs !== null]
    writes.push({ sql: sql.rerankQueue, values })
  }
  const charged = [...loaded.chargedQueues]
  write(
    sql.chargeQueues,
    charged.map((name) => [name, loaded.queueUsage(name)?.fullAt ?? 0]),
  )
  write(sql.saveSchedules, scheduleRows(loaded, records))
  const changedLimits = [...loaded.changedLimits]
  write(
    sql.saveLimits,
    changedLimits.map((key) => {
      const { held, fullAt } = loaded.usage.get(key) as Usage
      return [key, held, fullAt]
    }),
  )
  // Limits have room for so many: as many of the tasks that are parked for them are ready again.
  const freed = [...loaded.freed]
  write(
    sql.unpark,
    freed.map(([key, count]) => [key, count, now]),
  )
  write(
    sql.insertTallies,
    [...loaded.changedPipelines].flatMap(([job, changed]) => changed.rows(job)),
  )
  const checks = [...loaded.callsToCheck.values()]
  write(
    sql.insertCalls,
    checks.map(({ job, stage, segment }) => [job, stage, segment]),
  )
  write(sql.deleteLabels, loaded.droppedLabels)
  write(sql.insertLabels, labels)
  write(sql.deleteQuestions, loaded.droppedQuestions)
  write(sql.insertQuestions, questions)
  write(sql.savePipelines, loaded.newPipelines)
  write(
    sql.countPipelines,
    loaded.newPipelines.map(([job]) => [job as string]),
  )
  write(sql.addCounts, loaded.counts.columns())
  return writes
}

function inRows(ids: ReadonlySet<string>): Row[] {
  return [...ids].map((id) => [id])
}

/** Tasks that are due and have no turn are given one; others wait for their time. */
async function assignTurns(
  loaded: WorkingSet,
  connection: Connection,
  now: number,
  { turns, queues }: TransactionContext,
): Promise<void> {
  const tasks: TaskWithoutTurn[] = []
  for (const row of loaded.changed) {
    const job = loaded.jobs.get(row.job) as Job
    const task = taskOf(loaded, row, job)
    if (task === null || !isListed(job, task)) continue
    if (task.dueAt > now) {
      row.turn = null
      row.parked = null
    } else if (row.turn === null) {
      const level = levelOf(task.priority, task, queues.ageingMs(task.policy.queue))
      const limits = limitKeys(task)
      tasks.push({ row, channel: channelOf(job, task), level, group: job.spec.group, limits })
    }
  }
  if (tasks.length > 0) await turns.assign(tasks, connection)
}

/** Only few tasks have limits, and no caller adds to the list. */
const NONE: readonly string[] = []

export function limitKeys({ policy }: Task): readonly string[] {
  return policy.limits.length === 0 ? NONE : policy.limits.map(({ key }) => key)
}

function taskOf(loaded: WorkingSet, row: RowState, job: Job): Job['task'] {
  return row.stage === JOB_ROW
    ? job.task
    : (taskIn(loaded.world, job, row.stage, row.segment) ?? null)
}

function eventRows(loaded: WorkingSet, records: Records): Row[] {
  return loaded.applied.map(({ entry, position, previousPosition }) => {
    const job = 'job' in entry ? entry.job : null
    return [position, job, previousPosition, entry.type, entry.at, records.ofEntry(entry)]
  })
}

function movedRows(loaded: WorkingSet): Row[] {
  return [...loaded.moved].map((row) => {
    const job = loaded.jobs.get(row.job) as Job
    return movableColumns(row, job, taskOf(loaded, row, job))
  })
}

interface WorkRows {
  readonly fresh: readonly Row[]
  readonly inserted: readonly Row[]
  readonly updated: readonly Row[]
  readonly unlisted: readonly Row[]
  /** Of jobs that are new, or failed of something. */
  readonly labels: readonly Row[]
  /** What people are asked now. */
  readonly questions: readonly Row[]
}

function workRows(loaded: WorkingSet, { records, queues }: TransactionContext): WorkRows {
  const ageing = (queue: string): number | null => queues.ageingMs(queue)
  const fresh: Row[] = []
  const inserted: Row[] = []
  const updated: Row[] = []
  const unlisted: Row[] = []
  const labels: Row[] = []
  const questions: Row[] = []
  for (const row of loaded.changed) {
    const job = loaded.jobs.get(row.job) as Job
    const task = taskOf(loaded, row, job)
    const hasKey = !loaded.droppedKeys.has(row.job)
    if (row.version === 0 && isFreshRow(job)) {
      fresh.push(freshColumns(row, job, hasKey, ageing))
    } else if (row.version > 0 && isUnlisted(row, job, task)) {
      unlisted.push(unlistedColumns(row, job, records))
    } else {
      const changing = changingColumns(row, job, task, records, ageing)
      if (row.version > 0) {
        const { stage, segment, version, position } = row
        updated.push([row.job, stage, segment, version, position, ...changing])
      } else {
        inserted.push([...fixedColumns(row, job, task, hasKey), ...changing])
      }
    }
    if (row.version === 0 && row.stage === JOB_ROW && job.spec.tags.length > 0) {
      for (const tag of new Set(job.spec.tags)) labels.push([tagLabel(tag), row.position, row.job])
    }
    if (task !== null) countAgain(loaded, row, job, task, labels)
    if (row.questions.length > 0 || (task !== null && mayAsk(task))) {
      askAgain(loaded, row, questionRows(job, task), questions)
    }
    row.version = (task ?? job).version
  }
  return { fresh, inserted, updated, unlisted, labels, questions }
}

/** It may be in a list of what people have to say. */
function mayAsk(task: Task): boolean {
  return task.waiting !== null || isHeldTask(task)
}

/** Of a plain job, which may have an error. */
function isOwnFailure({ stage }: RowState, state: JobState | null): boolean {
  return stage === JOB_ROW && (state === 'FAILED' || state === 'QUARANTINED')
}

/** `labels`: given what it failed of. */
function countAgain(loaded: WorkingSet, row: RowState, job: Job, task: Task, labels: Row[]): void {
  const state = countedAs(job, task, row.turn)
  const error = isOwnFailure(row, state) ? errorFingerprint(job) : null
  if (state === row.countedAs && error === row.error) return
  loaded.count(row, job, task.policy.queue, -1)
  if (error !== row.error) {
    if (row.error !== null) loaded.droppedLabels.push([errorLabel(row.error), row.position])
    if (error !== null) labels.push([errorLabel(error), row.position, row.job])
  }
  row.countedAs = state
  row.error = error
  row.held = row.stage === JOB_ROW && isHeldTask(task)
  loaded.count(row, job, task.policy.queue, 1)
}

/** `questions`: given those that are new. */
function askAgain(
  { droppedQuestions }: WorkingSet,
  row: RowState,
  after: readonly Row[],
  questions: Row[],
): void {
  const { gone, come } = changedQuestions(row.questions, after)
  droppedQuestions.push(...gone)
  questions.push(...come)
  row.questions = after
}

function queueRows(loaded: WorkingSet, records: Records): Row[] {
  return [...loaded.changedQueues].map(([name, before]) => {
    const queue = loaded.queues.get(name) as Queue
    const isLimited = queue.concurrency !== null || queue.rate !== null
    const fullAt = loaded.queueUsage(name)?.fullAt ?? 0
    return [name, before, queue.version, records.ofQueue(queue), isLimited, queue.paused, fullAt]
  })
}

function scheduleRows(loaded: WorkingSet, records: Records): Row[] {
  return [...loaded.changedSchedules].map(([id, before]) => {
    const schedule = loaded.schedules.get(id) as Schedule
    const record = records.ofSchedule(schedule)
    return [id, before, schedule.version, record, schedule.definition !== null]
  })
}
