/**
 * The job: prepare, commit, and only then charge.
 *
 * Everything before the commit may run more than once, so it only computes. The charge is an
 * effect: promised by the commit, carried out after it, always under the same key.
 */
import { effect, job, typed } from '../../src/index.ts'
import { chargeAtBank, hasCharge } from './bank-client.ts'

export interface Order {
  readonly order: string
  readonly items: number
}

export type Mode = 'recognised' | 'reconciled' | 'without-boundary'

/** Short, so that work is soon taken up again; many, so that no kill uses them up. */
const policy = { lease: '1s', retry: { max: 100, delay: '100ms' } } as const
const CENTS_PER_ITEM = 495

const chargeCard = effect('charge-card', {
  input: typed<{ order: string; cents: number }>(),
  // The bank recognises the key: asking it again does no harm.
  idempotent: true,
  retry: policy.retry,
  run: ({ order, cents }, { key }) => chargeAtBank(order, cents, key),
})

const chargeCardOnce = effect('charge-card', {
  input: typed<{ order: string; cents: number }>(),
  // The bank does not recognise keys: if a worker died over a charge, it is asked first.
  reconcile: async (_, { key }) => ((await hasCharge(key)) ? 'happened' : 'again'),
  retry: policy.retry,
  run: ({ order, cents }, { key }) => chargeAtBank(order, cents, key),
})

export const charge = job('charge', {
  input: typed<Order>(),
  effects: [chargeCard],
  ...policy,
  async run({ input, step, commit }) {
    const cents = await step('price', () => input.items * CENTS_PER_ITEM)
    return commit({ cents }, [chargeCard({ order: input.order, cents })])
  },
})

export const chargeReconciled = job('charge', {
  input: typed<Order>(),
  effects: [chargeCardOnce],
  ...policy,
  async run({ input, step, commit }) {
    const cents = await step('price', () => input.items * CENTS_PER_ITEM)
    return commit({ cents }, [chargeCardOnce({ order: input.order, cents })])
  },
})

/** What not to do: whoever dies between the charge and the return charges again. */
export const chargeWithoutBoundary = job('charge', {
  input: typed<Order>(),
  ...policy,
  async run({ input, step }) {
    const cents = await step('price', () => input.items * CENTS_PER_ITEM)
    await chargeAtBank(input.order, cents, null)
    return { cents }
  },
})

export const CHARGES = {
  recognised: charge,
  reconciled: chargeReconciled,
  'without-boundary': chargeWithoutBoundary,
} as const satisfies Readonly<Record<Mode, unknown>>
