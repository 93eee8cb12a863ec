/** Derived ids: the same origin makes the same id, and no id is too long to be one. */
import { describe, expect, it } from 'vitest'
import { childId, tickId } from './ids.ts'
import { LIMITS } from './limits.ts'

const LONG = 'x'.repeat(LIMITS.nameChars)
const parent = (job: string, effect = 0) => ({ job, stage: 0, segment: 0, effect })

describe('the id of a child', () => {
  it('is the key of the effect that promised it', () => {
    expect(childId({ job: 'book', stage: 2, segment: 7, effect: 1 })).toBe('book/2/7/1')
  })

  it('is no longer than an id may be, however deep the family', () => {
    let id = 'a'
    for (let depth = 0; depth < 200; depth++) id = childId(parent(id))
    expect(id.length).toBe(LIMITS.nameChars)
  })

  it('stays the same when it is shortened', () => {
    expect(childId(parent(LONG))).toBe(childId(parent(LONG)))
  })

  it('keeps its readable head when it is shortened', () => {
    expect(childId(parent(LONG))).toMatch(/^x{223}~[0-9a-f]{32}$/)
  })

  it('differs for siblings whose ids differ only in what was cut off', () => {
    const ids = new Set(Array.from({ length: 100 }, (_, effect) => childId(parent(LONG, effect))))
    expect(ids.size).toBe(100)
  })
})

describe('the id of a tick', () => {
  it('is made of the schedule and the tick', () => {
    expect(tickId('nightly', 7_200_000)).toBe('nightly@7200000')
  })

  it('is shortened like any other, and still differs from tick to tick', () => {
    expect(tickId(LONG, 1).length).toBe(LIMITS.nameChars)
    expect(tickId(LONG, 1)).not.toBe(tickId(LONG, 2))
  })
})
