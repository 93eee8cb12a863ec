/**
 * Retention: which jobs that are over are to be forgotten. It only says so, and `decide` has
 * the last word.
 *
 * Jobs of one kind (one type, and the same word of their own) are kept by one rule, so those
 * that ended first go first: looking costs as much as there are kinds, not as there are jobs.
 */
import type { Command } from '../kernel/index.ts'
import type { Kind, Rack, ShelfKind } from '../log/index.ts'

export interface Retention {
  /** How long a job that is over stays readable, if it did not say so itself. */
  readonly ageMs: number
  /** How many jobs that are over stay readable, the newest, of all types together. */
  readonly count: number
  /** Of single types: their own age, and how many of them at most. */
  readonly types?: { readonly [type: string]: Partial<Omit<Retention, 'types'>> }
}

export class Forgetting {
  /** How far each was looked through, by kind. */
  readonly #looked = new WeakMap<Rack, number[]>()

  /** At most `limit` commands, for the jobs that ended first. */
  due(racks: readonly Rack[], retention: Retention, now: number, limit: number): Command[] {
    const commands: Command[] = []
    const cursors = racks.flatMap((rack) => this.#cursors(rack))
    const surplus = new Surplus(retention, racks)
    while (commands.length < limit) {
      let oldest: Cursor | null = null
      for (const cursor of cursors) {
        if (cursor.endedAt >= (oldest?.endedAt ?? now)) continue
        if (isDue(cursor, retention, now) || surplus.has(cursor.kind.type)) oldest = cursor
      }
      if (oldest === null) break
      const { endedAt, kind } = oldest
      commands.push({ type: 'ForgetJob', job: oldest.take(), endedBefore: endedAt + 1 })
      surplus.less(kind.type)
    }
    return commands
  }

  #cursors(rack: Rack): Cursor[] {
    let looked = this.#looked.get(rack)
    if (looked === undefined) this.#looked.set(rack, (looked = []))
    return rack.kinds.map((_, kind) => {
      const at = leftFrom(rack, kind, looked[kind] ?? 0)
      looked[kind] = at
      return cursorOn(rack, kind, at)
    })
  }
}

/** Goes through jobs of a kind in the order of their ends. */
interface Cursor {
  readonly kind: Kind
  /** Of the job it stands at; Infinity: behind the last. */
  endedAt: number
  /** Gives that job's id, and goes on. */
  take(): string
}

function cursorOn(rack: Rack, kind: number, start: number): Cursor {
  const about = rack.kinds[kind] as ShelfKind
  let at = start
  const end = (): number => (at < about.rows ? rack.endedAt(rack.nthEnded(kind, at)) : Infinity)
  return {
    kind: about,
    endedAt: end(),
    take() {
      const id = rack.idOf(rack.nthEnded(kind, at))
      at = leftFrom(rack, kind, at + 1)
      this.endedAt = end()
      return id
    },
  }
}

/** The first place from here on, in the order of ends, whose job was not forgotten. */
function leftFrom(rack: Rack, kind: number, from: number): number {
  const { rows } = rack.kinds[kind] as ShelfKind
  let at = from
  while (at < rows && rack.isGone(rack.nthEnded(kind, at))) at += 1
  return at
}

/** Whether the job that a cursor stands at was kept long enough. */
function isDue({ kind, endedAt }: Cursor, { ageMs, types }: Retention, now: number): boolean {
  return endedAt < now - (kind.retainMs ?? types?.[kind.type]?.ageMs ?? ageMs)
}

/** How many jobs there are too many: of all, and of types that have a bound of their own. */
class Surplus {
  #all: number
  readonly #ofType = new Map<string, number>()

  constructor({ count, types = {} }: Retention, racks: readonly Rack[]) {
    this.#all = -count
    for (const [type, rule] of Object.entries(types)) {
      if (rule.count !== undefined) this.#ofType.set(type, -rule.count)
    }
    for (const rack of racks) {
      this.#all += rack.left
      if (this.#ofType.size === 0) continue
      for (const [kind, { type }] of rack.kinds.entries()) {
        const known = this.#ofType.get(type)
        if (known !== undefined) this.#ofType.set(type, known + rack.leftOf(kind))
      }
    }
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
