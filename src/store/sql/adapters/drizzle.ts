/**
 * A transaction of Drizzle, on PostgreSQL or SQLite.
 */
import { BadRequest } from '../../errors.ts'
import type { SqlParameter, UserTransaction } from '../../user-transaction.ts'
import { givesRows } from './sqlite.ts'

/** What is used of Drizzle's `sql`. */
export interface DrizzleSql {
  raw(text: string): unknown
  param(value: unknown): unknown
  join(parts: never[]): unknown
}

/** What is used of the `tx` of `db.transaction(async (tx) => …)`. A `db` cannot be rolled back. */
export type DrizzleTransaction =
  | { execute(query: never): PromiseLike<unknown>; rollback(): never }
  | { all(query: never): unknown; run(query: never): unknown; rollback(): never }

const PARAMETER = /\$(\d+)|\?/g

/** Drizzle takes texts and parameters in turns, and numbers the parameters itself. */
function statement(sql: DrizzleSql, text: string, parameters: readonly SqlParameter[]): never {
  const parts: unknown[] = []
  let end = 0
  let next = 0
  for (const { 0: mark, 1: number, index } of text.matchAll(PARAMETER)) {
    const place = number === undefined ? next++ : Number(number) - 1
    parts.push(sql.raw(text.slice(end, index)), sql.param(parameters[place]))
    end = index + mark.length
  }
  parts.push(sql.raw(text.slice(end)))
  return sql.join(parts as never[]) as never
}

function rowsIn(answer: unknown): readonly object[] {
  const rows = Array.isArray(answer) ? answer : (answer as { rows?: unknown } | null)?.rows
  return (rows ?? []) as readonly object[]
}

/** The `tx` of `db.transaction(async (tx) => …)`, and `sql` as `drizzle-orm` exports it. */
export function fromDrizzle(transaction: DrizzleTransaction, sql: DrizzleSql): UserTransaction {
  if (typeof transaction?.rollback !== 'function' || typeof sql?.param !== 'function') {
    throw new BadRequest(
      'fromDrizzle() needs the `tx` of `db.transaction(async (tx) => …)`, and `sql` of drizzle-orm.',
    )
  }
  return {
    connection: transaction,
    async query(text, parameters) {
      const query = statement(sql, text, parameters)
      if ('execute' in transaction) return rowsIn(await transaction.execute(query))
      if (givesRows(text)) return rowsIn(await transaction.all(query))
      await transaction.run(query)
      return []
    },
  }
}
