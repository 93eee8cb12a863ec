/**
 * What a store in a SQLite file is told of it.
 */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { systemClock } from '../../clock.ts'
import type { Dialect } from '../dialect.ts'
import { readAcknowledged, replaceAcknowledged } from './acknowledged-mark.ts'
import { openConnection } from './connection.ts'
import { SqlitePresence } from './presence.ts'
import { sqliteUserDialect } from './user-transaction.ts'
import { ERASURE } from './erasure-statements.ts'
import { HISTORY } from './history-statements.ts'
import { JOB_CHECKS } from './job-check-statements.ts'
import { STEPS } from './schema.ts'
import { LISTS } from './list-statements.ts'
import { SNAPSHOTS } from './snapshot-statements.ts'
import { CHECKS, FILE_CHECK, SQLITE } from './statements.ts'

const POLL_MS = 25

/**
 * What was written is seen by others only when the disk has it, which may take so long; and systems
 * note times so coarsely that two writes may look the same.
 */
const SETTLED_MS = 100

/**
 * Everything that is written is appended to this file; now and then it is written from its beginning.
 * Null: it says nothing. It was written not long ago, or is not to be seen: where the path is a link, it
 * stands beside what that leads to.
 */
function signOf(path: string): string | null {
  try {
    const { size, mtimeMs } = statSync(path)
    return systemClock.now() - mtimeMs < SETTLED_MS ? null : `${size}/${mtimeMs}`
  } catch {
    return null
  }
}

export function sqliteDialect(options: { readonly path: string }): Dialect {
  // Once: whoever goes to another folder later still means this file.
  const path = resolve(options.path)
  const wal = `${path}-wal`
  return {
    where: `The SQLite file ${path}`,
    statements: SQLITE,
    jobChecks: JOB_CHECKS,
    erasure: ERASURE,
    history: HISTORY,
    snapshots: SNAPSHOTS,
    lists: LISTS,
    connect: () => openConnection({ path }),
    userTransactions: sqliteUserDialect(path),
    // One writes at a time, whatever the number of connections.
    connections: 1,
    manyCommands: 250,
    preconditions: CHECKS,
    pollMs: POLL_MS,
    signOfWrites: () => signOf(wal),
    openPresence: (parts) => new SqlitePresence(`${path}-presence`, parts),
    fileCheck: FILE_CHECK,
    acknowledged: {
      read: () => readAcknowledged(path),
      replace: (storeId, position) => replaceAcknowledged(path, storeId, position),
    },
    hasCursor: false,
    migrations: STEPS,
    prepare: [],
    // A damaged page may hide the first; no other program has all of the others.
    hasTables: `
      select exists (select 1 from sqlite_master where type = 'table' and name = 'meta') or (
        select count(*) from sqlite_master where name in ('baselines', 'group_turns', 'pipelines')
      ) > 1`,
    setVersion: `
      insert into meta (name, value) values ('version', ?)
      on conflict (name) do update set value = excluded.value`,
  }
}
