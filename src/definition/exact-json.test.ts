/** JSON that is shown, compared and refused as it is written. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  carriedFault,
  exactPart,
  ExactNumber,
  inexactFault,
  jsonWith,
  prettyJson,
  readExactly,
  writeExactly,
} from './exact-json.ts'

const LARGE = '9007199254740993'

describe('the exact texts of fields', () => {
  it('are of those that have a number which JavaScript changes, and left out without one', () => {
    expect(exactPart({ input: '{"id":7}', output: null })).toEqual({})
    expect(exactPart({ input: `{"id":${LARGE}}`, output: '7', metadata: null })).toEqual({
      exact: { input: `{"id":${LARGE}}` },
    })
  })

  it('stand in an object in place of what was parsed', () => {
    const job = { id: 'a', input: { id: 1 }, output: undefined, error: null }
    expect(jsonWith(job, { input: `{"id":${LARGE}}` })).toBe(
      `{"id":"a","input":{"id":${LARGE}},"error":null}`,
    )
    expect(jsonWith({}, {})).toBe('{}')
  })
})

describe('a number that would be changed', () => {
  it.each([
    [LARGE, 'the number 9007199254740993, which would be kept as 9007199254740992'],
    [`{"input":{"ids":[1,{"a b":${LARGE}}]}}`, 'at `input.ids[1].a b`'],
    [`{"a":[[1,2],[]],"b":[{},"x,[{",[],${LARGE}]}`, 'at `b[3]`'],
    ['{"big":1e400}', 'the number 1e400 at `big`, which would be kept as Infinity'],
    [`[${'1'.repeat(500)}]`, `the number ${'1'.repeat(60)}… at \`[0]\``],
  ])('is refused with where it is, and what to write: %s', (json, says) => {
    const fault = inexactFault(json, 'The body')
    expect(fault).toContain(says)
    expect(fault).toMatch(/^The body has .*: write it as a text, "\d/)
  })

  it('is refused wherever it stands behind a text of millions of characters', () => {
    const long = JSON.stringify('x'.repeat(12_000_000))
    expect(inexactFault(`{"a":${long},"b":${LARGE}}`, 'The body')).toContain('at `b`')
    expect(readExactly(`[${long},${LARGE}]`)).toHaveProperty('1', new ExactNumber(LARGE))
  })

  it('is looked for in what was made of many of them in time that goes with their length', () => {
    const read = `[${Array.from({ length: 2_000 }, () => LARGE).join(',')}]`
    const made = `[${'7,'.repeat(20_000)}7]`
    const began = performance.now()
    expect(carriedFault(read, made, 'It')).toBe(null)
    expect(performance.now() - began).toBeLessThan(2_000)
    expect(carriedFault(read, `{"id":"9007199254740992"}`, 'It')).toContain('at `[0]`')
  })

  it('is in no other text', () => {
    expect(inexactFault(`{"input":"${LARGE}"}`, 'The body')).toBe(null)
  })
})

describe('a text of JSON', () => {
  it('is printed as JSON.stringify prints what it says', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // -0 is a number that JSON.stringify cannot write.
        const text = JSON.stringify(value)
        expect(prettyJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2))
      }),
    )
  })

  it('is printed with every number as it is, however it is spaced and escaped', () => {
    expect(prettyJson(`{ "id" :${LARGE},\n"rate": 1.10, "e":"\\u00e9" , "none":[ ] }`)).toBe(
      `{\n  "id": ${LARGE},\n  "rate": 1.10,\n  "e": "é",\n  "none": []\n}`,
    )
  })

  it('is printed in time and space that go with its length, however deep it is', () => {
    const deep = `${'['.repeat(50_000)}${LARGE}${']'.repeat(50_000)}`
    expect(prettyJson(deep).length).toBeLessThan(250 * deep.length)
  })

  it('is read as it is, with the numbers that JavaScript has no value for', () => {
    const read = readExactly(`{"n${LARGE}":[${LARGE},"n7","t",7,-1.5,true,null,"\\"1"],"b" : "x"}`)
    expect(read).toEqual({
      [`n${LARGE}`]: [new ExactNumber(LARGE), 'n7', 't', 7, -1.5, true, null, '"1'],
      b: 'x',
    })
    expect(writeExactly(readExactly(`{"a":[${LARGE},"n"]}`))).toBe(`{"a":[${LARGE},"n"]}`)
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(readExactly(text)).toEqual(JSON.parse(text))
        expect(writeExactly(readExactly(text))).toBe(JSON.stringify(JSON.parse(text)))
      }),
    )
  })
})
