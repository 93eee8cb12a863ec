/** Which of two tasks is offered first. */
import { describe, expect, it } from 'vitest'
import { compareOrder } from './order.ts'

const place = (priority: number, turn: number, dueAt: number, submission: number) => ({
  priority,
  turn,
  dueAt,
  submission,
})

describe('the order of tasks', () => {
  it('is by priority, then turn, then due time, then submission', () => {
    const sorted = [
      place(5, 3, 9, 4),
      place(0, 1, 3, 6),
      place(0, 2, 1, 5),
      place(0, 2, 2, 2),
      place(0, 2, 2, 3),
      place(-1, 0, 0, 1),
    ]
    expect(sorted.toReversed().toSorted(compareOrder)).toEqual(sorted)
  })

  it('is the same for the same place', () => {
    expect(compareOrder(place(1, 2, 3, 4), place(1, 2, 3, 4))).toBe(0)
  })
})
