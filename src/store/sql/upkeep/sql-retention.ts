/**
 * Which jobs that are over are to be forgotten. `decide` has the last word. Finding them costs a read of
 * each kind of jobs, so it reads every 5 s, and again at once while there is something to forget.
 */
import type { Command } from '../../../kernel/index.ts'
import { nowUs } from '../../clock.ts'
import type { Retention } from '../../store.ts'
import type { Connection } from '../connection.ts'
import type { Statements } from '../statements.ts'

const PAUSE_MS = 5_000
/** A job that may not be forgotten yet is tried again after this: its origin may be recorded by then. */
const POSTPONED_MS = 60_000
/** Counting reads every job that is over, so it takes at most this part of the time. */
const COUNTS_ONE_IN = 100

interface EndedRow {
  readonly job: string
  readonly type: string
  readonly endedAt: number
  readonly dueAt: number
}

export class SqlRetention {
  readonly #sql: Statements
  readonly #retention: Retention
  readonly #postponed = new Map<string, number>()
  #nextRead = 0
  /** The same by this process's own clock. */
  #nextReadUs = 0
  /** When to count again, by this process's own clock. */
  #countUs = 0
  /** How many more were over than may be kept when they were counted, less those forgotten since. */
  #surplus = 0
  readonly #surplusOf = new Map<string, number>()

  constructor(sql: Statements, retention: Retention) {
    this.#sql = sql
    this.#retention = retention
  }

  postpone(id: string, now: number): void {
    this.#postponed.set(id, now + POSTPONED_MS)
  }

  /** Whether `dueCommands` would read something. `now`: null: only the database knows. */
  isDue(now: number | null, limit: number): boolean {
    return limit > 0 && (now === null ? nowUs() >= this.#nextReadUs : now >= this.#nextRead)
  }

  async dueCommands(connection: Connection, now: number, limit: number): Promise<Command[]> {
    if (limit <= 0 || now < this.#nextRead) return []
    for (const [id, until] of this.#postponed) if (until <= now) this.#postponed.delete(id)
    if (nowUs() >= this.#countUs) await this.#count(connection)
    const commands: Command[] = []
    for (const one of await this.#oldestEnded(connection, limit)) {
      if (commands.length >= limit) break
      const isSurplus = this.#surplus > 0 || (this.#surplusOf.get(one.type) ?? 0) > 0
      if (one.endedAt >= now || (one.dueAt > now && !isSurplus)) continue
      commands.push({ type: 'ForgetJob', job: one.job, endedBefore: one.endedAt + 1 })
      this.#surplus -= 1
      this.#surplusOf.set(one.type, (this.#surplusOf.get(one.type) ?? 0) - 1)
    }
    this.#nextRead = commands.length > 0 ? 0 : now + PAUSE_MS
    this.#nextReadUs = commands.length > 0 ? 0 : nowUs() + PAUSE_MS * 1_000
    return commands
  }

  /** Of each kind the jobs that ended first, in the order in which they ended. */
  async #oldestEnded(connection: Connection, limit: number): Promise<EndedRow[]> {
    const { ageMs, types } = this.#retention
    const { endedKinds, oldestEnded } = this.#sql
    const [result] = await connection.run([{ sql: endedKinds, values: [] }])
    const rows = result?.rows ?? []
    const most = limit + this.#postponed.size
    const statements = rows.map(([type, retainMs]) => {
      return { sql: oldestEnded, values: [type as string, retainMs as number | null, most] }
    })
    const found: EndedRow[] = []
    for (const [i, { rows: ended }] of (await connection.run(statements)).entries()) {
      const [type, retainMs] = rows[i] as readonly [string, number | null]
      const keptMs = retainMs ?? types?.[type]?.ageMs ?? ageMs
      for (const [job, at] of ended as readonly (readonly [string, number])[]) {
        if (this.#postponed.has(job)) continue
        found.push({ job, type, endedAt: at, dueAt: at + keptMs + 1 })
      }
    }
    return found.toSorted((a, b) => a.endedAt - b.endedAt)
  }

  async #count(connection: Connection): Promise<void> {
    const { count, types } = this.#retention
    const begunUs = nowUs()
    const [result] = await connection.run([{ sql: this.#sql.countEndedByType, values: [] }])
    this.#surplus = -count
    this.#surplusOf.clear()
    for (const [type, number] of (result?.rows ?? []) as readonly (readonly [string, number])[]) {
      this.#surplus += number
      const most = types?.[type]?.count
      if (most !== undefined) this.#surplusOf.set(type, number - most)
    }
    const endedUs = nowUs()
    this.#countUs = endedUs + (endedUs - begunUs) * COUNTS_ONE_IN
  }
}
