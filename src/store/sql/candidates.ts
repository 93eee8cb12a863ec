/**
 * What a claim looks at: tasks that stand in line in its channels.
 */
import type { Ask, Row } from './connection.ts'
import type { LoadedColumns } from './rows.ts'
import { loadedColumns } from './rows.ts'
import type { Statements } from './statements.ts'

export interface Channel {
  readonly channel: string
  /** Only what has at least this one. */
  readonly level: number
  readonly most: number
}

export interface Candidate {
  readonly columns: LoadedColumns
  /** Where its entry will stand. */
  position: number
}

/** `now`: null: the database's own. */
export function look(
  { candidates }: Statements,
  channels: readonly Channel[],
  now: number | null,
): Ask {
  // The last is how many positions the channels before it may take.
  const rows = channels.map(({ channel, level, most }, i) => [channel, level, most, now, i * most])
  return { sql: candidates, rows }
}

/** The best first. SQLite answers channel by channel. */
export function inOrder(rows: readonly Row[]): Candidate[] {
  const found = rows.map((row) => ({
    columns: loadedColumns(row),
    position: row[10] as number,
    level: row[11] as number,
    rank: row[12] as number,
    place: row[13] as number,
  }))
  return found.toSorted(
    (a, b) =>
      b.level - a.level ||
      (a.columns.turn as number) - (b.columns.turn as number) ||
      a.rank - b.rank ||
      a.place - b.place ||
      a.columns.segment - b.columns.segment,
  )
}
