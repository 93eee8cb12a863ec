/**
 * The same for a bank that does not recognise keys, but can be asked about one.
 *
 * The charge is not idempotent. If a worker died over it, nobody knows whether it was made:
 * then, and only then, the bank is asked before it is made again.
 */
import { effect, job, typed } from '../../src/index.ts'
import { chargeAtBank, hasCharge } from './bank-client.ts'
import type { Order } from './order.ts'
import { POLICY, priceOf } from './order.ts'

const chargeCard = effect('charge-card', {
  input: typed<{ order: string; cents: number }>(),
  retry: POLICY.retry,
  run: ({ order, cents }, { key }) => chargeAtBank(order, cents, key),
  reconcile: async (_, { key }) => ((await hasCharge(key)) ? 'happened' : 'again'),
})

export const charge = job('charge', {
  input: typed<Order>(),
  effects: [chargeCard],
  ...POLICY,
  async run({ input, step, commit }) {
    const cents = await step('price', () => priceOf(input))
    return commit({ cents }, [chargeCard({ order: input.order, cents })])
  },
})
