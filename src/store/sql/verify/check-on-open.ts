/**
 * The cheap part of verify, whenever a store is opened: a few milliseconds, whatever is in it.
 *
 * - The store is whole: no copy into it was cut short.
 * - Events are guarded by the database, and the next position is free.
 * - The newest events check, and so do the jobs that they are about: what a crash, a full disk or
 *   a manual change damaged last.
 *
 * A store that fails this is not opened: it would go on from what is wrong. Verify finds all else, or the
 * store does when it reads it.
 */
import { PawlError } from '../../../kernel/index.ts'
import { CopyUnfinished } from '../../errors.ts'
import type { Connection, Row } from '../connection.ts'
import { eventRow, readEvent } from '../rows/event-rows.ts'
import type { DatabaseProblem } from './database-problem.ts'
import { CorruptRecord, Records } from '../rows/records.ts'
import { JOB_ROW, loadedColumns } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'

/** In `meta` while a store is copied into the database. */
export const COPYING = 'copying'

/** What was found on opening. */
export class DatabaseDamaged extends PawlError {
  constructor(problems: readonly DatabaseProblem[]) {
    const [first] = problems
    const where = first?.row == null ? '' : ` (${first.row})`
    super(
      'DatabaseDamaged',
      'corrupt',
      `The database is damaged: ${first?.table}${where}: ${first?.what}. Nothing was changed. Look at all of it with verifyDatabase, then restore a backup or use repairDatabase.`,
      { problems },
    )
  }
}

const NEWEST = 20

export async function checkOnOpen(connection: Connection, sql: Statements): Promise<void> {
  const [copying, guards, positions, newest] = await connection.run([
    { sql: sql.readMeta, values: [COPYING] },
    { sql: sql.missingTriggers, values: [] },
    { sql: sql.lastPositions, values: [] },
    { sql: sql.newestEvents, values: [NEWEST] },
  ])
  if ((copying?.rows.length ?? 0) > 0) throw new CopyUnfinished('this database')
  const problems: DatabaseProblem[] = []
  const report = (
    table: string,
    row: string | null,
    what: string,
    position: number | null,
  ): void => {
    problems.push({ table, row, what, position })
  }
  const missing = Number(guards?.rows[0]?.[0])
  if (missing > 0) {
    report('meta', 'triggers', `${missing} triggers that keep events as they are are missing`, null)
  }
  const [last = 0, given = 0] = (positions?.rows[0] ?? []) as readonly number[]
  if (given < last)
    report('meta', 'positions', `${given + 1} would be next, ${last} is taken`, null)
  const records = new Records()
  const events = (newest?.rows ?? []).map(eventRow)
  for (const event of events) {
    for (const what of readEvent(event, records).wrong) {
      report('events', event.job, what, event.position)
    }
  }
  const jobs = [...new Set(events.flatMap(({ job }) => job ?? []))]
  const rows = jobs.map((job) => [job, JOB_ROW, 0, true])
  const [found] = await connection.run([{ sql: sql.readRows, rows }])
  for (const row of found?.rows ?? []) {
    const what = problemOf(row, records)
    if (what !== null) report('work', row[0] as string, what, null)
  }
  if (problems.length > 0) throw new DatabaseDamaged(problems)
}

function problemOf(row: Row, records: Records): string | null {
  const { record, spec, position, version } = loadedColumns(row)
  if (spec === null) return 'what was submitted is not there'
  try {
    const job = records.job(record, records.submitted(spec, position))
    const said = (job.task ?? job).version
    return said === version ? null : `version is ${version}, and its record says ${said}`
  } catch (error) {
    if (!(error instanceof CorruptRecord)) throw error
    return error.why
  }
}
