/**
 * Loads what a transaction needs, in as few round trips as there are things that follow from others.
 */
import type { Job } from '../../kernel/index.ts'
import { stagesOf } from '../../kernel/index.ts'
import type { Answered, Ask, Connection, Row } from './connection.ts'
import { NotLoaded } from './known.ts'
import type { Loaded } from './loaded.ts'
import type { Needs } from './needs.ts'
import { loadedColumns } from './rows.ts'
import type { SavingParts } from './saving.ts'
import { LoadedTallies } from './tallies.ts'

/** A part of a load: what is asked, and what is done with the answers. */
interface Part {
  readonly ask: Ask
  readonly take: (rows: readonly Row[]) => void
}

/** So many loads that follow from each other; more would be a bug. */
const MOST_ROUNDS = 8

export class Loading {
  readonly #connection: Connection
  readonly #loaded: Loaded
  readonly #parts: SavingParts

  constructor(connection: Connection, parts: SavingParts, loaded: Loaded) {
    this.#connection = connection
    this.#parts = parts
    this.#loaded = loaded
  }

  /**
   * Loads until nothing is missing. `first` is sent ahead of the first load, and `last` behind each, so
   * that it is answered AFTER the last lock: the answers to `last`.
   */
  async load(
    missing: () => Needs,
    first: readonly Ask[],
    last: readonly Ask[],
  ): Promise<readonly Answered[]> {
    let needs = missing()
    let answers = await this.#round(needs, first, last)
    for (let round = 1; ; round++) {
      needs = missing()
      if (needs.isEmpty) return answers
      if (round === MOST_ROUNDS) throw new NotLoaded('Something that is not to be found')
      answers = await this.#round(needs, [], last)
    }
  }

  /** The tasks of these pipelines that FAILED or are DEAD: why they end. */
  async loadTroubled(jobs: ReadonlySet<string>): Promise<void> {
    const rows = [...jobs].map((id) => [id])
    const [answered] = await this.#connection.run([{ sql: this.#parts.sql.troubled, rows }])
    for (const row of answered?.rows ?? []) this.#loaded.takeRow(loadedColumns(row))
  }

  async #round(
    needs: Needs,
    first: readonly Ask[],
    last: readonly Ask[],
  ): Promise<readonly Answered[]> {
    const parts = this.#partsOf(needs)
    const asks = [...first, ...parts.map(({ ask }) => ask), ...last]
    const answers = await this.#connection.run(asks)
    parts.forEach(({ take }, i) => take((answers[first.length + i] as Answered).rows))
    return answers.slice(first.length + parts.length)
  }

  #partsOf(needs: Needs): Part[] {
    const { sql } = this.#parts
    const parts: Part[] = []
    const add = (
      text: string,
      rows: readonly Row[],
      take: (rows: readonly Row[]) => void,
    ): void => {
      if (rows.length > 0) parts.push({ ask: { sql: text, rows }, take })
    }
    const own = named(needs.ownQueues)
    // In one order everywhere: queues, rows, keys, schedules, limits.
    add(sql.lockQueues, own, () => undefined)
    add(sql.shareQueues, named(needs.queues), () => undefined)
    const queues = [...own, ...named(needs.queues)]
    add(sql.queues, queues, (rows) => this.#takeQueues(queues, rows))
    add(sql.heldInQueues, queues, (rows) => this.#takeHeld(queues, rows))
    add(sql.seeQueues, named(needs.ranks), (rows) => this.#lookAtQueues(needs.ranks, rows))
    const seen = [...needs.seen].flatMap(([key, row]) => (needs.locked.has(key) ? [] : [row]))
    add(sql.seeRows, seen, (rows) => this.#takeRows(seen, rows))
    const locked = [...needs.locked.values()]
    add(sql.lockRows, locked, (rows) => this.#takeRows(locked, rows))
    add(sql.lockKeys, named(needs.keys), (rows) => this.#takeKeys(needs.keys, rows))
    add(sql.tallies, named(needs.tallies), (rows) => this.#takeTallies(needs.tallies, rows))
    const schedules = named(needs.schedules)
    add(sql.lockSchedules, schedules, (rows) => this.#takeSchedules(needs.schedules, rows))
    const limits = named(needs.limits)
    add(sql.makeLimits, limits, () => undefined)
    add(sql.lockLimits, limits, (rows) => this.#takeLimits(rows))
    return parts
  }

  #takeRows(asked: readonly Row[], rows: readonly Row[]): void {
    const found = rows.map((row) => loadedColumns(row))
    // A job comes before its segments.
    for (const columns of found.toSorted((a, b) => a.stage - b.stage)) this.#loaded.takeRow(columns)
    for (const [job] of asked) this.#loaded.jobs.isAbsent(job as string)
  }

  #takeKeys(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    for (const row of rows) {
      this.#loaded.takeRow(loadedColumns(row, 1))
      this.#loaded.keys.set(row[0] as string, row[1] as string)
    }
    for (const key of asked) this.#loaded.keys.isAbsent(key)
  }

  #takeTallies(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    for (const id of asked) {
      const job = this.#loaded.jobs.get(id) as Job
      const tallies = new LoadedTallies(stagesOf(job).length)
      for (const row of rows) if (row[0] === id) tallies.take(row)
      this.#loaded.takeTallies(job, tallies)
    }
  }

  #takeQueues(asked: readonly Row[], rows: readonly Row[]): void {
    for (const [name, record, fullAt] of rows) {
      const queue = this.#parts.records.queue(record as Uint8Array, name as string)
      this.#loaded.takeQueue(queue, fullAt as number)
      this.#parts.queues.know(queue)
    }
    for (const [name] of asked) this.#loaded.queues.isAbsent(name as string)
  }

  /** Only to know how they rank what waits in them. */
  #lookAtQueues(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    const { records, queues } = this.#parts
    for (const name of asked) queues.knowAbsent(name)
    for (const [name, record] of rows)
      queues.know(records.queue(record as Uint8Array, name as string))
  }

  /** AFTER the queues themselves. */
  #takeHeld(asked: readonly Row[], rows: readonly Row[]): void {
    const held = new Map(rows.map((row) => [row[0] as string, row[1] as number]))
    for (const row of asked) {
      const name = row[0] as string
      const fullAt = this.#loaded.queueUsage(name)?.fullAt ?? 0
      this.#loaded.takeQueueUsage(name, held.get(name) ?? 0, fullAt)
    }
  }

  #takeSchedules(asked: ReadonlySet<string>, rows: readonly Row[]): void {
    for (const [id, record] of rows) {
      const schedule = this.#parts.records.schedule(record as Uint8Array, id as string)
      this.#loaded.takeSchedule(schedule)
    }
    for (const id of asked) this.#loaded.schedules.isAbsent(id)
  }

  #takeLimits(rows: readonly Row[]): void {
    for (const [key, held, fullAt] of rows) {
      this.#loaded.usage.set(key as string, { held: held as number, fullAt: fullAt as number })
    }
  }
}

function named(names: ReadonlySet<string>): Row[] {
  return [...names].map((name) => [name])
}
