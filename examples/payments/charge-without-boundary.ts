/**
 * What not to do: the handler charges by itself. Whoever dies between the charge and the return
 * is run again, and charges again.
 */
import { job, typed } from '../../src/index.ts'
import { chargeAtBank } from './bank-client.ts'
import type { Order } from './order.ts'
import { POLICY, priceOf } from './order.ts'

export const charge = job('charge', {
  input: typed<Order>(),
  ...POLICY,
  async run({ input, step }) {
    const cents = await step('price', () => priceOf(input))
    await chargeAtBank(input.order, cents, null)
    return { cents }
  },
})
