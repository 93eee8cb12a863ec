/**
 * An order, what it costs, and how patient the jobs of this example are.
 */

export interface Order {
  readonly order: string
  readonly items: number
}

const CENTS_PER_ITEM = 495

export function priceOf({ items }: Order): number {
  return items * CENTS_PER_ITEM
}

/** Short, so that work is soon taken up again; many, so that no kill uses them up. */
export const POLICY = { lease: '1s', retry: { max: 100, delay: '100ms' } } as const
