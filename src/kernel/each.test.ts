/** `each`: what it names in a payload, and how much there is of it. */
import { describe, expect, it } from 'vitest'
import { countElements, eachPath } from './each.ts'

describe('the path of an each', () => {
  it('is a source and the fields below it', () => {
    expect(eachPath('input')).toEqual({ source: 'input', path: [] })
    expect(eachPath('split.pages.odd')).toEqual({ source: 'split', path: ['pages', 'odd'] })
  })
})

describe('the elements of what an each names', () => {
  it.each([
    ['input', '[1,2,3]', 3],
    ['input', '[]', 0],
    ['input.a.b', '{"a":{"b":[1,2]}}', 2],
    ['input.0', '[[1,2,3,4]]', 4],
  ])('are counted: %s of %s', (each, payload, count) => {
    expect(countElements(each, payload)).toBe(count)
  })

  it.each([
    ['input', '"text"'],
    ['input', 'null'],
    ['input', 'this is no JSON'],
    ['input', null],
    ['input.a', '{}'],
    ['input.a.b', '{"a":null}'],
    ['input.a.b', '{"a":7}'],
    ['input.length', '"abc"'],
    ['input.toString', '{}'],
  ])('are none if that is no array: %s of %s', (each, payload) => {
    expect(countElements(each, payload)).toBe(`each: '${each}' is not an array`)
  })
})
