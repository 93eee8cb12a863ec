/**
 * The statements by which what is stored of an erased job is redacted on SQLite, and the file is left
 * without what it held before.
 */
import type { ErasureStatements } from '../statements.ts'

export const ERASURE: ErasureStatements = {
  events: `
    with recursive chain (position, before) as (
      select e.position, e.before from work w join events e on e.position = w.last_position
      where w.job = ?1
      union
      select e.position, e.before from work w join events e on e.position = w.position
      where w.job = ?1
      union
      select e.position, e.before from chain c join events e on e.position = c.before
    ) select position from chain`,
  eventsBetween: 'select position from events where job = ?1 and position between ?2 and ?3',
  redactEvents: 'update events set record = ?2 where position = ?1',
  redactRows: 'update work set record = ?4 where job = ?1 and stage = ?2 and segment = ?3',
  redactBaselines: `
    update baselines set record = ?6
    where kind = ?1 and name = ?2 and stage = ?3 and segment = ?4 and through = ?5`,
  oldReaders: null,
  // The file is written anew, through the log, which is then emptied.
  compact: ['vacuum', 'pragma wal_checkpoint(truncate)'].map((run) => ({ run, mark: null })),
}
