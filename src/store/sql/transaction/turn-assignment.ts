/**
 * Gives turns to tasks that have become due: with a turn, a task is ready for a claim.
 *
 * Groups take turns: each task of a group has the turn behind the one before it, and a claim takes the
 * smallest turn first. A group's first task begins at the smallest turn that is ready, or that waits for one
 * of its own limits, so it waits for about one task of each other group, however many they have. Jobs without a
 * group count as one group once the channel has groups; until then their turn is 0, and none is kept in
 * the database.
 *
 * Turns are proposals: nothing wrong is granted when two processes give the same turn.
 */
import type { Connection, Row } from '../connection.ts'
import type { RowState } from '../rows/work-rows.ts'
import { channelName } from '../rows/work-rows.ts'
import type { Statements } from '../statements.ts'

export interface TaskWithoutTurn {
  readonly row: Pick<RowState, 'turn'>
  readonly channel: string
  readonly level: number
  readonly group: string | null
  /** The keys of its limits. */
  readonly limits: readonly string[]
}

/** The group of jobs that have none. */
const UNGROUPED = ''

export interface TurnAssigner {
  /** False: plain jobs of this queue and type that are due, and have no group, have the turn 0. */
  mayHaveGroups(queue: string, type: string): boolean
  /** True: rows of turns are locked until the transaction is over. */
  assign(tasks: readonly TaskWithoutTurn[], connection: Connection): Promise<boolean>
}

export class TurnAssignment implements TurnAssigner {
  readonly #sql: Statements
  /** Channels that were seen to have groups. */
  readonly #grouped = new Set<string>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /**
   * Only for tasks of channels without groups; the first claim that finds the others due gives them
   * their turns. For the user's transactions: the locks of turns would keep claims waiting until
   * the user commits.
   */
  readonly withoutLocks: TurnAssigner = {
    mayHaveGroups: (queue, type) => this.mayHaveGroups(queue, type),
    assign: async (tasks) => {
      for (const { row, channel, group } of tasks) {
        if (group === null && !this.#grouped.has(channel)) row.turn = 0
      }
      return false
    },
  }

  mayHaveGroups(queue: string, type: string): boolean {
    return this.#grouped.size > 0 && this.#grouped.has(channelName(queue, type, null))
  }

  async assign(tasks: readonly TaskWithoutTurn[], connection: Connection): Promise<boolean> {
    const byGroup = new Map<string, TaskWithoutTurn[]>()
    for (const one of tasks) {
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
    if (byGroup.size > 0) await this.#assignByGroup(byGroup, connection)
    return byGroup.size > 0
  }

  async #assignByGroup(
    byGroup: ReadonlyMap<string, readonly TaskWithoutTurn[]>,
    connection: Connection,
  ): Promise<void> {
    // In one order everywhere, because they are locked.
    const names = [...byGroup.keys()].toSorted()
    const rows = names.map((name): Row => {
      const limits = (byGroup.get(name) ?? []).flatMap((task) => task.limits)
      const keys = limits.length === 0 ? null : JSON.stringify([...new Set(limits)])
      return [...(JSON.parse(name) as Row), keys]
    })
    const [turns] = await connection.run([{ sql: this.#sql.lockGroupTurns, rows }])
    const begins = new Map((turns?.rows ?? []).map((row) => [JSON.stringify(row.slice(0, 3)), row]))
    const [known, unknown]: [Row[], Row[]] = [[], []]
    for (const name of names) {
      const [channel, level, group, own, start] = begins.get(name) as Row
      let turn = Math.max(((own as number | null) ?? -1) + 1, start as number)
      for (const { row } of byGroup.get(name) ?? []) row.turn = turn++
      const last = [channel as string, level as number, group as string, turn - 1]
      if (own === null) unknown.push(last)
      else known.push(last)
    }
    // If the row of a known one was deleted meanwhile, its group begins like one that is new.
    const writes = [
      { sql: this.#sql.raiseGroupTurns, rows: known },
      { sql: this.#sql.saveGroupTurns, rows: unknown },
    ]
    await connection.run(writes.filter(({ rows: some }) => some.length > 0))
  }
}
