/**
 * What a store on a database is told of the database: its statements, and how to reach it.
 */
import type { News } from '../news.ts'
import type { Connection } from './connection.ts'
import type { Statements } from './statements.ts'

/** Tells other processes, and hears what they tell. */
export interface Bell {
  /** Those who do not hear it find out by themselves, a little later. */
  ring(news: News): void
  /** What was rung before is told. */
  close(): Promise<void>
}

export interface Dialect {
  readonly statements: Statements
  /** A new connection, with everything set as the statements expect. */
  connect(): Promise<Connection>
  /** How many transactions may be under way at once. */
  readonly lanes: number
  /** It remembers by itself how many of the sorted events were read. */
  readonly hasCursor: boolean
  /** How often somebody looks whether others wrote something, or time made something due. */
  readonly pollMs: number
  /**
   * Of the store with this id. It hears its own ringing not, and it says that it may have missed
   * something when it begins to hear. Left out: there is none, and entries are looked for.
   */
  readonly openBell?: (id: string, onHeard: (news: News) => void) => Bell
  /** The tables, as steps that are taken in order. */
  readonly steps: readonly (readonly string[])[]
  /** Makes room for the tables, and keeps everybody else from making them, until the transaction ends. */
  readonly prepare: readonly string[]
  /** → 1 if the tables are there, else 0. */
  readonly hasTables: string
  /** version. */
  readonly setVersion: string
}
