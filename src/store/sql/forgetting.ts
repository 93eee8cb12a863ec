/**
 * Retention: which jobs that are over are to be forgotten. It only says so, and `decide` has the last
 * word. Asking costs a look at all kinds of jobs, so it looks now and then, and again at once while
 * there is something to forget.
 */
import type { Command } from '../../kernel/index.ts'
import type { Retention } from '../retention.ts'
import type { Connection } from './connection.ts'
import type { Statements } from './statements.ts'

const PAUSE_MS = 5_000
/** What was refused is asked for again after so long: its origin may be recorded by then. */
const POSTPONED_MS = 60_000

interface Ended {
  readonly job: string
  readonly type: string
  readonly endedAt: number
  readonly dueAt: number
}

export class SqlForgetting {
  readonly #sql: Statements
  readonly #retention: Retention
  readonly #postponed = new Map<string, number>()
  #nextLook = 0

  constructor(sql: Statements, retention: Retention) {
    this.#sql = sql
    this.#retention = retention
  }

  /** Forgetting a job was refused. */
  postpone(id: string, now: number): void {
    this.#postponed.set(id, now + POSTPONED_MS)
  }

  async due(connection: Connection, now: number, limit: number): Promise<Command[]> {
    if (limit <= 0 || now < this.#nextLook) return []
    for (const [id, until] of this.#postponed) if (until <= now) this.#postponed.delete(id)
    const { ageMs, count, types } = this.#retention
    const [answered] = await connection.run([{ sql: this.#sql.kinds, values: [] }])
    const found: Ended[] = []
    let all = -count
    const byType = new Map<string, number>()
    for (const [name, retainMs, number] of answered?.rows ?? []) {
      const type = name as string
      all += number as number
      const most = types?.[type]?.count
      if (most !== undefined) byType.set(type, (byType.get(type) ?? -most) + (number as number))
      const keptMs = (retainMs as number | null) ?? types?.[type]?.ageMs ?? ageMs
      const values = [type, retainMs as number | null, limit + this.#postponed.size]
      const [rows] = await connection.run([{ sql: this.#sql.oldest, values }])
      for (const [job, endedAt] of rows?.rows ?? []) {
        if (this.#postponed.has(job as string)) continue
        const at = endedAt as number
        found.push({ job: job as string, type, endedAt: at, dueAt: at + keptMs + 1 })
      }
    }
    const commands: Command[] = []
    for (const one of found.toSorted((a, b) => a.endedAt - b.endedAt)) {
      if (commands.length >= limit) break
      const isSurplus = all > 0 || (byType.get(one.type) ?? 0) > 0
      if (one.endedAt >= now || (one.dueAt > now && !isSurplus)) continue
      commands.push({ type: 'ForgetJob', job: one.job, endedBefore: one.endedAt + 1 })
      all -= 1
      byType.set(one.type, (byType.get(one.type) ?? 0) - 1)
    }
    this.#nextLook = commands.length > 0 ? 0 : now + PAUSE_MS
    return commands
  }
}
