/**
 * How those that wait for a limit are called on PostgreSQL: `unpark` of `../statements.ts`.
 */

import { channelHash } from './channel-hash.ts'

const lane = channelHash('y.channel')

/** From channel to channel by the index, however many tasks wait in each. */
export const UNPARK = `
    with recursive parked (key, most, now, lane) as (
      select given.name, given.most, given.now, first.lane
      from unnest($1::text[], $2::int4[], $3::int8[]) as given (name, most, now)
      cross join lateral (
        select ${lane} as lane from work y where y.parked = given.name order by 1 limit 1
      ) first
      union all
      select p.key, p.most, p.now, next.lane from parked p
      cross join lateral (
        select ${lane} as lane from work y where y.parked = p.key and ${lane} > p.lane
        order by 1 limit 1
      ) next
    ), best as materialized (
      select p.key, p.lane, x.job, x.stage, x.segment from parked p
      cross join lateral (
        select y.job, y.stage, y.segment from work y where y.parked = p.key and ${lane} = p.lane
        order by y.level desc, y.turn, y.rank, y.place limit p.most for update skip locked
      ) x
    ), called as (
      update work w set parked = null from best as given where w.job = given.job and w.stage = given.stage and w.segment = given.segment
    )
    update limits l set wake_at = least(l.wake_at, p.now) from parked p
    where l.key = p.key
      and (select count(*) from best b where b.key = p.key and b.lane = p.lane) < p.most
      and (
        select true from work y where y.parked = p.key and ${lane} = p.lane
          and not exists (
            select 1 from best b where b.job = y.job and b.stage = y.stage and b.segment = y.segment
          )
        limit 1
      )`
