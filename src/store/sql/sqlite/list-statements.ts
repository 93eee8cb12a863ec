/** Lists of jobs on SQLite. */
import type { Lists } from '../list-statements.ts'
import { listStatements } from '../list-statements.ts'
import { loaded } from './loaded-columns.ts'

export const LISTS: Lists = listStatements({
  position: '?1',
  most: '?2',
  name: '?3',
  page: (jobs, direction) => `
    select ${loaded}, (select e.record from events e where e.position = w.position) as spec
    from (${jobs}) c join work w on w.job = c.job and w.stage = -1 and w.segment = 0
    where w.position = c.position
      and (?4 is null or w.type = ?4)
      and (?5 is null or w.queue = ?5 or w.state = 'PIPELINE')
      and (?6 is null or w.state = ?6 or w.state = 'PIPELINE')
      and (?7 is null or w.over_at >= ?7 or w.state = 'PIPELINE')
      and (?8 is null or w.over_at < ?8 or w.state = 'PIPELINE')
    order by c.position ${direction} limit ?9`,
})
