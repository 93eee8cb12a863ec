/**
 * The worker. Start as many as you like, on any machine, and stop them at any moment: SIGTERM lets handlers
 * finish, then gives back what is left and ends the process, without a line here; after a SIGKILL
 * another worker goes on within seconds.
 */
import { open } from '../../src/index.ts'
import { createTables, DATABASE_URL } from './database.ts'
import { acceptOrder } from './order.ts'
import { report } from './report.ts'
import { shipment } from './shipment.ts'

await createTables()
const pawl = await open(DATABASE_URL)
await pawl.on('quarantined', ({ job, error }) => console.error(`${job}: ${error?.message}`))
pawl.work([acceptOrder, shipment, report], { concurrency: 10 })
await pawl.schedule('nightly-report', {
  job: report,
  cron: process.env['REPORT_CRON'] ?? '0 2 * * *',
  timezone: 'Europe/Berlin',
})
console.log('working')
