/**
 * Copies a store into another: a directory into a database, a database into a directory or another
 * database, with everything that is in it. Files of artifacts are no part of a store.
 *
 * The target must be empty, and does not open until the copy is whole. A directory must be closed; a
 * database is copied as it is at one moment.
 */
import { dialectAt, mustBeAt } from '../database-location.ts'
import type { OfflineOptions } from '../owned-folder.ts'
import { withDirectorySource } from './directory-source.ts'
import type { DirectoryTargetOptions } from './directory-target.ts'
import { copyIntoDirectory } from './directory-target.ts'
import { CopyByBackup } from '../../errors.ts'
import type { CopySource } from './copy-source.ts'
import { withSqlSource } from './sql-source.ts'
import type { Copied } from './sql-target.ts'
import { copyIntoSql } from './sql-target.ts'

export interface CopyOptions {
  /** Of a source on PostgreSQL. Default: `pawl`. */
  readonly fromSchema?: string
  /** Of a target on PostgreSQL. Default: `pawl`. */
  readonly toSchema?: string
  /** Called now and then with how much of the work is done. */
  readonly onProgress?: (done: number, total: number) => void
  /** Ports of a source that is a directory. */
  readonly from?: OfflineOptions
  /** Ports of a target that is a directory. */
  readonly to?: DirectoryTargetOptions
}

/** `from` and `to` are a folder, `sqlite:jobs.db` or `postgres://…`. */
export async function copyStore(
  from: string,
  to: string,
  options: CopyOptions = {},
): Promise<Copied> {
  const { onProgress = (): void => undefined } = options
  const source = isDatabase(from) ? mustBeAt(from, schemaOf(options.fromSchema)) : null
  const target = dialectAt(to, schemaOf(options.toSchema))
  const take = (given: CopySource): Promise<Copied> =>
    target === null
      ? copyIntoDirectory(given, to, options.to ?? {}, onProgress)
      : copyIntoSql(given, target, onProgress)
  if (source !== null) return withSqlSource(source, take)
  if (target === null) throw new CopyByBackup(from)
  return withDirectorySource(from, options.from ?? {}, take)
}

function isDatabase(location: string): boolean {
  return dialectAt(location, {}) !== null
}

function schemaOf(schema: string | undefined): { readonly schema?: string } {
  return schema === undefined ? {} : { schema }
}
