/**
 * The job: prepare, commit, and only then charge.
 *
 * Everything before the commit may run more than once, so it only computes. The charge is an
 * effect: promised by the commit, carried out after it, always under the same key.
 */
import { effect, job, typed } from '../../src/index.ts'
import { chargeAtBank } from './bank-client.ts'
import type { Order } from './order.ts'
import { POLICY, priceOf } from './order.ts'

const chargeCard = effect('charge-card', {
  input: typed<{ order: string; cents: number }>(),
  // The bank recognises the key: asking it again does no harm.
  idempotent: true,
  retry: POLICY.retry,
  run: ({ order, cents }, { key }) => chargeAtBank(order, cents, key),
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
