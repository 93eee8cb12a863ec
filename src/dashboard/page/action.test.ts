/** What is typed into the dialog of an action, and what stands in it at first. */
import { expect, it } from 'vitest'
import { toMs } from '../../definition/duration.ts'
import type { Duration } from '../../definition/duration.ts'
import { rateIn, typedRate } from './action.ts'

it.each([1, 250, 500, 1_000, 1_500, 60_000, 90_001])(
  'takes a rate per %i ms as it is filled in',
  (perMs) => {
    const { count, per } = rateIn(typedRate({ count: 10, perMs })) ?? {}
    expect([count, toMs(per as Duration, 'per')]).toEqual([10, perMs])
  },
)

it('takes a rate per second, and per some of them', () => {
  expect(rateIn('10/s')).toEqual({ count: 10, per: '1s' })
  expect(rateIn('5 per 2 m')).toEqual({ count: 5, per: '2m' })
  expect(rateIn(' ')).toBe(undefined)
  expect(() => rateIn('many')).toThrow('A rate is a number and a period')
})
