/** Two JSON texts, compared by what they mean. */
import { describe, expect, it } from 'vitest'
import { meansTheSame } from './json-tokens.ts'

describe('two JSON texts', () => {
  it('mean the same whatever their spaces and escapes are, and digit by digit', () => {
    expect(meansTheSame('{"a": "\\u00e9",\n"b":[1]}', '{"a":"é","b":[1]}')).toBe(true)
    expect(meansTheSame('9007199254740993', '9007199254740992')).toBe(false)
    expect(meansTheSame('[1]', '[1,1]')).toBe(false)
    expect(meansTheSame('"1"', '1')).toBe(false)
  })
})
