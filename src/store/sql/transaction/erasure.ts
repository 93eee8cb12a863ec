/**
 * Redacts what is stored of a job that a transaction erases: its events, the rows of its tasks, and what a
 * copied store began with. The job's own row is written as any row that changed.
 *
 * AFTER the JobErased is inserted, in the same transaction: the database refuses to change events of a job
 * without one behind them. A job may be large, so it is done in portions.
 */
import type { Entry, Job, JobSubmitted } from '../../../kernel/index.ts'
import { redactEntry, redactJob, redactTask, segmentsOf, stagesOf } from '../../../kernel/index.ts'
import type { Connection, Row } from '../connection.ts'
import type { Baseline } from '../rows/event-rows.ts'
import { baseline } from '../rows/event-rows.ts'
import { CorruptRecord } from '../rows/records.ts'
import { JOB_ROW, loadedColumns } from '../rows/work-rows.ts'
import type { TransactionContext } from './context.ts'

/** Records that are read, and written, at once: each may be a megabyte. */
const PORTION = 100

/** `job`: as it is now. */
export async function redactStored(
  connection: Connection,
  job: Job,
  { sql, erasure, records }: TransactionContext,
): Promise<void> {
  const read = async (text: string, rows: readonly Row[]): Promise<readonly Row[]> => {
    const [found] = await connection.run([{ sql: text, rows }])
    return found?.rows ?? []
  }
  const write = async (text: string, rows: readonly Row[]): Promise<void> => {
    if (rows.length > 0) await connection.run([{ sql: text, rows }])
  }

  // FIRST: a baseline is read with what was submitted.
  const all = (await read(sql.baselinesOf, [[job.id]])).map(baseline)
  // Not those of an earlier job of this id: that one was submitted otherwise.
  const baselines = all.filter(({ through }) => through >= job.firstPosition)
  if (baselines.length > 0) {
    const [event] = await read(sql.events, [[job.firstPosition]])
    const submitted = records.submitted(event?.[1] as Uint8Array, job.firstPosition)
    await write(erasure.redactBaselines, redactedBaselines(baselines, submitted, records))
  }

  // A repair that gave up its events cut the links to them.
  const through = Math.max(0, ...baselines.map((one) => (one.kind === 'kept' ? one.through : 0)))
  const [linked, cut] = await connection.run([
    { sql: erasure.events, values: [job.id] },
    ...(through === 0
      ? []
      : [{ sql: erasure.eventsBetween, values: [job.id, job.firstPosition, through] }]),
  ])
  const positions = [...(linked?.rows ?? []), ...(cut?.rows ?? [])]
  for (let from = 0; from < positions.length; from += PORTION) {
    const events = await read(sql.events, positions.slice(from, from + PORTION))
    const redacted = events.flatMap(([position, record]): Row[] => {
      const without = redactedEvent(records, record as Uint8Array, position as number, through)
      return without === null ? [] : [[position as number, without]]
    })
    await write(erasure.redactEvents, redacted)
  }

  for (let stage = 0; stage < stagesOf(job).length; stage++) {
    const count = Math.max(0, segmentsOf(job, stage))
    for (let from = 0; from < count; from += PORTION) {
      const length = Math.min(PORTION, count - from)
      const addresses = Array.from({ length }, (_, i): Row => [job.id, stage, from + i, false])
      // Locked: a late report may be noted at the same time.
      const redacted = (await read(sql.lockRows, addresses)).map((row): Row => {
        const { segment, record } = loadedColumns(row)
        const task = records.task(record as Uint8Array, job, stage, segment)
        redactTask(task)
        return [job.id, stage, segment, records.ofTask(task, job)]
      })
      await write(erasure.redactRows, redacted)
    }
  }
}

/** Null: there is nothing to redact. One that does not check, of those that were given up, is left with nothing. */
function redactedEvent(
  records: TransactionContext['records'],
  record: Uint8Array,
  position: number,
  givenUpThrough: number,
): Uint8Array | null {
  let entry: Entry
  try {
    entry = records.entry(record, position)
  } catch (error) {
    if (!(error instanceof CorruptRecord) || position > givenUpThrough) throw error
    return new Uint8Array(0)
  }
  const without = redactEntry(entry)
  return without === entry ? null : records.ofEntry(without)
}

/** Of each `through`: the job's own, and those of its tasks. Those of a job that was given up say nothing. */
function redactedBaselines(
  baselines: readonly Baseline[],
  submitted: JobSubmitted,
  records: TransactionContext['records'],
): Row[] {
  return baselines.flatMap(({ kind, name, stage, segment, through, record }): Row[] => {
    const own = baselines.find((one) => one.through === through && one.stage === JOB_ROW)
    if (kind === 'gone' || own === undefined) return []
    const job = records.job(own.record, submitted)
    if (stage === JOB_ROW) {
      redactJob(job)
      return [[kind, name, stage, segment, through, records.ofWholeJob(job)]]
    }
    const task = records.task(record, job, stage, segment)
    redactTask(task)
    return [[kind, name, stage, segment, through, records.ofWholeTask(task, job)]]
  })
}
