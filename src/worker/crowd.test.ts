/**
 * A crowd against a set that is told the same.
 */
import { array, assert, boolean, nat, property, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Member } from './crowd.ts'
import { Crowd, NOWHERE } from './crowd.ts'

describe('a crowd', () => {
  it('has whom a set would have, whoever comes and goes', () => {
    const step = record({ comes: boolean(), who: nat(7) })
    assert(
      property(array(step, { maxLength: 60 }), (steps) => {
        const all: Member[] = Array.from({ length: 8 }, () => ({ place: NOWHERE }))
        const crowd = new Crowd<Member>()
        const set = new Set<Member>()
        for (const { comes, who } of steps) {
          const member = all[who] as Member
          if (comes) crowd.add(member)
          else crowd.delete(member)
          if (comes) set.add(member)
          else set.delete(member)
          expect(crowd.size).toBe(set.size)
          expect(new Set(crowd.members)).toEqual(set)
          for (const one of all) expect(crowd.has(one)).toBe(set.has(one))
        }
      }),
    )
  })

  it('may change while its members are looked at', () => {
    const crowd = new Crowd<Member>()
    const [a, b] = [{ place: NOWHERE }, { place: NOWHERE }]
    crowd.add(a)
    crowd.add(b)
    for (const member of crowd.members) crowd.delete(member)
    expect(crowd.size).toBe(0)
  })
})
