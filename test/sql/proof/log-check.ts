/**
 * Everything that the events of a store must say, and whether its rows say the same.
 */
import type { Entry, LimitSpec, Task } from '../../../src/kernel/index.ts'
import { findTask, isSuspended, mayStartAt } from '../../../src/kernel/index.ts'
import { LogAudit } from '../../../src/store/offline/verify-directory.ts'
import type { Dialect } from '../../../src/store/sql/dialect.ts'
import { Records } from '../../../src/store/sql/rows/records.ts'
import { verifySql } from '../../../src/store/sql/verify/verify-database.ts'

const PAGE = 2_000

export interface LogChecked {
  /** What is wrong; none: all is well. */
  readonly problems: readonly string[]
  readonly entries: readonly Entry[]
  readonly audit: LogAudit
}

/** In the order of their positions, each entry must have been legitimate when it was written. */
export async function checkLog(dialect: Dialect): Promise<LogChecked> {
  const problems: string[] = []
  const report = await verifySql(dialect)
  for (const problem of report.problems) problems.push(JSON.stringify(problem))
  const connection = await dialect.connect()
  const records = new Records()
  const audit = new LogAudit()
  const entries: Entry[] = []
  for (let after = 0; ;) {
    const ask = { sql: dialect.statements.eventsAfter, values: [after, PAGE] }
    const [answered] = await connection.run([ask])
    const rows = answered?.rows ?? []
    for (const [position, record] of rows) {
      after = position as number
      const entry = records.entry(record as Uint8Array, after)
      const wrong = [...overLimit(audit, entry), ...audit.apply(entry, after)]
      for (const what of wrong) problems.push(`${after} ${JSON.stringify(entry)}: ${what}`)
      entries.push(entry)
    }
    if (rows.length < PAGE) break
  }
  await connection.close()
  problems.push(...audit.violations())
  return { problems, entries, audit }
}

/** Which limits had no room for a grant, BEFORE it is applied. */
function overLimit({ ledger }: LogAudit, entry: Entry): string[] {
  if (entry.type !== 'LeaseGranted') return []
  const { at, job, stage, segment } = entry
  const task = findTask(ledger.world, job, stage, segment) as Task
  // What is committed is finished, whatever the limits say.
  if (task.commit !== null) return []
  const name = task.policy.queue
  const queue = ledger.world.queues.get(name)
  const own = { key: name, concurrency: queue?.concurrency ?? null, rate: queue?.rate ?? null }
  // What goes on after a wait has had its token.
  const goesOn = isSuspended(task)
  const isFull = (limit: LimitSpec, usage: Parameters<typeof mayStartAt>[1]): boolean =>
    mayStartAt(goesOn ? { ...limit, rate: null } : limit, usage, at) > at
  const full = task.policy.limits.filter((limit) => isFull(limit, ledger.usage.get(limit.key)))
  const wrong = full.map(({ key }) => `limit ${key} has no room`)
  if (isFull(own, ledger.queueUsage(name) ?? undefined)) wrong.push(`queue ${name} has no room`)
  if (queue?.paused === true) wrong.push(`queue ${name} is paused`)
  return wrong
}
