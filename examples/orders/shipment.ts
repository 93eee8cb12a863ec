/** A pipeline: each item is taken out of the stock and packed, and then the parcel gets its label. */
import type { ClientBase } from 'pg'
import { pipeline, typed } from '../../src/index.ts'

interface Shipment {
  readonly orderId: string
  readonly tenant: string
  readonly skus: readonly string[]
}

export const shipment = pipeline('shipment', {
  input: typed<Shipment>(),
  group: ({ input }) => input.tenant,
})
  .stage('pack', {
    each: 'input.skus',
    run: ({ segment: sku, index, commit }) =>
      // Done twice, this would be wrong: it is done with the commit of the segment, which is done once.
      commit(`${index + 1}. ${sku}`).with(async (client: ClientBase) => {
        await client.query('update shop.stock set on_hand = on_hand - 1 where sku = $1', [sku])
      }),
  })
  .stage('label', {
    after: 'pack',
    run: async ({ input: { orderId }, outputs, commit }) => {
      const label = `${orderId}: ${(await outputs.pack.toArray()).join(', ')}`
      return commit(label).with(async (client: ClientBase) => {
        const update = `update shop.orders set state = 'shipped', label = $2 where id = $1`
        await client.query(update, [orderId, label])
        await client.query(`insert into shop.history values ($1, 'shipped')`, [orderId])
      })
    },
  })
