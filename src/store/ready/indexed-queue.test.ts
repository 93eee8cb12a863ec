/** A queue whose members know where they are, whatever comes and goes. */
import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import type { Place } from '../../kernel/index.ts'
import { compareOrder } from '../../kernel/index.ts'
import type { QueueMember } from './indexed-queue.ts'
import { IndexedQueue, NOT_QUEUED } from './indexed-queue.ts'

interface Member extends Place, QueueMember {
  dueAt: number
}

function member(dueAt: number, submission: number): Member {
  return { slot: NOT_QUEUED, previous: null, next: null, priority: 0, turn: 0, dueAt, submission }
}

describe('an indexed queue', () => {
  const seeds = Array.from({ length: 6 }, (_, i) => i + 1)

  it.each(seeds)('has the same first as a list that is sorted each time (seed %i)', (seed) => {
    const dice = new Dice(seed)
    const queue = new IndexedQueue<Member>((a, b) => compareOrder(a, b) < 0)
    let members: Member[] = []
    let newest = 0
    for (let step = 0; step < 3_000; step++) {
      const one = members.length === 0 ? undefined : dice.pick(members)
      const way = dice.below(step % 500 < 250 ? 6 : 10)
      if (one === undefined || way < 3) {
        newest += dice.below(3)
        const added = member(dice.chance(70) ? newest : dice.below(newest + 1), step)
        members.push(added)
        queue.add(added)
      } else if (way < 6) {
        const moved = dice.chance(50) ? (queue.first as Member) : one
        moved.dueAt = dice.chance(70) ? newest : dice.below(newest + 1)
        queue.moved(moved)
      } else {
        const removed = dice.chance(50) ? (queue.first as Member) : one
        queue.remove(removed)
        members = members.filter((other) => other !== removed)
        expect(removed.slot).toBe(NOT_QUEUED)
      }
      expect(queue.first).toBe(members.toSorted(compareOrder)[0] ?? null)
    }
    for (const one of members.toSorted(compareOrder)) {
      expect(queue.first).toBe(one)
      queue.remove(one)
    }
    expect(queue.first).toBe(null)
  })

  it('takes a step or two for members that come in order, however many there are', () => {
    let comparisons = 0
    const queue = new IndexedQueue<Member>((a, b) => {
      comparisons += 1
      return compareOrder(a, b) < 0
    })
    const members = 10_000
    for (let i = 0; i < members; i++) queue.add(member(i, i))
    for (let i = 0; i < members; i++) {
      const first = queue.first as Member
      first.dueAt = members + i
      queue.moved(first)
    }
    expect(comparisons).toBeLessThan(4 * members)
    expect(queue.first?.dueAt).toBe(members)
  })
})
