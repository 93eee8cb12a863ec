/** Whether two values say the same: what decides if a repeated submit is the same job. */
import { describe, expect, it } from 'vitest'
import { sameContent, sameText } from './equal.ts'

const SAME: readonly [string, unknown, unknown][] = [
  ['numbers', 1, 1],
  ['nothing', null, null],
  ['fields in another order', { a: 1, b: [2] }, { b: [2], a: 1 }],
  ['nested lists', [[1], { a: null }], [[1], { a: null }]],
]

const DIFFERENT: readonly [string, unknown, unknown][] = [
  ['numbers', 1, 2],
  ['a number and its text', 1, '1'],
  ['nothing and an object', null, {}],
  ['an object and nothing', {}, null],
  ['an object and a number', {}, 1],
  ['a list and an object with the same keys', [1], { 0: 1 }],
  ['lists of different length', [1], [1, 2]],
  ['a field that is missing and one that is undefined', { a: undefined }, { b: undefined }],
  ['values deep down', { a: { b: [1, 2] } }, { a: { b: [1, 3] } }],
]

describe('the same content', () => {
  it.each(SAME)('%s say the same', (_what, a, b) => {
    expect(sameContent(a, b)).toBe(true)
  })

  it.each(DIFFERENT)('%s do not say the same', (_what, a, b) => {
    expect(sameContent(a, b)).toBe(false)
    expect(sameContent(b, a)).toBe(false)
  })

  it('of texts goes by what they say, and what cannot be read says nothing', () => {
    expect(sameText('{"a":1,"b":2}', '{"b":2,"a":1}')).toBe(true)
    expect(sameText('{"a":1}', '{"a":2}')).toBe(false)
    expect(sameText('no json', 'no json')).toBe(true)
    expect(sameText('no json', '{}')).toBe(false)
  })

  it('of texts goes by the digits of numbers that JavaScript cannot hold', () => {
    const [one, other] = ['9007199254740993', '9007199254740992']
    expect(sameText(`{"id":${one}}`, `{"id":${other}}`)).toBe(false)
    expect(sameText(`[${one},${other}]`, `[${other},${one}]`)).toBe(false)
    expect(sameText(`{"id":${one},"b":1}`, `{ "b":1, "id": ${one} }`)).toBe(true)
    expect(sameText(`{"id":${one},"b":1}`, `{ "b":1, "id": "${one}" }`)).toBe(false)
    expect(sameText(`[1e400, ${other}]`, `[1e400,${other}]`)).toBe(true)
    expect(sameText('[1e400]', '[1e401]')).toBe(false)
  })
})
