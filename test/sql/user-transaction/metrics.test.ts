/**
 * What is counted of a job that was submitted in the user's transaction: what becomes of it, and
 * not the submit. Whether that counts is for a commit to say that is not ours, and not told of.
 */
import { expect, it } from 'vitest'
import { fromSqlite, job, typed } from '../../../src/index.ts'
import { inSqlite, openSqliteShop } from './sqlite-shop.ts'

const invoice = job('invoice', { input: typed<string>(), run: ({ input }) => input })

it('a submit in your transaction is not counted, and all that follows is', async () => {
  const { pawl, database } = await openSqliteShop()
  const inside = await inSqlite(database, () =>
    pawl.submit(invoice, 'inside', { tx: fromSqlite(database) }),
  )
  const outside = await pawl.submit(invoice, 'outside')
  const worker = pawl.work([invoice])
  expect(await Promise.all([inside.result(), outside.result()])).toEqual(['inside', 'outside'])
  await worker.stop()
  const { entries, traffic } = await pawl.metrics()
  expect(entries.JobSubmitted).toBe(1)
  expect(entries.ExecutionCommitted).toBe(2)
  expect(traffic).toMatchObject([{ type: 'invoice', submitted: 1, granted: 2, committed: 2 }])
})
