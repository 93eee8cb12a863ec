/**
 * The handler of the contract: it accepts the order. Its commit promises a payment, a mail and a shipment,
 * which follow in this order.
 */
import type { ClientBase } from 'pg'
import { child, effect, handle, typed } from '../../src/index.ts'
import { order, totalOf } from './contract.ts'
import { chargeCard, isCharged, sendMail } from './outside.ts'
import { shipment } from './shipment.ts'

/** Not idempotent: if a worker died over it, the next one asks the card processor first. */
const payment = effect('payment', {
  input: typed<{ orderId: string; cents: number }>(),
  retry: { max: 5, backoff: 'exponential', delay: '200ms' },
  run: ({ orderId, cents }, { key }) => chargeCard(key, orderId, cents),
  reconcile: async (_, { key }) => ((await isCharged(key)) ? 'happened' : 'again'),
})

const confirmation = effect('confirmation', {
  input: typed<{ orderId: string; recipient: string }>(),
  idempotent: true,
  run: ({ orderId, recipient }, { key }) => sendMail(key, orderId, recipient),
})

export const acceptOrder = handle(order, {
  effects: [payment, confirmation],
  run: ({ input, commit }) => {
    const { id: orderId, tenant, mail: recipient, items } = input
    const cents = totalOf(input)
    const effects = [payment({ orderId, cents }), confirmation({ orderId, recipient })]
    const children = [child(shipment, { orderId, tenant, skus: items.map(({ sku }) => sku) })]
    return commit({ cents }, effects, children).with(async (client: ClientBase) => {
      await client.query(`update shop.orders set state = 'accepted' where id = $1`, [orderId])
      await client.query(`insert into shop.history values ($1, 'accepted')`, [orderId])
    })
  },
})
