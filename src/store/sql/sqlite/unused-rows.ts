/**
 * How rows that say nothing any more are found and taken away on SQLite: see `../upkeep/unused-rows.ts`.
 */
export const UNUSED = {
  limitsAfter: 'select key, held, full_at, wake_at from limits where key > ? order by key limit ?',
  deleteLimits: `
    delete from limits where key = ?1 and held = 0 and full_at <= ?2 and wake_at is null`,
  groupTurnsAfter: `
    select s.channel, s.level, s.grp, s.turn,
      (select x.turn from work x where x.channel = s.channel and x.level = s.level
        and x.turn is not null and x.parked is null order by x.turn limit 1),
      (select max(n.turn) from shares n where n.channel = s.channel and n.level = s.level)
    from shares s where (s.channel, s.level, s.grp) > (?, ?, ?)
    order by s.channel, s.level, s.grp limit ?`,
  deleteGroupTurns:
    'delete from shares where channel = ?1 and level = ?2 and grp = ?3 and turn = ?4',
} as const
