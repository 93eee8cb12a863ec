/**
 * How those that wait for a limit are called on SQLite: `unpark` of `../statements.ts`.
 */

/** From channel to channel by the index, however many tasks wait in each. */
export const UNPARK = `
    update work set parked = null where rowid in (
      with recursive lanes (lane) as (
        select min(channel) from work where parked = ?1
        union all
        select (select min(channel) from work where parked = ?1 and channel > lane)
        from lanes where lane is not null
      )
      select x.rowid from lanes cross join work x
      where lane is not null and x.rowid in (
        select y.rowid from work y where y.parked = ?1 and y.channel = lane
        order by y.level desc, y.turn, y.rank, y.place limit ?2
      )
    )`
