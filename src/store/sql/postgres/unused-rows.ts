/**
 * How rows that say nothing any more are found and taken away on PostgreSQL: see
 * `../upkeep/unused-rows.ts`. What somebody has locked is passed, and nobody is waited for.
 */
import { inChannel } from './channel-hash.ts'

export const UNUSED = {
  limitsAfter: `
    select key, held, full_at, wake_at from limits where key > $1::text order by key limit $2::int4`,
  deleteLimits: `
    delete from limits l using (
      select x.key from unnest($1::text[], $2::float8[]) as given (name, full_by)
      join limits x on x.key = given.name
      where x.held = 0 and x.full_at <= given.full_by and x.wake_at is null
      for update of x skip locked
    ) as free where l.key = free.key`,
  groupTurnsAfter: `
    select s.channel, s.level, s.grp, s.turn,
      (select x.turn from work x where ${inChannel('s.channel')} and x.level = s.level
        and x.turn is not null and x.parked is null order by x.turn limit 1),
      (select max(n.turn) from shares n where n.channel = s.channel and n.level = s.level)
    from shares s where (s.channel, s.level, s.grp) > ($1::text, $2::int4, $3::text)
    order by s.channel, s.level, s.grp limit $4::int4`,
  deleteGroupTurns: `
    delete from shares s using (
      select x.channel, x.level, x.grp
      from unnest($1::text[], $2::int4[], $3::text[], $4::int8[]) as given (channel, level, grp, turn)
      join shares x on x.channel = given.channel and x.level = given.level and x.grp = given.grp
      where x.turn = given.turn
      for update of x skip locked
    ) as passed
    where s.channel = passed.channel and s.level = passed.level and s.grp = passed.grp`,
} as const
