/**
 * What the web server and the worker agree on: the shape of an order, and the policy of its job. This
 * file imports no handler, so the web server needs nothing of what the worker does.
 */
import { contract, typed } from '../../src/index.ts'

export interface Item {
  readonly sku: string
  readonly cents: number
}

export interface Order {
  readonly id: string
  readonly tenant: string
  readonly mail: string
  readonly items: readonly Item[]
}

export const order = contract('order', {
  input: typed<Order>(),
  output: typed<{ cents: number }>(),
  // If a worker dies over a payment, its request may still be on its way. The lease is how long Pawl waits
  // before the next worker asks the card processor. A worker that lives extends it.
  lease: '5s',
  retry: { max: 5, backoff: 'exponential', delay: '200ms' },
  limits: ({ input }) => [
    // The card processor takes no more than 20 requests in a second, for all tenants together.
    { key: 'card-processor', rate: { count: 20, per: '1s' } },
    { key: `tenant ${input.tenant}`, concurrency: 3 },
  ],
  // A tenant with a thousand orders does not keep the others waiting.
  group: ({ input }) => input.tenant,
})

export function totalOf({ items }: Order): number {
  return items.reduce((sum, { cents }) => sum + cents, 0)
}
