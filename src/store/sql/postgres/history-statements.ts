/**
 * The statements by which events are removed whose time is over, on PostgreSQL.
 */
import type { HistoryStatements } from '../statements.ts'
import {
  BASELINE_COLUMNS,
  EVENT_COLUMNS,
  isBaselineForgottenBy,
  isForgottenBy,
  OF_SCHEDULE,
} from '../statements.ts'

const baseline = BASELINE_COLUMNS.map((column) => `b.${column}`).join(', ')
const event = EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')
/** What is removed may be large, and is not read. */
const withoutRecord = event.replace('e.record', 'case when e.job is null then e.record end')

export const HISTORY: HistoryStatements = {
  read: 'select through, older_than, passed from history',
  move: `
    with moved as (
      update history h set through = given.through, older_than = given.older_than, passed = given.passed
      from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[])
        as given (through, older_than, passed, through_before, passed_before)
      where h.through = given.through_before and h.passed = given.passed_before
      returning 1
    ) select as_expected(count(*), 1) from moved`,
  eventFrom: `
    select position, at from events where position >= $1::int8 order by position limit 1`,
  removable: `
    select ${withoutRecord} from (
      select * from events where position > $1::int8 and position <= $2::int8
      order by position limit $3::int4
    ) e
    where e.position < (select max(position) from events) and (
      (e.job is null and e.type ${OF_SCHEDULE}) or ${isForgottenBy('e', '$2::int8')}
    )
    order by e.position limit $4::int4`,
  passed: `
    select count(*), max(position) from (
      select position from events where position > $1::int8 and position <= $2::int8
      order by position limit $3::int4
    ) as passed`,
  deleteEvents: `
    delete from events e using unnest($1::int8[]) as given (position) where e.position = given.position`,
  scheduleBaselines: `
    select ${baseline} from unnest($1::text[]) as given (name)
    join baselines b on b.kind = 'schedule' and b.name = given.name order by b.name, b.through`,
  deleteScheduleBaselines: `
    delete from baselines b using unnest($1::text[], $2::int8[]) as given (name, through)
    where b.kind = 'schedule' and b.name = given.name and b.through < given.through`,
  deleteJobBaselines: `
    delete from baselines b using unnest($1::text[], $2::int8[]) as given (name, position)
    where b.name = given.name and b.kind in ('job', 'kept', 'gone') and b.through <= given.position`,
  keptEvents: `
    select ${event} from events e
    where e.position > $1::int8
      and (e.position > $2::int8 or not ${isForgottenBy('e', '$2::int8')})
    order by e.position limit $3::int4`,
  keptBaselines: `
    select ${baseline} from baselines b where b.kind = $1::text
      and (b.kind in ('queue', 'schedule') or not ${isBaselineForgottenBy('b', '$2::int8')})
    order by b.name, b.stage, b.segment, b.through`,
}
