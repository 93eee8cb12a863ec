/**
 * A job as its rows say it is, whatever its events say: for one whose events are damaged. And the
 * other way round: what a job was submitted by.
 */
import type { Job, JobSubmitted, StageTasks } from '../../../kernel/index.ts'
import { segmentsOf } from '../../../kernel/index.ts'
import type { JobRecord } from '../../../log/index.ts'
import type { Row } from '../connection.ts'
import type { JobFold } from './job-fold.ts'
import type { Records } from '../rows/records.ts'
import { CorruptRecord } from '../rows/records.ts'
import { WORK_COLUMN_AT } from '../statements.ts'
import { JOB_ROW, rowKey } from '../rows/work-rows.ts'

export interface JobFromRows {
  readonly record: JobRecord
  readonly lastPosition: (stage: number, segment: number) => number
}

/** What the job was submitted by: all of it can be told from the job, whatever happened since. */
export function submissionOf({ id, spec, submittedAt, dueAt }: Job): JobSubmitted {
  return { type: 'JobSubmitted', job: id, at: submittedAt, version: 1, spec, dueAt }
}

/** Null: they do not check, or do not make up a job. */
export function jobOfRows(
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
    }
    job.firstPosition = submitted.position
    const isWhole = (stages ?? []).every((tasks, stage) => {
      return tasks === null || count(tasks) === segmentsOf(job, stage)
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

/** Without gaps. */
function count(tasks: readonly unknown[]): number {
  return tasks.filter((task) => task !== undefined).length
}
