/**
 * An order and its job in one transaction, at both ends: the job is submitted with the order, and the
 * order is marked as paid with the commit of the job. Run it with `node scripts/run.mjs
 * examples/transaction/main.ts`; it leaves `shop.db` where it is run.
 */
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { fromSqlite, job, open, openSqlite, typed } from '../../src/index.ts'

const pay = job('pay', {
  input: typed<{ order: string; cents: number }>(),
  retry: { max: 3, delay: '10ms' },
  async run({ input, step, job: { attempt }, commit }) {
    // The work, outside of any transaction; what it gave is recorded.
    const receipt = await step('charge', () => `receipt for ${input.cents} cents`)
    return commit({ receipt }).with((database: DatabaseSyncInstance) => {
      database.prepare('update orders set receipt = ? where id = ?').run(receipt, input.order)
      // Whatever goes wrong here takes the commit with it: the order stays unpaid, and it is tried again.
      if (attempt === 1) throw new Error('The light went out.')
    })
  },
})

const pawl = await open('sqlite:shop.db')
const shop = openSqlite('shop.db')
shop.exec('create table if not exists orders (id text primary key, receipt text)')

/** The order and its job, or neither. */
async function place(order: string, cents: number): Promise<void> {
  shop.exec('begin immediate')
  try {
    shop.prepare('insert into orders (id) values (?)').run(order)
    await pawl.submit(pay, { order, cents }, { id: order, tx: fromSqlite(shop) })
    if (cents <= 0) throw new RangeError(`${cents} cents are no price.`)
    shop.exec('commit')
  } catch (error) {
    shop.exec('rollback')
    console.log(`order ${order}: ${(error as Error).message}`)
  }
}

function receiptOf(order: string): string {
  const row = shop.prepare('select receipt from orders where id = ?').get(order)
  if (row === undefined) return 'no such order'
  return (row as { receipt: string | null }).receipt ?? 'not paid'
}

await place('a-1', 1_200)
await place('a-2', -5)
console.log(`a-1: ${receiptOf('a-1')}`)
pawl.work([pay])
await pawl.handle('a-1', pay).result()
console.log(`a-1: ${receiptOf('a-1')}, in attempt ${(await pawl.get('a-1'))?.attempt}`)
console.log(`a-2: ${receiptOf('a-2')}, ${(await pawl.get('a-2')) === null ? 'no job' : 'a job'}`)
await pawl.close()
shop.close()
