/** A pipeline: each item is taken out of the stock and packed, and then the parcel gets its label. */
import type { ClientBase } from 'pg'
import { pipeline, typed } from '../../src/index.ts'
import { weigh } from './outside.ts'

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
    run: async ({ segment: sku, commit }) => {
      const grams = await weigh(sku)
      // Done twice, this would be wrong: it is done with the commit of the segment, which is done once.
      return commit({ sku, grams }).with(async (client: ClientBase) => {
        await client.query('update shop.stock set on_hand = on_hand - 1 where sku = $1', [sku])
      })
    },
  })
  .stage('label', {
    after: 'pack',
    run: async ({ input: { orderId }, outputs, commit }) => {
      const packed = await outputs.pack.toArray()
      const label = `${orderId}, ${packed.reduce((sum, { grams }) => sum + grams, 0)} g`
      return commit(label).with(async (client: ClientBase) => {
        const update = `update shop.orders set state = 'shipped', label = $2 where id = $1`
        await client.query(update, [orderId, label])
        await client.query(`insert into shop.history values ($1, 'shipped')`, [orderId])
      })
    },
  })
