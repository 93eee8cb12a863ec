/**
 * Stores: the interface that every store implements, and the one in memory.
 */
export type { Clock } from './clock.ts'
export { awakeClock, systemClock } from './clock.ts'
export type { Elsewhere } from './elsewhere.ts'
export type { ClaimRequest, Journal } from './ledger.ts'
export { Ledger } from './ledger.ts'
export { DirectoryStore } from './directory.ts'
export type { Opening } from './directory.ts'
export type { Retention } from './retention.ts'
export { MemoryStore } from './memory.ts'
export type { Distribution } from './histogram.ts'
export type { Traffic } from './meters.ts'
export type { News, NewsKind } from './news.ts'
export type { Notice } from './notice.ts'
export type { DirectoryOptions } from './open-directory.ts'
export { openDirectory } from './open-directory.ts'
export type { PostgresOptions } from './postgres/open-postgres.ts'
export { openPostgres } from './postgres/open-postgres.ts'
export type { ChannelName } from './ready-index.ts'
export type { Reservation, Taker } from './taker.ts'
export { FIRST_WITH_SUBMIT } from './taker.ts'
export { ReadyIndex } from './ready-index.ts'
export type { SqliteOptions } from './sqlite/open-sqlite.ts'
export { openSqliteStore } from './sqlite/open-sqlite.ts'
export type { SqlTrouble } from './sql/failures.ts'
export { SqlFailed } from './sql/failures.ts'
export type { SqlOptions } from './sql/open-sql.ts'
export { NewerTables } from './sql/tables.ts'
export { SqlStore } from './sql/sql-store.ts'
export type * from './store.ts'
export { BadRequest, StoreClosed } from './store.ts'
export { isThrough } from './views.ts'
export type { OfflineOptions } from './owned.ts'
export type { GivenUp, Problem, RepairReport, Salvage, Unreadable } from '../log/index.ts'
export { NotRepairable } from '../log/index.ts'
export type { RepairOptions } from './repair-directory.ts'
export { repairDirectory } from './repair-directory.ts'
export type { Moment, StateAt } from './state-at.ts'
export { BeforeHistory, stateAt } from './state-at.ts'
export * from './adapters/index.ts'
export type {
  SqlParameter,
  SqlValue,
  TakesPart,
  UserTransaction,
  Writes,
} from './user-transaction.ts'
export { TransactionFailed, WritesFailed, WritesTooSlow } from './user-transaction.ts'
export type { VerifyOptions, VerifyReport } from './verify-directory.ts'
export { verifyDirectory } from './verify-directory.ts'
export type { DatabaseOptions } from './database.ts'
export { NoSuchDatabase, repairDatabase, verifyDatabase } from './database.ts'
export type { DatabaseProblem } from './sql/problems.ts'
export type { DatabaseReport, VerifyDatabaseOptions } from './sql/verify.ts'
export type { DatabaseRepairReport, GivenUpJob, RepairDatabaseOptions } from './sql/repair.ts'
export { EventsDamaged } from './sql/repair.ts'
export { DatabaseDamaged } from './sql/glance.ts'
export type { CopyOptions } from './copying/copy-store.ts'
export { copyStore } from './copying/copy-store.ts'
export type { Copied } from './copying/sql-target.ts'
export { CopyByBackup, CopyUnfinished, NotEmpty, SourceDamaged } from './copying/errors.ts'
export {
  CorruptLog,
  DirectoryInUse,
  DirectoryNotUsable,
  DiskFull,
  FolderNotEmpty,
  NewerEntry,
  NewerFormat,
  NoSuchPosition,
  StoreEnded,
  UnknownOutcome,
} from '../log/index.ts'
