/**
 * The statements by which events are removed whose time is over, on SQLite.
 */
import type { HistoryStatements } from '../statements.ts'
import {
  BASELINE_COLUMNS,
  EVENT_COLUMNS,
  isBaselineForgottenBy,
  isForgottenBy,
  OF_SCHEDULE,
} from '../statements.ts'

const baseline = BASELINE_COLUMNS.join(', ')
const event = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')
/** What is removed may be large, and is not read. */
const withoutRecord = event.replace('e.record', 'case when e.job is null then e.record end')

export const HISTORY: HistoryStatements = {
  read: 'select through, older_than, passed from history',
  move: `
    update history set through = ?1, older_than = ?2, passed = ?3 where through = ?4 and passed = ?5`,
  eventFrom: 'select position, at from events where position >= ? order by position limit 1',
  removable: `
    select ${withoutRecord} from (
      select * from events where position > ?1 and position <= ?2 order by position limit ?3
    ) e
    where e.position < (select max(position) from events) and (
      (e.job is null and e.type ${OF_SCHEDULE}) or ${isForgottenBy('e', '?2')}
    )
    order by e.position limit ?4`,
  passed: `
    select count(*), max(position) from (
      select position from events where position > ?1 and position <= ?2 order by position limit ?3
    )`,
  deleteEvents: 'delete from events where position = ?',
  scheduleBaselines: `
    select ${baseline} from baselines where kind = 'schedule' and name = ? order by through`,
  deleteScheduleBaselines: `
    delete from baselines where kind = 'schedule' and name = ?1 and through < ?2`,
  deleteJobBaselines: `
    delete from baselines where name = ?1 and kind in ('job', 'kept', 'gone') and through <= ?2`,
  keptEvents: `
    select ${event} from events e
    where e.position > ?1 and (e.position > ?2 or not ${isForgottenBy('e', '?2')})
    order by e.position limit ?3`,
  keptBaselines: `
    select ${baseline} from baselines b where b.kind = ?1
      and (b.kind in ('queue', 'schedule') or not ${isBaselineForgottenBy('b', '?2')})
    order by name, stage, segment, through`,
}
