/** The nightly report: what was ordered until its due time. */
import type { ClientBase } from 'pg'
import { job, TerminalError } from '../../src/index.ts'

const INSERT = `
  insert into shop.reports
  select $1, count(*), coalesce(sum(cents), 0) from shop.orders where placed_at < $1
`

export const report = job('report', {
  run: ({ job: { schedule }, commit }) => {
    // The due time, not the clock: a report that runs late is the same.
    if (schedule === null) throw new TerminalError('Only its schedule submits a report.')
    return commit(null).with(async (client: ClientBase) => {
      await client.query(INSERT, [schedule.time])
    })
  },
})
