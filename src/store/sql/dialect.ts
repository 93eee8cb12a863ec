/**
 * What a store on a database is told of it: its statements, how to reach it, and what it can do.
 */
import type { News, StoreNotice } from '../notice.ts'
import type { Presence } from '../presence.ts'
import type { Availability } from './availability.ts'
import type { UserTransaction } from '../user-transaction.ts'
import type { Statement, ClientConnection, Connection } from './connection.ts'
import type {
  ErasureStatements,
  HistoryStatements,
  JobCheckStatements,
  SnapshotStatements,
  Statements,
} from './statements.ts'
import type { Lists } from './list-statements.ts'

/** How long a store waits for a database that is away, or that another process has locked. */
export const MOST_AWAY_MS = 30_000

/** Notifies other processes, and is notified by them. */
export interface Notifier {
  /** False: it only notifies others, and the store finds out by itself what they did. */
  readonly hears: boolean
  /** A process that misses it finds out by itself, a little later. */
  notify(news: News): void
  /** AFTER everything was sent. */
  close(): Promise<void>
}

/** What presence needs of the store. */
export interface PresenceParts {
  readonly run: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  /** The authority's time, as well as it is known here. */
  readonly now: () => number
  /** Begins to listen for news, if nothing did so yet. */
  readonly listen: () => void
  readonly onNotice: (notice: StoreNotice) => void
}

/** How a store takes part in the user's transaction, and a user in the store's. */
export interface UserTransactionDialect {
  /** For connections without the settings of the store's own. */
  readonly statements: Statements
  connection(transaction: UserTransaction): Connection
  /**
   * Throws `TransactionFailed` unless a transaction is under way. Takes the lock that every writer must
   * have, if there is one.
   */
  setSavepoint(connection: Connection): Promise<void>
  /** AFTER `setSavepoint`: throws `TransactionFailed` if the user's connection and the store's do not see each other's locks. */
  assertSafe(): void
  /** Notifies the processes of the store with this id, once the transaction is committed. */
  notify(id: string, news: News): readonly Statement[]
  /** A new connection without settings, to be lent to a user. */
  connect(): Promise<ClientConnection>
  /** How many users may write at once. */
  readonly connections: number
  /** See `ConnectionPool`. */
  readonly mostConflicts?: number
  /** From here on a statement, or a pause between two, may take so long in this transaction. */
  limitDuration(ms: number): readonly Statement[]
  /** Whether an error of a user's write says that another transaction wrote first. */
  isConflict(error: unknown): boolean
}

/** Checks of what was known before a transaction began: each is → a row if it still holds. */
export interface Preconditions {
  /** position: the last entry stands there. */
  readonly isLast: string
  /** queue, version: the queue has this version; 0: it was never configured. */
  readonly isQueue: string
}

/**
 * How often jobs were forgotten. An optimistic submit takes its id to be new. Without this, another
 * transaction could submit and forget a job with the id meanwhile, at later positions, unnoticed.
 */
export interface ForgetCount {
  /** → how often. */
  readonly read: string
  /** count: fails with a conflict unless it is still the same. */
  readonly assertSame: string
  /** Counts at once, also if the transaction is rolled back. */
  readonly increment: string
}

/** For a database that keeps old versions of rows. */
export interface VacuumTables {
  /** → about how many old versions there are. */
  readonly count: string
  /** On its own, outside of a transaction. */
  readonly run: string
}

/** How a database that is a file is checked, which has no tools of its own. */
export interface FileCheck {
  /** → what is wrong, and the index to make anew, or null if that does not help. */
  readonly run: string
  /** Make all indexes anew, in a transaction. They fail where rows are there twice that may not be. */
  readonly makeIndexes: readonly string[]
}

/** How far a database was acknowledged, as something outside of it says. */
export interface AcknowledgedMark {
  readonly storeId: string
  readonly position: number
}

/** For a database that cannot tell by itself that its newest commits are lost. */
export interface AcknowledgedMarks {
  /** Null: nothing is known. BEFORE the database is opened, or read: it never runs ahead of that. */
  read(): AcknowledgedMark | null
  /** What was acknowledged behind the position is given up. */
  replace(storeId: string, position: number): void
}

export interface Dialect {
  /** The database, for people: the beginning of a sentence. */
  readonly where: string
  readonly statements: Statements
  readonly jobChecks: JobCheckStatements
  readonly erasure: ErasureStatements
  readonly history: HistoryStatements
  readonly snapshots: SnapshotStatements
  readonly lists: Lists
  /** A new connection, with everything set as the statements expect. */
  connect(): Promise<Connection>
  readonly userTransactions: UserTransactionDialect
  /** How many transactions may be under way at once. */
  readonly connections: number
  /** See `ConnectionPool`. */
  readonly mostAwayMs?: number
  /** So many commands are worth another transaction while one is under way. */
  readonly manyCommands: number
  /**
   * Transactions run one after the other, and a connection runs what it is sent in order and leaves no
   * failed transaction open: what is known is checked with what is written. Left out: they overlap.
   */
  readonly preconditions?: Preconditions
  /** Left out: transactions do not overlap. */
  readonly forgetCount?: ForgetCount
  /** Left out: the database keeps no old versions of rows. */
  readonly vacuum?: VacuumTables
  /** Left out: the database has tools of its own. */
  readonly fileCheck?: FileCheck
  /** Left out: the database itself does not open without what it acknowledged. */
  readonly acknowledged?: AcknowledgedMarks
  /** The database itself remembers how many of the sorted events were read. */
  readonly hasCursor: boolean
  /** How often the store checks for what other processes wrote, and for what became due. */
  readonly pollMs: number
  /** Changes when any process wrote; cheaper than a read. Left out, or null: not known. */
  readonly signOfWrites?: () => string | null
  /**
   * Of the store with this id. It is not notified of what it sends itself, and when it begins to
   * listen it reports all news, because it may have missed some. Left out: entries are read instead.
   */
  readonly openNotifier?: (
    id: string,
    onHeard: (news: News) => void,
    presence: Presence | null,
    run: PresenceParts['run'],
  ) => Notifier
  /** → a text that changes when a transaction that wrote has ended: for a notifier that does not hear. */
  readonly writesSoFar?: string
  /** What the owner is to know of how the database is reached. */
  readonly notice?: () => StoreNotice | null
  /** Left out: it is a file, which is there or not. */
  readonly availability?: Availability
  readonly openPresence: (parts: PresenceParts) => Presence
  /** What makes the tables, in order: one list of statements for each version. */
  readonly migrations: readonly (readonly string[])[]
  /** Makes the schema, and keeps other processes from migrating until the transaction ends. */
  readonly prepare: readonly string[]
  /** → 1 if the tables are there, else 0. */
  readonly hasTables: string
  /** version. */
  readonly setVersion: string
}
