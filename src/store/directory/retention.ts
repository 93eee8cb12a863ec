/**
 * Retention: which jobs that are over are to be forgotten. It only names them, and `decide` has
 * the last word.
 *
 * Jobs of one kind (one type, and the same `retainMs`) are kept by one rule, so those that ended
 * first are forgotten first: the cost grows with the kinds, not with the jobs. When nothing is due,
 * it is known from when on something may be, and until then asking costs nothing.
 */
import type { Command } from '../../kernel/index.ts'
import type { JobKind, FinishedTable, FinishedKind } from '../../log/index.ts'
import { CorruptLog, MalformedBytes } from '../../log/index.ts'
import type { Retention } from '../store.ts'
import { Heap } from '../ready/indexed-queue.ts'

/** A job that could not be forgotten is named again after so long: its parent may have ended. */
const POSTPONED_MS = 60_000

export class RetentionPlanner {
  /** Jobs that could not be forgotten, and when to name them again. */
  readonly #postponed = new Map<string, number>()
  #rules: Retention | null = null
  /** Nothing is due before this time, unless more than `#room` jobs come to their ends. */
  #quietUntil = 0
  #room = 0
  /** Called when a job cannot be read: it stays, and others are forgotten. */
  onUnreadable: (error: Error) => void = () => undefined

  /** One more job is over. */
  jobEnded(kind: JobKind, endedAt: number): void {
    this.#room -= 1
    if (this.#rules === null) return
    this.#quietUntil = Math.min(this.#quietUntil, dueAt(kind, endedAt, this.#rules))
  }

  /** Forgetting a job was refused. */
  postpone(id: string, now: number): void {
    this.#postponed.set(id, now + POSTPONED_MS)
  }

  /** At most `limit` commands, for the jobs that ended first. Asking changes nothing. */
  dueCommands(
    tables: readonly FinishedTable[],
    retention: Retention,
    now: number,
    limit: number,
  ): Command[] {
    const isQuiet = retention === this.#rules && now < this.#quietUntil && this.#room >= 0
    if (isQuiet || limit <= 0) return []
    for (const [id, until] of this.#postponed) if (until <= now) this.#postponed.delete(id)
    const cursors = tables.flatMap((table) =>
      table.kinds.map((_, kind) => this.#cursor(table, kind)),
    )
    const surplus = new Surplus(retention, tables)
    const commands = commandsFor(cursors, surplus, retention, now, limit)
    this.#rules = retention
    // As long as what was named is there, it is named again.
    this.#quietUntil = commands.length > 0 ? 0 : this.#nextDue(cursors, retention)
    this.#room = surplus.room
    return commands
  }

  #nextDue(cursors: readonly Cursor[], retention: Retention): number {
    let next = Infinity
    for (const until of this.#postponed.values()) next = Math.min(next, until)
    for (const { kind, dueAt: endedAt } of cursors) {
      next = Math.min(next, dueAt(kind, endedAt, retention))
    }
    return next
  }

  #cursor(table: FinishedTable, kind: number): Cursor {
    const isLeft = (row: number): boolean => {
      if (table.isGone(row)) return false
      if (this.#postponed.size === 0) return true
      const id = this.#idOf(table, row)
      return id === null || !this.#postponed.has(id)
    }
    return new Cursor(table, kind, isLeft, (row) => this.#idOf(table, row))
  }

  #idOf(table: FinishedTable, row: number): string | null {
    try {
      return table.idOf(row)
    } catch (error) {
      // A disk that fails is another matter: it may answer the next time.
      if (!isDamage(error)) throw error
      this.onUnreadable(error as Error)
      return null
    }
  }
}

function commandsFor(
  cursors: readonly Cursor[],
  surplus: Surplus,
  retention: Retention,
  now: number,
  limit: number,
): Command[] {
  const commands: Command[] = []
  const mayGo = ({ kind, dueAt: endedAt }: Cursor): boolean =>
    endedAt < now && (dueAt(kind, endedAt, retention) <= now || surplus.has(kind.type))
  const heap = new Heap<Cursor>((a, b) => a.dueAt < b.dueAt)
  for (const cursor of cursors) if (mayGo(cursor)) heap.push(cursor)
  while (commands.length < limit) {
    const [oldest] = heap.items
    if (oldest === undefined) break
    if (!mayGo(oldest)) {
      heap.removeAt(0)
      continue
    }
    const { kind, dueAt: endedAt } = oldest
    const job = oldest.takeId()
    heap.movedAt(0)
    if (job === null) continue
    commands.push({ type: 'ForgetJob', job, endedBefore: endedAt + 1 })
    surplus.subtract(kind.type)
  }
  return commands
}

function isDamage(error: unknown): boolean {
  return error instanceof CorruptLog || error instanceof MalformedBytes
}

/** When a job was kept long enough. */
function dueAt({ type, retainMs }: JobKind, endedAt: number, { ageMs, types }: Retention): number {
  return endedAt + (retainMs ?? types?.[type]?.ageMs ?? ageMs) + 1
}

/** Goes through jobs of a kind in the order of their ends, and is ranked by the end of the next. */
class Cursor {
  /** When the next job ended; Infinity: behind the last. */
  dueAt = Infinity
  readonly kind: FinishedKind
  readonly #table: FinishedTable
  readonly #number: number
  readonly #isLeft: (row: number) => boolean
  readonly #idOf: (row: number) => string | null
  #at: number

  constructor(
    table: FinishedTable,
    number: number,
    isLeft: (row: number) => boolean,
    idOf: (row: number) => string | null,
  ) {
    this.kind = table.kinds[number] as FinishedKind
    this.#table = table
    this.#number = number
    this.#isLeft = isLeft
    this.#idOf = idOf
    this.#at = table.firstLeft(number)
    this.#skipGone()
  }

  /** The id of the next job, and goes on; null: it cannot be read. */
  takeId(): string | null {
    const id = this.#idOf(this.#table.nthEnded(this.#number, this.#at))
    this.#at += 1
    this.#skipGone()
    return id
  }

  /** Goes on to a job that is to be named. */
  #skipGone(): void {
    const { rows } = this.kind
    while (this.#at < rows && !this.#isLeft(this.#table.nthEnded(this.#number, this.#at))) {
      this.#at += 1
    }
    this.dueAt =
      this.#at < rows ? this.#table.endedAt(this.#table.nthEnded(this.#number, this.#at)) : Infinity
  }
}

/** How many jobs there are too many: of all, and of types that have a bound of their own. */
class Surplus {
  #all: number
  readonly #ofType = new Map<string, number>()

  constructor({ count, types = {} }: Retention, tables: readonly FinishedTable[]) {
    this.#all = -count
    for (const [type, rule] of Object.entries(types)) {
      if (rule.count !== undefined) this.#ofType.set(type, -rule.count)
    }
    for (const table of tables) {
      this.#all += table.left
      if (this.#ofType.size === 0) continue
      for (const [kind, { type }] of table.kinds.entries()) {
        const known = this.#ofType.get(type)
        if (known !== undefined) this.#ofType.set(type, known + table.leftOf(kind))
      }
    }
  }

  /** How many more jobs may come before there are too many of any. */
  get room(): number {
    let most = this.#all
    for (const one of this.#ofType.values()) most = Math.max(most, one)
    return -most
  }

  has(type: string): boolean {
    return this.#all > 0 || (this.#ofType.get(type) ?? 0) > 0
  }

  subtract(type: string): void {
    this.#all -= 1
    const known = this.#ofType.get(type)
    if (known !== undefined) this.#ofType.set(type, known - 1)
  }
}
