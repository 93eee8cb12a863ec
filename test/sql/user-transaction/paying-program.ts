/**
 * A program that pays orders: each job writes an order in the transaction of its commit. It says when
 * it has begun to write, and takes its time until it commits, so that a test can kill it then.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { ClientBase } from 'pg'
import { job, open, typed } from '../../../src/index.ts'

const [, , location = '', schema = '', table = ''] = process.argv
const PAUSE_MS = 15

export const pay = job('pay', {
  input: typed<string>(),
  lease: '1s',
  retry: { max: 20, delay: '1ms' },
  run: ({ input, commit }) =>
    commit(input).with(async (client: ClientBase | DatabaseSyncInstance) => {
      if ('query' in client) await client.query(`insert into ${table} values ($1, '')`, [input])
      else client.prepare(`insert into ${table} values (?, '')`).run(input)
      process.stdout.write(`writes ${input}\n`)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }),
})

if (location !== '') {
  const pawl = await open(location, schema === '' ? {} : { schema })
  // It begins when it is told to, and ends when it is told no more.
  process.stdin.once('data', () => pawl.work([pay], { concurrency: 4, poll: '50ms' }))
  process.stdin.once('end', () => void pawl.close())
}
