/**
 * Transactions of the user's, by the library that they are of.
 */
export type { DrizzleSql, DrizzleTransaction } from './drizzle.ts'
export { fromDrizzle } from './drizzle.ts'
export type { KyselyTransaction } from './kysely.ts'
export { fromKysely } from './kysely.ts'
export type { PgClient } from './pg.ts'
export { fromPg } from './pg.ts'
export type { SyncDatabase } from './sqlite.ts'
export { fromSqlite, openSqlite } from './sqlite.ts'
