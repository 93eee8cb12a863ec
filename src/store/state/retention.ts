/**
 * Retention: which jobs that are over are to be forgotten. It only says so, and `decide` has
 * the last word.
 *
 * Jobs of one kind (one type, and the same word of their own) are kept by one rule, so those
 * that ended first go first: looking costs as much as there are kinds, not as there are jobs.
 * When nothing is due it is known from when on something may be, and until then a look costs
 * nothing.
 */
import type { Command } from '../../kernel/index.ts'
import type { JobKind, FinishedTable, FinishedKind } from '../../log/index.ts'
import { CorruptLog, MalformedBytes } from '../../log/index.ts'
import { Heap } from '../ready/indexed-queue.ts'

export interface Retention {
  /** How long a job that is over stays readable, if it did not say so itself. */
  readonly ageMs: number
  /** How many jobs that are over stay readable, the newest, of all types together. */
  readonly count: number
  /** Of single types: their own age, and how many of them at most. */
  readonly types?: { readonly [type: string]: Partial<Omit<Retention, 'types'>> }
}

/** What was refused is asked for again after so long: its origin may be recorded by then. */
const POSTPONED_MS = 60_000

export class Forgetting {
  /** Refused, and when to ask again. */
  readonly #postponed = new Map<string, number>()
  #rules: Retention | null = null
  /** Nothing is due before this time, unless more than `#room` jobs come to their ends. */
  #quietUntil = 0
  #room = 0
  /** Told why a job cannot be read: it stays, and others go. */
  onUnreadable: (error: Error) => void = () => undefined

  /** One more job is over. */
  added(kind: JobKind, endedAt: number): void {
    this.#room -= 1
    if (this.#rules === null) return
    this.#quietUntil = Math.min(this.#quietUntil, dueAt(kind, endedAt, this.#rules))
  }

  /** Forgetting a job was refused. */
  postpone(id: string, now: number): void {
    this.#postponed.set(id, now + POSTPONED_MS)
  }

  /** At most `limit` commands, for the jobs that ended first. Asking changes nothing. */
  due(
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
    const job = oldest.take()
    heap.movedAt(0)
    if (job === null) continue
    commands.push({ type: 'ForgetJob', job, endedBefore: endedAt + 1 })
    surplus.less(kind.type)
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

/** Goes through jobs of a kind in the order of their ends: it is ranked by the next one's. */
class Cursor {
  /** When the job ended that it stands at; Infinity: behind the last. */
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
    this.#stop()
  }

  /** The id of the job that it stands at, and goes on; null: it cannot be read. */
  take(): string | null {
    const id = this.#idOf(this.#table.nthEnded(this.#number, this.#at))
    this.#at += 1
    this.#stop()
    return id
  }

  /** At the next job that is to be named. */
  #stop(): void {
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

  less(type: string): void {
    this.#all -= 1
    const known = this.#ofType.get(type)
    if (known !== undefined) this.#ofType.set(type, known - 1)
  }
}
