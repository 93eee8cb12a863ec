/**
 * Stores: the interface that every store implements, the stores, and what is done to one that is
 * not open.
 */
export type { ClaimedRecord, ClaimedWaiting } from './claimed-record.ts'
export type { ChannelName, ClaimRequest } from './claim-request.ts'
export { FIRST_SUBMIT_CLAIM, isForSubmitClaim } from './claim-request.ts'
export type { ClaimWithSubmit, SubmitClaimer } from './command-batcher.ts'
export type { Clock } from './clock.ts'
export { awakeClock, systemClock } from './clock.ts'
export {
  BadRequest,
  CompactionIncomplete,
  CopyUnfinished,
  PartlyDone,
  StoreClosed,
} from './errors.ts'
export type { News, NewsKind, StoreNotice } from './notice.ts'
export type { HeardProcess, JobReport, Presence } from './presence.ts'
export type { Moment, OldestMoment } from './moment.ts'
export { BeforeHistory } from './moment.ts'
export type * from './read-model.ts'
export type * from './store.ts'
export type * from './metrics.ts'
export type { SqlParameter, SqlValue, UserTransaction, Writes } from './user-transaction.ts'
export { TransactionFailed, WritesFailed, WritesTooSlow } from './user-transaction.ts'

export type { FinishedJobSource } from './state/finished-job-source.ts'
export type { Journal } from './state/ledger.ts'
export { Ledger } from './state/ledger.ts'
export { ReadyIndex } from './ready/ready-index.ts'
export { isSettled } from './views/job-views.ts'
export { pastQueries } from './views/past-job.ts'
export { BOUNDS } from './state/metrics.ts'
export { totalsOf } from './state/totals.ts'

export { MemoryStore } from './memory/memory-store.ts'
export type { OpenedDirectory } from './directory/directory-store.ts'
export { DirectoryStore } from './directory/directory-store.ts'
export type { DirectoryOptions } from './directory/open-directory.ts'
export { openDirectory } from './directory/open-directory.ts'
export type { PostgresOptions, SqliteOptions, SqlOptions } from './sql/open-sql.ts'
export { openPostgres, openSqliteStore } from './sql/open-sql.ts'
export type { PostgresConnectionOptions } from './sql/postgres/address.ts'
export type { Migrated, MigrationPlace } from './sql/migrate.ts'
export { migrateDatabase, migrationSql } from './sql/migrate.ts'
export { SqlStore } from './sql/sql-store.ts'
export type { DatabaseProblem, SqlFailureReason } from './sql/failures.ts'
export { DatabaseDamaged, SqlFailed } from './sql/failures.ts'
export { CorruptRecord } from './sql/rows/records.ts'
export { NewerTables } from './sql/tables.ts'
export type {
  DrizzleSql,
  DrizzleTransaction,
  KyselyTransaction,
  PgClient,
  SyncDatabase,
} from './sql/user-transaction/adapters.ts'
export {
  fromDrizzle,
  fromKysely,
  fromPg,
  fromSqlite,
  openSqlite,
} from './sql/user-transaction/adapters.ts'

export type { OfflineOptions, RepairOptions } from './offline/owned-folder.ts'
export { repairDirectory } from './offline/owned-folder.ts'
export type { StateAt } from './offline/state-at.ts'
export { stateAt } from './offline/state-at.ts'
export type { VerifyOptions, VerifyReport } from './offline/verify-directory.ts'
export { verifyDirectory } from './offline/verify-directory.ts'
export type { DatabaseOptions } from './offline/database-location.ts'
export { NoSuchDatabase, repairDatabase, verifyDatabase } from './offline/database-location.ts'
export type { DatabaseReport, VerifyDatabaseOptions } from './sql/verify/verify-database.ts'
export type {
  DatabaseRepairReport,
  GivenUpJob,
  RepairDatabaseOptions,
} from './sql/verify/repair-database.ts'
export { EventsDamaged } from './sql/verify/repair-database.ts'
export { ServerFailed, ServerRefused, ServerUnreachable } from './http/errors.ts'
export type { CopyOptions } from './offline/copy/copy-store.ts'
export { copyStore } from './offline/copy/copy-store.ts'
export type { Copied } from './offline/copy/copy-source.ts'
export { CopyByBackup, NotEmpty, SourceDamaged } from './offline/copy/copy-source.ts'

export type { GivenUp, Problem, RepairReport, Salvage, Unreadable } from '../log/index.ts'
export {
  CorruptLog,
  DirectoryInUse,
  DirectoryNotUsable,
  DiskFull,
  eventLoopTurn,
  FolderNotEmpty,
  NewerEntry,
  NewerFormat,
  NoSuchPosition,
  NotRepairable,
  packageFile,
  PackageFileMissing,
  StoreEnded,
  UnknownOutcome,
} from '../log/index.ts'
