/**
 * Gives tasks that have become due their places in line.
 *
 * Groups take turns: each task of a group has a turn behind the one before it, and what is offered is
 * what has the smallest turn. A group that comes begins where the line is now, so it waits for about
 * one task of each other group, however much they have. Jobs without a group are one group, from
 * when the channel has any; until then their turn is 0, and nobody has to keep count.
 *
 * Turns are kept in the database (`shares`), and a place is a proposal: nothing wrong is granted when
 * two processes give the same turn.
 */
import type { Connection, Row } from '../connection.ts'
import type { RowState } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'

/** A task that is to stand in line. */
export interface TaskWithoutTurn {
  readonly row: Pick<RowState, 'turn'>
  readonly channel: string
  readonly level: number
  readonly group: string | null
}

/** The name of the group of those that have none. */
const UNGROUPED = ''

/** Gives newcomers their places. */
export interface TurnAssigner {
  /** True: turns were kept, and nobody else can take one until this is over. */
  assign(newcomers: readonly TaskWithoutTurn[], connection: Connection): Promise<boolean>
}

export class TurnAssignment implements TurnAssigner {
  readonly #sql: Statements
  /** Channels that were seen to have groups. */
  readonly #grouped = new Set<string>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /**
   * Without a look at what others have: no turn but where nobody keeps count. The others get theirs
   * when they are seen to be due, by the first claim. For transactions of which nobody knows how
   * long they take: a turn that is kept in the database would keep others waiting.
   */
  readonly withoutLocks: TurnAssigner = {
    assign: async (newcomers) => {
      for (const { row, channel, group } of newcomers) {
        if (group === null && !this.#grouped.has(channel)) row.turn = 0
      }
      return false
    },
  }

  /** Gives each of them its turn. */
  async assign(newcomers: readonly TaskWithoutTurn[], connection: Connection): Promise<boolean> {
    const byGroup = new Map<string, TaskWithoutTurn[]>()
    for (const one of newcomers) {
      if (one.group !== null) this.#grouped.add(one.channel)
      if (!this.#grouped.has(one.channel)) {
        one.row.turn = 0
        continue
      }
      const name = JSON.stringify([one.channel, one.level, one.group ?? UNGROUPED])
      const known = byGroup.get(name)
      if (known === undefined) byGroup.set(name, [one])
      else known.push(one)
    }
    if (byGroup.size > 0) await this.#assign(byGroup, connection)
    return byGroup.size > 0
  }

  async #assign(
    byGroup: ReadonlyMap<string, readonly TaskWithoutTurn[]>,
    connection: Connection,
  ): Promise<void> {
    // In one order, because they are locked.
    const names = [...byGroup.keys()].toSorted()
    const asked = names.map((name) => JSON.parse(name) as Row)
    const [answered] = await connection.run([{ sql: this.#sql.lockGroupTurns, rows: asked }])
    const saved: Row[] = []
    for (const [channel, level, group, own, first, newest] of answered?.rows ?? []) {
      const name = JSON.stringify([channel, level, group])
      let turn = Math.max(
        (own as number | null) === null ? 0 : (own as number) + 1,
        (first as number | null) ?? ((newest as number | null) ?? -1) + 1,
      )
      for (const { row } of byGroup.get(name) ?? []) row.turn = turn++
      saved.push([channel as string, level as number, group as string, turn - 1])
    }
    await connection.run([{ sql: this.#sql.saveGroupTurns, rows: saved }])
  }
}
