/**
 * A process that opens a connection and a doorbell, waits for one answer, and closes nothing: it
 * must end by itself, after the answer.
 */
import { openConnection } from '../../src/store/sql/postgres/connection.ts'
import { openListener } from '../../src/store/sql/postgres/listener.ts'

const url = process.argv[2] ?? ''
const nothing = (): void => undefined
await openListener({ url, channel: 'idle', onRing: nothing, onGap: nothing })
console.log('listening')
const connection = await openConnection({ url })
await connection.run([{ sql: 'select pg_sleep(0.3)', values: [] }])
console.log('slept')
