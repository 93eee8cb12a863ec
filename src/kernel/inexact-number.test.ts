/** Which numbers of a JSON text JavaScript reads as others. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inexactNumber, scanJson, withTextsForInexact } from './inexact-number.ts'

const INEXACT: readonly [text: string, becomes: string][] = [
  ['9007199254740993', '9007199254740992'],
  ['-9007199254740993', '-9007199254740992'],
  ['18446744073709551615', '18446744073709552000'],
  ['18446744073709551616', '18446744073709552000'],
  ['10000000000000000000000', '1e+22'],
  ['1e400', 'Infinity'],
  ['1.25e+309', 'Infinity'],
  ['9007199254740993e300', 'Infinity'],
  ['-1.5E+999', '-Infinity'],
  [`${'9'.repeat(400)}.5`, 'Infinity'],
]

const EXACT = [
  '0',
  '-0',
  '1763479200000',
  '9007199254740991',
  '9007199254740992',
  '-9007199254740992',
  '18446744073709552000',
  '0.1',
  '3.14159265358979323846',
  '9007199254740993.5',
  '1e22',
  '1e-400',
  '1e0000000000000001',
  '1.5e0000000000000001',
  '1.7976931348623157E308',
  `${'9'.repeat(305)}.5`,
]

function million(text: string): string {
  return text.repeat(Math.ceil(1_000_000 / text.length))
}

function msOf(act: () => unknown): number {
  const began = performance.now()
  act()
  return performance.now() - began
}

describe('a number that JavaScript reads as another', () => {
  it.each(INEXACT)('is %s, which becomes %s', (text, becomes) => {
    expect(inexactNumber(text)).toEqual({ text, becomes, at: 0 })
    expect(inexactNumber(`{"a":[1, ${text} ]}`)).toEqual({ text, becomes, at: 9 })
  })

  it.each(EXACT)('is not %s', (text) => {
    expect(inexactNumber(text)).toBe(null)
    expect(inexactNumber(`{"a":[1, ${text} ]}`)).toBe(null)
  })

  it('is not looked for in texts and keys, whatever quotes and backslashes are in them', () => {
    const inTexts = [
      '9007199254740993',
      'a" 9007199254740993 "',
      '\\',
      '\\\\',
      '\\" 9007199254740993',
    ]
    const json = JSON.stringify(Object.fromEntries(inTexts.map((one) => [one, one])))
    expect(inexactNumber(json)).toBe(null)
    const behind = `{"a":${JSON.stringify(inTexts)},"b":9007199254740993}`
    expect(inexactNumber(behind)?.at).toBe(behind.length - 17)
  })

  it('is found as often as it is there', () => {
    const json = '[9007199254740993, 7, {"a":-9007199254740995}, "9007199254740997"]'
    expect(withTextsForInexact(json)).toBe(
      '["9007199254740993", 7, {"a":"-9007199254740995"}, "9007199254740997"]',
    )
    expect(withTextsForInexact('[7]')).toBe('[7]')
  })

  it('is in no text that JavaScript wrote', () => {
    const numbers = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer())
    fc.assert(
      fc.property(fc.array(fc.oneof(numbers, fc.string())), (values) => {
        expect(inexactNumber(JSON.stringify(values))).toBe(null)
      }),
    )
  })

  it('is what reading and writing a whole number changes, for any digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), (value) => {
        const isChanged = JSON.stringify(JSON.parse(String(value))) !== String(value)
        expect(inexactNumber(`[${value}]`) !== null).toBe(isChanged)
      }),
    )
  })

  it.each(['1e', '1.1e', '1e1e', '1111111111111111-', '1e1+', '"\\\\\\"'])(
    'is not looked for again and again in a text of nothing but %s',
    (part) => {
      const [plain, hostile] = [million('7,'), million(part)]
      const usualMs = msOf(() => scanJson(plain))
      expect(msOf(() => scanJson(hostile))).toBeLessThan(50 * usualMs + 500)
    },
  )

  it('is found beside how deep lists and objects are within each other', () => {
    expect(scanJson('7')).toEqual({ inexact: null, depth: 0 })
    expect(scanJson('[{"a":[]},{"b":"[[[["}]')).toEqual({ inexact: null, depth: 3 })
    expect(scanJson('[[1e400,[[')).toMatchObject({ inexact: { at: 2 }, depth: 2 })
  })

  it('is no reason to fail in what is no JSON', () => {
    for (const json of [
      '',
      '"',
      '"9007199254740993',
      '1.2.3e',
      '-',
      '12345678901234567.',
      '"\\"',
      '"\\',
    ]) {
      expect(inexactNumber(json)).toBe(null)
    }
  })
})
