/**
 * A process that opens a connection and a listener, waits for one answer, and closes nothing: it
 * must end by itself, after the answer.
 */
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import { PostgresListener } from '../../src/store/sql/postgres/notifier.ts'

const url = process.argv[2] ?? ''
const nothing = (): void => undefined
await new PostgresListener({
  url,
  channel: 'idle',
  onNotification: nothing,
  onGap: nothing,
}).listen()
console.log('listening')
const connection = await openConnection({ url })
await connection.run([{ sql: 'select pg_sleep(0.3)', values: [] }])
console.log('slept')
