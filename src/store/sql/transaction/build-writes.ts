/**
 * Saves what a transaction decided: the entries, and the rows that follow from them.
 */
import type { Job, Queue, Schedule, Usage } from '../../../kernel/index.ts'
import { taskIn } from '../../../kernel/index.ts'
import { isListed } from '../../state/task-snapshot.ts'
import type { Statement, Connection, RowLocations, Row } from '../connection.ts'
import type { WorkingSet } from './working-set.ts'
import type { TaskWithoutTurn } from './turn-assignment.ts'
import type { TransactionContext } from './context.ts'
import type { Records } from '../rows/records.ts'
import type { RowState } from '../rows/work-rows.ts'
import {
  changingColumns,
  channelOf,
  fixedColumns,
  freshColumns,
  isFresh,
  isTaken,
  JOB_ROW,
  levelOf,
  takenColumns,
} from '../rows/work-rows.ts'

/** What is to be run; when it is through, the rows are as they are in the database. */
export async function buildWrites(
  loaded: WorkingSet,
  connection: Connection,
  now: number,
  parts: TransactionContext,
): Promise<Statement[]> {
  const { sql } = parts
  for (const [name] of loaded.changedQueues) parts.queues.set(loaded.queues.get(name) as Queue)
  await standInLine(loaded, connection, now, parts)
  const asks: Statement[] = []
  const add = (text: string, rows: readonly Row[], expect?: number): void => {
    if (rows.length === 0) return
    asks.push(expect === undefined ? { sql: text, rows } : { sql: text, rows, expect })
  }
  add(sql.insertEvents, eventRows(loaded, parts.records))
  add(
    sql.deleteJobs,
    [...loaded.forgotten].map((id) => [id]),
  )
  add(
    sql.dropKeys,
    [...loaded.droppedKeys].map((id) => [id]),
  )
  const { fresh, inserted, updated, taken, moving } = rowsOf(loaded, parts)
  add(sql.insertFresh, fresh)
  add(sql.insertRows, inserted)
  add(sql.updateRows, updated, updated.length)
  if (taken.length > 0) {
    asks.push({ sql: sql.updateTaken, rows: taken, expect: taken.length, locations: moving })
  }
  add(sql.saveQueues, queueRows(loaded, parts.records))
  for (const { entry } of loaded.applied) {
    if (entry.type !== 'QueueConfigured') continue
    asks.push({
      sql: sql.rerankQueue,
      values: [entry.queue, entry.ageingMs ?? 0, entry.ageingMs !== null],
    })
  }
  add(
    sql.chargeQueues,
    [...loaded.chargedQueues].map((name) => [name, loaded.queueUsage(name)?.fullAt ?? 0]),
  )
  add(sql.saveSchedules, scheduleRows(loaded, parts.records))
  add(
    sql.saveLimits,
    [...loaded.changedLimits].map((key) => {
      const { held, fullAt } = loaded.usage.get(key) as Usage
      return [key, held, fullAt]
    }),
  )
  // Limits have room: as many of those that wait for them stand in line again.
  add(
    sql.unpark,
    [...loaded.freed].map(([key, count]) => [key, count, now]),
  )
  add(
    sql.notePipelines,
    [...loaded.touchedPipelines].map((id) => [id]),
  )
  return asks
}

/** Tasks that are due, and have no place yet, are given one; others wait for their time. */
async function standInLine(
  loaded: WorkingSet,
  connection: Connection,
  now: number,
  { turns: places, queues }: TransactionContext,
): Promise<void> {
  const newcomers: TaskWithoutTurn[] = []
  for (const row of loaded.changed) {
    const job = loaded.jobs.get(row.job) as Job
    const task = taskOf(loaded, row, job)
    if (task === null || !isListed(job, task)) continue
    if (task.dueAt > now) {
      row.turn = null
      row.parked = null
    } else if (row.turn === null) {
      const level = levelOf(job.spec.priority, task, queues.ageingMs(task.policy.queue))
      newcomers.push({ row, channel: channelOf(job, task), level, group: job.spec.group })
    }
  }
  if (newcomers.length > 0) await places.assign(newcomers, connection)
}

function taskOf(loaded: WorkingSet, row: RowState, job: Job): Job['task'] {
  return row.stage === JOB_ROW
    ? job.task
    : (taskIn(loaded.world, job, row.stage, row.segment) ?? null)
}

function eventRows(loaded: WorkingSet, records: Records): Row[] {
  return loaded.applied.map(({ entry, position, previousPosition: before }) => {
    const job = 'job' in entry ? entry.job : null
    return [position, job, before, entry.type, entry.at, records.ofEntry(entry)]
  })
}

interface RowsToSave {
  readonly fresh: readonly Row[]
  readonly inserted: readonly Row[]
  readonly updated: readonly Row[]
  readonly taken: readonly Row[]
  /** Of those that are taken. */
  readonly moving: RowLocations
}

function rowsOf(loaded: WorkingSet, { records, queues }: TransactionContext): RowsToSave {
  const ageing = (queue: string): number | null => queues.ageingMs(queue)
  const fresh: Row[] = []
  const inserted: Row[] = []
  const updated: Row[] = []
  const taken: Row[] = []
  const moving = { known: [] as (number | null)[], rows: [] as RowState[] }
  for (const row of loaded.changed) {
    const job = loaded.jobs.get(row.job) as Job
    const task = taskOf(loaded, row, job)
    const hasKey = !loaded.droppedKeys.has(row.job)
    if (row.version === 0 && isFresh(job)) {
      fresh.push(freshColumns(row, job, hasKey, ageing))
    } else if (row.version > 0 && isTaken(row, job, task)) {
      taken.push(takenColumns(row, job, records))
      // Whoever loses its key is moved by that, BEFORE this.
      moving.known.push(hasKey ? row.ctid : null)
      moving.rows.push(row)
    } else {
      const changing = changingColumns(row, job, task, records, ageing)
      if (row.version > 0) {
        const { stage, segment, version, position } = row
        updated.push([row.job, stage, segment, version, position, ...changing])
      } else {
        inserted.push([...fixedColumns(row, job, task, hasKey), ...changing])
      }
    }
    row.version = (task ?? job).version
    row.ctid = null
  }
  return { fresh, inserted, updated, taken, moving }
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
