/**
 * What a store on a database is told of the database: its statements, and how to reach it.
 */
import type { Connection } from './connection.ts'
import type { Statements } from './statements.ts'

export interface Dialect {
  readonly statements: Statements
  /** A new connection, with everything set as the statements expect. */
  connect(): Promise<Connection>
  /** How many transactions may be under way at once. */
  readonly lanes: number
  /** How often somebody looks whether others wrote something. */
  readonly pollMs: number
  /** The tables, as steps that are taken in order. */
  readonly steps: readonly (readonly string[])[]
  /** Makes room for the tables, and keeps everybody else from making them, until the transaction ends. */
  readonly prepare: readonly string[]
  /** → 1 if the tables are there, else 0. */
  readonly hasTables: string
  /** version. */
  readonly setVersion: string
}
