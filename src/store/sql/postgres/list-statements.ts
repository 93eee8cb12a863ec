/** Lists of jobs on PostgreSQL. */
import type { Lists } from '../list-statements.ts'
import { listStatements } from '../list-statements.ts'
import { loaded } from './loaded-columns.ts'

const submitted = '(select e.record from events e where e.position = w.position)'

export const LISTS: Lists = listStatements({
  position: '$1::int8',
  most: '$2::int4',
  name: '$3::text',
  // `offset 0`: see `rowsOf`. A parameter that a source has no use for still needs a type.
  page: (jobs, direction) => `
    select ${loaded}, ${submitted} as spec from (${jobs}) c
    cross join lateral (
      select * from work x where x.job = c.job and x.stage = -1 and x.segment = 0 offset 0
    ) w
    where w.position = c.position and ($3::text is null or true)
      and ($4::text is null or w.type = $4::text)
      and ($5::text is null or w.queue = $5::text or w.state = 'PIPELINE')
      and ($6::text is null or w.state = $6::text or w.state = 'PIPELINE')
      and ($7::int8 is null or w.over_at >= $7::int8 or w.state = 'PIPELINE')
      and ($8::int8 is null or w.over_at < $8::int8 or w.state = 'PIPELINE')
    order by c.position ${direction} limit $9::int4`,
})
