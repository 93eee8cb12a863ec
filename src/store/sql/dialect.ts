/**
 * What a store on a database is told of the database: its statements, and how to reach it.
 */
import type { News } from '../news.ts'
import type { UserTransaction } from '../user-transaction.ts'
import type { Statement, ClientConnection, Connection } from './connection.ts'
import type { Statements } from './statements.ts'

/** How long a store waits for a database that is away, or that another process has locked. */
export const MOST_AWAY_MS = 30_000

/** Tells other processes, and hears what they tell. */
export interface Notifier {
  /** Those who do not hear it find out by themselves, a little later. */
  notify(news: News): void
  /** What was rung before is told. */
  close(): Promise<void>
}

/** How a store takes part in a transaction of the user's, and a user in one of the store. */
export interface UserTransactionDialect {
  /** For connections on which nothing is set as ours expect it. */
  readonly statements: Statements
  connection(transaction: UserTransaction): Connection
  /**
   * Sets a savepoint. Throws `TransactionFailed` unless a transaction is under way; takes the lock
   * that everybody who writes must have, if there is one.
   */
  setSavepoint(connection: Connection): Promise<void>
  /** AFTER `enter`: throws `TransactionFailed` if its locks are not seen here, and ours not there. */
  assertSafe(): void
  /** Tells the processes on the store with this id, once the transaction is committed. */
  notify(id: string, news: News): readonly Statement[]
  /** A new connection on which nothing is set, to be lent to a user. */
  connect(): Promise<ClientConnection>
  /** How many users may write at once. */
  readonly connections: number
  /** See `Lanes`. */
  readonly mostConflicts?: number
  /** From here on a statement, or doing nothing, may take so long in this transaction. */
  limitDuration(ms: number): readonly Statement[]
  /** What a user's write threw says that somebody else was quicker. */
  isConflict(error: unknown): boolean
}

/** Of what was known before a transaction began: each is → a row if it is still so. */
export interface Preconditions {
  /** position: that of the last entry. */
  readonly isLast: string
  /** queue, version: of this queue; 0: nobody configured it. */
  readonly isQueue: string
}

/**
 * How often jobs were forgotten: an id that is taken to be new may have been another job's, which was
 * forgotten meanwhile under a later position.
 */
export interface ForgetCount {
  /** → how often. */
  readonly read: string
  /** count: → a conflict unless it is still so. */
  readonly assertSame: string
  /** Once more; it counts at once, whatever becomes of the transaction. */
  readonly increment: string
}

/** How what was changed is cleared away, where it stays in the way. */
export interface VacuumTables {
  /** → about how many rows there are to be cleared away. */
  readonly count: string
  /** On its own, outside of a transaction. */
  readonly run: string
}

/** How a database is looked through that is a file, and whose indexes nobody else looks after. */
export interface FileCheck {
  /** → what is wrong, and the index that is to be made anew, or null if none would put it right. */
  readonly run: string
  /** Make all indexes anew, in a transaction. They fail where rows are there twice that may not be. */
  readonly makeIndexes: readonly string[]
}

export interface Dialect {
  readonly statements: Statements
  /** A new connection, with everything set as the statements expect. */
  connect(): Promise<Connection>
  readonly userTransactions: UserTransactionDialect
  /** How many transactions may be under way at once. */
  readonly connections: number
  /** See `Lanes`. */
  readonly mostAwayMs?: number
  /** So many commands are worth a transaction of their own while another one is under way. */
  readonly manyCommands: number
  /**
   * One transaction comes after the other, and a connection runs what it is sent in order, leaving no
   * transaction open that failed: what is known is checked with what is written. Left out: they overlap.
   */
  readonly preconditions?: Preconditions
  /** Left out: transactions do not overlap. */
  readonly forgetCount?: ForgetCount
  /** Left out: nothing stays. */
  readonly vacuum?: VacuumTables
  /** Left out: the database has tools of its own. */
  readonly fileCheck?: FileCheck
  /** It remembers by itself how many of the sorted events were read. */
  readonly hasCursor: boolean
  /** How often somebody looks whether others wrote something, or time made something due. */
  readonly pollMs: number
  /** Another one when somebody wrote meanwhile; cheaper than to look. Left out, or null: none. */
  readonly signOfWrites?: () => string | null
  /**
   * Of the store with this id. It hears its own ringing not, and it says that it may have missed
   * something when it begins to hear. Left out: there is none, and entries are looked for.
   */
  readonly openNotifier?: (id: string, onHeard: (news: News) => void) => Notifier
  /** The tables, as steps that are taken in order. */
  readonly migrations: readonly (readonly string[])[]
  /** Makes room for the tables, and keeps everybody else from making them, until the transaction ends. */
  readonly prepare: readonly string[]
  /** → 1 if the tables are there, else 0. */
  readonly hasTables: string
  /** version. */
  readonly setVersion: string
}
