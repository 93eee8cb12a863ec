/**
 * Statements that every database takes word for word: they have no parameters.
 */
import type { Statements } from './statements.ts'

export const SAME = {
  commit: 'commit',
  rollback: 'rollback',
  savepoint: 'savepoint pawl',
  undo: 'rollback to savepoint pawl',
  release: 'release savepoint pawl',
  counts: `
    select (select count(*) from work where expires_at is not null),
      (select count(distinct job) from work where state = 'DEAD')`,
  // From kind to kind by the index, however many jobs are of each. The last of a type has no time.
  kinds: `
    with recursive types (type) as (
      select (select min(type) from work where over_at is not null)
      union all
      select (select min(w.type) from work w where w.over_at is not null and w.type > t.type)
      from types t where t.type is not null
    ), kinds (type, retain_ms) as (
      select t.type, (select min(w.retain_ms) from work w where w.over_at is not null and w.type = t.type)
      from types t where t.type is not null
      union all
      select k.type, (
        select min(w.retain_ms) from work w
        where w.over_at is not null and w.type = k.type and w.retain_ms > k.retain_ms
      ) from kinds k where k.retain_ms is not null
    ) select type, retain_ms from kinds`,
  overByType: 'select type, count(*) from work where over_at is not null group by type',
  countEvents: 'select count(*) from events',
  allQueues: 'select queue, version, record, is_limited, is_paused, full_at from queues',
  allSchedules: 'select schedule, version, record, is_set from schedules',
  allLimits: 'select key, held, full_at, wake_at from limits',
} satisfies Partial<Statements>
