/**
 * A value that does not fit its schema is refused with where it is, what was given, and what to write.
 */
import { describe, expect, it } from 'vitest'
import { misfit } from './check.ts'
import {
  anything,
  choice,
  either,
  flag,
  list,
  nullable,
  object,
  open,
  text,
  whole,
} from './schema.ts'

const MAIL = object(
  { to: text(20, 1), copies: whole(0, 3) },
  { kind: choice('short', 'long'), urgent: flag(), tags: list(text(5), 2), at: nullable(whole(0)) },
)
const GOOD = { to: 'ada', copies: 1 }

describe('a value that fits', () => {
  it.each([
    [MAIL, GOOD],
    [MAIL, { ...GOOD, kind: 'long', urgent: true, tags: ['a'], at: null }],
    [anything(), { a: [1, null] }],
    [open({ a: flag() }), { a: true, b: 1 }],
    [either(text(3), whole(0)), 7],
  ])('passes (%#)', (schema, value) => {
    expect(misfit(schema, value)).toBe(null)
  })
})

describe('a value that does not fit', () => {
  it.each([
    [{ copies: 1 }, '`to` is missing: write a text of 1 to 20 characters.'],
    [{ ...GOOD, to: 7 }, '`to` is 7: write a text of 1 to 20 characters.'],
    [{ ...GOOD, to: '' }, '`to` is "": write a text of 1 to 20 characters.'],
    [
      { ...GOOD, to: 'x'.repeat(99) },
      '`to` is a text of 99 characters: write a text of 1 to 20 characters.',
    ],
    [{ ...GOOD, copies: 4 }, '`copies` is 4: write a whole number from 0 to 3.'],
    [{ ...GOOD, copies: 1.5 }, '`copies` is 1.5: write a whole number from 0 to 3.'],
    [{ ...GOOD, copies: null }, '`copies` is null: write a whole number from 0 to 3.'],
    [{ ...GOOD, kind: 'odd' }, "`kind` is \"odd\": write one of 'short', 'long'."],
    [{ ...GOOD, urgent: 'yes' }, '`urgent` is "yes": write true or false.'],
    [{ ...GOOD, tags: ['a', 'b', 'c'] }, '`tags` is a list of 3: write a list of 0 to 2 items.'],
    [{ ...GOOD, tags: ['a', 7] }, '`tags[1]` is 7: write a text of 0 to 5 characters.'],
    [{ ...GOOD, at: -1 }, '`at` is -1: write a whole number from 0.'],
    [{ ...GOOD, at: 'x' }, '`at` is "x": write a whole number from 0, or null.'],
    [
      { ...GOOD, copys: 1 },
      "`copys` is not known here: there are 'to', 'copies', 'kind', 'urgent', 'tags', 'at'.",
    ],
    [[], 'What was given is a list of 0: write an object.'],
    [null, 'What was given is null: write an object.'],
  ])('is told what is wrong: %j', (value, says) => {
    expect(misfit(MAIL, value)).toBe(says)
  })

  it('has no way around by names that every object has', () => {
    const given = JSON.parse('{"to":"ada","copies":1,"__proto__":{"urgent":7}}') as unknown
    expect(misfit(MAIL, given)).toMatch(/^`__proto__` is not known here/)
    expect(misfit(MAIL, { ...GOOD, constructor: 1 })).toMatch(/^`constructor` is not known here/)
    expect(misfit(object({ toString: flag() }), {})).toMatch(/^`toString` is missing/)
  })
})
