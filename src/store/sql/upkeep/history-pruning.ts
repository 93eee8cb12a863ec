/**
 * Removes events whose time is over, so that the history has an end:
 * - of jobs that were forgotten, all of them, with the baselines that they began with;
 * - of schedules, which are folded into a baseline before.
 *
 * Jobs that are there keep all their events, which hold what was submitted and their steps; queues keep
 * theirs, which say how each task may be ranked.
 *
 * - at rest: no round is under way. A round begins when enough has become old. It is decided once for the
 *   round up to where: `HistoryMark`.
 * - in a round: passes the events up to there, from the first one on, a portion in a transaction. What was
 *   forgotten is known for all of them, because every transaction up to there is over: so the `JobForgotten`
 *   of a job is removed AFTER all its other events, and what is left of it can be told from a loss.
 *
 * Any process may go on with a round. Of two that remove the same portion one comes first, and the other one
 * changes nothing. A database that does not let it delete leaves it to others.
 */
import { nowUs } from '../../clock.ts'
import type { Connection, Row, Statement } from '../connection.ts'
import type { Dialect } from '../dialect.ts'
import { SqlFailed } from '../failures.ts'
import type { Baseline, EventRow, HistoryMark } from '../rows/event-rows.ts'
import { baseline, baselineColumns, eventRow, historyMark, readEvent } from '../rows/event-rows.ts'
import type { Records } from '../rows/records.ts'
import { NO_LISTENER } from '../verify/job-fold.ts'
import { QueueScheduleFold } from '../verify/queue-and-schedule-check.ts'

/** Events that one transaction removes, and that it passes at most to find them. */
const PORTION = 500
const MOST_PASSED = 5_000
/** Portions of one call take so long; then it rests four times as long as they took. */
const MOST_US = 200_000
const REST_FACTOR = 4
/** Between two looks at whether a round may begin. */
const PAUSE_US = 60_000_000
/** The same while transactions are under way that may have forgotten a job. */
const SETTLING_US = 1_000_000
/** After the database refused it: rights may be given later, and a refusal may have had another cause. */
const DENIED_US = 3_600_000_000
/** A round passes all events that are old, also those that stay: so it begins when as much more is old. */
const ROUNDS_IN_HISTORY = 10
const SHORTEST_ROUND_MS = 60_000

/** Events of schedules that are folded, with the baselines that stand for them. */
interface FoldedSchedules {
  readonly positions: readonly number[]
  readonly baselines: readonly Baseline[]
}

const NOTHING_FOLDED: FoldedSchedules = { positions: [], baselines: [] }

export class HistoryPruning {
  readonly #dialect: Dialect
  readonly #records: Records
  readonly #historyMs: number
  /** No entry will come at or before `position` once all transactions before the number `before` are over. */
  #fence: { readonly position: number; readonly before: number } | null = null
  #nextUs: number

  /** `historyMs`: how long events are kept; Infinity: for ever. */
  constructor(dialect: Dialect, records: Records, historyMs: number) {
    this.#dialect = dialect
    this.#records = records
    this.#historyMs = historyMs
    this.#nextUs = historyMs === Infinity ? Infinity : 0
  }

  get isDue(): boolean {
    return nowUs() >= this.#nextUs
  }

  async pruneIfDue(connection: Connection, now: number): Promise<void> {
    if (!this.isDue) return
    const begunUs = nowUs()
    let isMore = true
    try {
      while (isMore && nowUs() - begunUs < MOST_US) isMore = await this.#prune(connection, now)
      const tookUs = nowUs() - begunUs
      const restUs = this.#fence === null ? PAUSE_US : SETTLING_US
      this.#nextUs = nowUs() + (isMore ? REST_FACTOR * tookUs : restUs)
    } catch (error) {
      const reason = error instanceof SqlFailed ? error.reason : null
      // Another process removes them, or has the right to.
      if (reason !== 'conflict' && reason !== 'denied') throw error
      this.#nextUs = nowUs() + (reason === 'denied' ? DENIED_US : SETTLING_US)
    }
  }

  /** Whether there is more to do at once. */
  async #prune(connection: Connection, now: number): Promise<boolean> {
    const [found] = await connection.run([{ sql: this.#dialect.history.read, values: [] }])
    const mark = historyMark(found?.rows[0])
    return mark.passed < mark.through
      ? this.#removePortion(connection, mark)
      : this.#beginRound(connection, mark, now)
  }

  async #beginRound(connection: Connection, mark: HistoryMark, now: number): Promise<boolean> {
    const olderThan = now - this.#historyMs
    const roundMs = Math.max(SHORTEST_ROUND_MS, this.#historyMs / ROUNDS_IN_HISTORY)
    if (olderThan - mark.olderThan < roundMs) return false
    // The rest is looked for only if there is something.
    const next = await this.#eventFrom(connection, mark.through + 1)
    if (next === null || next.at >= olderThan) return false
    const settled = await this.#settled(connection)
    if (settled === null) return false
    const through = await this.#newestOlder(connection, mark.through, settled, olderThan)
    if (through === mark.through) return false
    await this.#write(connection, [this.#move(mark, { through, olderThan, passed: 0 })])
    return true
  }

  /** Up to here all transactions are over; null: that is not known yet. */
  async #settled(connection: Connection): Promise<number | null> {
    const { horizon, fence } = this.#dialect.statements
    for (let look = 0; look < 2; look++) {
      if (this.#fence === null) {
        const [drawn] = await connection.run([{ sql: fence, values: [] }])
        const [before = 0, position = 0] = (drawn?.rows[0] ?? []) as readonly number[]
        this.#fence = { before, position }
      }
      const [over] = await connection.run([{ sql: horizon, values: [] }])
      const [oldest = 0] = (over?.rows[0] ?? []) as readonly number[]
      if (oldest >= this.#fence.before) {
        const { position } = this.#fence
        this.#fence = null
        return position
      }
    }
    return null
  }

  /** The newest event up to `most` that is older. Times grow with positions, so it need not read them all. */
  async #newestOlder(
    connection: Connection,
    from: number,
    most: number,
    olderThan: number,
  ): Promise<number> {
    let low = from
    let high = most
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const event = await this.#eventFrom(connection, middle)
      if (event !== null && event.position <= high && event.at < olderThan) low = event.position
      else high = middle - 1
    }
    return low
  }

  async #eventFrom(
    connection: Connection,
    position: number,
  ): Promise<{ position: number; at: number } | null> {
    const { eventFrom } = this.#dialect.history
    const [found] = await connection.run([{ sql: eventFrom, values: [position] }])
    const row = found?.rows[0] as readonly [number, number] | undefined
    return row === undefined ? null : { position: row[0], at: row[1] }
  }

  async #removePortion(connection: Connection, mark: HistoryMark): Promise<boolean> {
    const { removable, passed } = this.#dialect.history
    const among = [mark.passed, mark.through, MOST_PASSED]
    const [found, read] = await connection.run([
      { sql: removable, values: [...among, PORTION] },
      { sql: passed, values: among },
    ])
    const events = (found?.rows ?? []).map(eventRow)
    const [count, last] = (read?.rows[0] ?? [0, null]) as readonly [number, number | null]
    const lastPassed = count === MOST_PASSED ? (last as number) : mark.through
    const end = events.length === PORTION ? (events.at(-1) as EventRow).position : lastPassed
    const folded = await this.#foldSchedules(
      connection,
      events.filter(({ job }) => job === null),
    )
    await this.#write(connection, [
      this.#move(mark, { ...mark, passed: end }),
      ...this.#removals(events, folded),
    ])
    return end < mark.through
  }

  #removals(events: readonly EventRow[], folded: FoldedSchedules): Statement[] {
    const { statements: sql, history } = this.#dialect
    const ofJobs = events.filter(({ job }) => job !== null)
    const forgotten = ofJobs.filter(({ type }) => type === 'JobForgotten')
    const others = ofJobs.filter(({ type }) => type !== 'JobForgotten')
    const { positions, baselines } = folded
    return [
      { sql: sql.insertBaselines, rows: baselines.map(baselineColumns) },
      {
        sql: history.deleteScheduleBaselines,
        rows: baselines.map(({ name, through }) => [name, through]),
      },
      {
        sql: history.deleteEvents,
        rows: [...others.map(({ position }) => position), ...positions].map((at) => [at]),
      },
      {
        sql: history.deleteJobBaselines,
        rows: forgotten.map(({ job, position }): Row => [job, position]),
      },
      // LAST: by these the database knows that the others may be deleted.
      { sql: history.deleteEvents, rows: forgotten.map(({ position }) => [position]) },
    ]
  }

  /** None of them, if one is damaged or does not fit: it stays for a person to see. */
  async #foldSchedules(
    connection: Connection,
    events: readonly EventRow[],
  ): Promise<FoldedSchedules> {
    if (events.length === 0) return NOTHING_FOLDED
    const newest = new Map<string, number>()
    for (const event of events) {
      const { entry } = readEvent(event, this.#records)
      if (entry !== null && 'schedule' in entry) newest.set(entry.schedule, event.position)
    }
    const { scheduleBaselines } = this.#dialect.history
    const rows = [...newest.keys()].map((name) => [name])
    const [found] = await connection.run([{ sql: scheduleBaselines, rows }])
    const before = (found?.rows ?? []).map(baseline)
    const fold = new QueueScheduleFold(before, this.#records, NO_LISTENER)
    for (const event of events) fold.apply(event)
    if (fold.wrong.length > 0) return NOTHING_FOLDED
    const baselines = [...newest].flatMap(([name, through]): Baseline[] => {
      const schedule = fold.schedules.get(name)
      const isNewer = before.every((one) => one.name !== name || one.through < through)
      if (schedule === undefined || !isNewer) return []
      const record = this.#records.ofSchedule(schedule)
      return [{ kind: 'schedule', name, stage: 0, segment: 0, through, lastPosition: 0, record }]
    })
    return { positions: events.map(({ position }) => position), baselines }
  }

  #move(before: HistoryMark, { through, olderThan, passed }: HistoryMark): Statement {
    const rows = [[through, olderThan, passed, before.through, before.passed]]
    return { sql: this.#dialect.history.move, rows, expect: 1 }
  }

  async #write(connection: Connection, statements: readonly Statement[]): Promise<void> {
    const { begin, commit, rollback } = this.#dialect.statements
    try {
      await connection.run([{ sql: begin, values: [] }, ...statements, { sql: commit, values: [] }])
    } catch (error) {
      await connection.run([{ sql: rollback, values: [] }]).catch(() => undefined)
      throw error
    }
  }
}
