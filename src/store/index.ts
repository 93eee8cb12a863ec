/**
 * Stores: the interface that every store implements, and the one in memory.
 */
export type { Clock } from './clock.ts'
export { awakeClock, systemClock } from './clock.ts'
export type { FinishedJobSource } from './state/finished-job-source.ts'
export type { ClaimRequest, Journal } from './state/ledger.ts'
export { Ledger } from './state/ledger.ts'
export { DirectoryStore } from './directory/directory-store.ts'
export type { OpenedDirectory } from './directory/directory-store.ts'
export type { Retention } from './state/retention.ts'
export { MemoryStore } from './memory/memory-store.ts'
export type { Distribution } from './state/histogram.ts'
export type { Traffic } from './state/meters.ts'
export type { News, NewsKind } from './news.ts'
export type { StoreNotice } from './notice.ts'
export type { DirectoryOptions } from './directory/open-directory.ts'
export { openDirectory } from './directory/open-directory.ts'
export type { PostgresOptions, SqliteOptions, SqlOptions } from './sql/open-sql.ts'
export { openPostgres, openSqliteStore } from './sql/open-sql.ts'
export type { ChannelName } from './ready/ready-index.ts'
export type { Reservation, Taker } from './taker.ts'
export { FIRST_WITH_SUBMIT } from './taker.ts'
export { ReadyIndex } from './ready/ready-index.ts'
export type { SqlTrouble } from './sql/failures.ts'
export { SqlFailed } from './sql/failures.ts'
export { NewerTables } from './sql/tables.ts'
export { SqlStore } from './sql/sql-store.ts'
export type * from './store.ts'
export { BadRequest, StoreClosed } from './store.ts'
export { isThrough } from './views/job-views.ts'
export type { OfflineOptions } from './offline/owned-folder.ts'
export type { GivenUp, Problem, RepairReport, Salvage, Unreadable } from '../log/index.ts'
export {
  NotRepairable,
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
export type { RepairOptions } from './offline/repair-directory.ts'
export { repairDirectory } from './offline/repair-directory.ts'
export type { Moment, StateAt } from './offline/state-at.ts'
export { BeforeHistory, stateAt } from './offline/state-at.ts'
export * from './sql/adapters/index.ts'
export type {
  SqlParameter,
  SqlValue,
  TakesPart,
  UserTransaction,
  Writes,
} from './user-transaction.ts'
export { TransactionFailed, WritesFailed, WritesTooSlow } from './user-transaction.ts'
export type { VerifyOptions, VerifyReport } from './offline/verify-directory.ts'
export { verifyDirectory } from './offline/verify-directory.ts'
export type { DatabaseOptions } from './offline/database-location.ts'
export { NoSuchDatabase, repairDatabase, verifyDatabase } from './offline/database-location.ts'
export type { DatabaseProblem } from './sql/verify/database-problem.ts'
export type { DatabaseReport, VerifyDatabaseOptions } from './sql/verify/verify-database.ts'
export type {
  DatabaseRepairReport,
  GivenUpJob,
  RepairDatabaseOptions,
} from './sql/verify/repair-database.ts'
export { EventsDamaged } from './sql/verify/repair-database.ts'
export { DatabaseDamaged } from './sql/verify/check-on-open.ts'
export type { CopyOptions } from './offline/copy/copy-store.ts'
export { copyStore } from './offline/copy/copy-store.ts'
export type { Copied } from './offline/copy/sql-target.ts'
export { CopyByBackup, CopyUnfinished, NotEmpty, SourceDamaged } from './copy-errors.ts'
