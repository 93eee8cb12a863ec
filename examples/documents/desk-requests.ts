/**
 * What customers of the desk want, by chance.
 */
import type { Chance } from './chance.ts'
import { between, pick } from './chance.ts'
import type { ArrivingRefund } from './desk.ts'

const CUSTOMERS = ['ada', 'barbara', 'dorothy', 'katherine', 'margaret', 'radia'] as const
const COMPLAINTS = [
  'The parcel came three weeks late.',
  'The cup was broken when I opened the box.',
  'I ordered the blue one, and this is green.',
  'It does not fit the lamp that I have.',
  'I was charged for two, and got one.',
] as const
/** One of so many is too large for one person to decide. */
const LARGE_EVERY = 4

/** `number` counts from 1. */
export function arrivingRefund(number: number, random: Chance): ArrivingRefund {
  const isLarge = number % LARGE_EVERY === 0
  return {
    id: `refund-${number}`,
    customer: pick(CUSTOMERS, random),
    request: {
      order: `${between(10_000, 99_999, random)}`,
      cents: isLarge ? between(20_000, 90_000, random) : between(300, 9_900, random),
      why: pick(COMPLAINTS, random),
    },
  }
}
