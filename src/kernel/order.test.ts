/** Which of two tasks is offered first. */
import { describe, expect, it } from 'vitest'
import { compareOrder } from './order.ts'

const place = (priority: number, dueAt: number, submission: number) => ({
  priority,
  dueAt,
  submission,
})

describe('the order of tasks', () => {
  it('is by priority, then due time, then submission', () => {
    const sorted = [place(5, 9, 4), place(0, 1, 5), place(0, 2, 2), place(0, 2, 3), place(-1, 0, 1)]
    expect(sorted.toReversed().toSorted(compareOrder)).toEqual(sorted)
  })

  it('is the same for the same place', () => {
    expect(compareOrder(place(1, 2, 3), place(1, 2, 3))).toBe(0)
  })
})
