import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { anything } from '../../test/support/anything.ts'
import { LIMITS } from '../kernel/index.ts'
import { fromJson, toJson, UnreadablePayload, UnserializableValue } from './json-value.ts'

const WHAT = 'the input of job invoice'

function json(value: unknown): string {
  return toJson(value, WHAT, 'input')
}

function refusal(value: unknown): UnserializableValue {
  try {
    json(value)
  } catch (error) {
    expect(error).toBeInstanceOf(UnserializableValue)
    return error as UnserializableValue
  }
  throw new Error('It was not refused.')
}

function refuse(): never {
  throw new Error('no')
}

/** A Proxy whose every trap throws. */
function hostile(target: object = {}): object {
  const traps = Object.getOwnPropertyNames(Reflect).map((name) => [name, refuse])
  return new Proxy(target, Object.fromEntries(traps))
}

function revoked(target: object = {}): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

function throwing(thrown: unknown): object {
  return {
    get a(): never {
      throw thrown
    },
  }
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? { a: value } : [value]
  return value
}

describe('toJson', () => {
  it('writes what JSON.stringify writes, in the same order', () => {
    const value = {
      b: 1,
      a: [true, false, null, 'x', [], {}, -1.5e-7, 1e21],
      2: 'numbers first',
      'two words': { 'quote"': 'tab\t, slash \\, line\u2028, é, 😀', long: '\n'.repeat(50) },
      text: 'long enough for another way to look at it, and plain',
    }
    expect(json(value)).toBe(JSON.stringify(value))
  })

  it('writes null for undefined: a handler that returns nothing', () => {
    expect(json(undefined)).toBe('null')
  })

  it('leaves out properties that are undefined', () => {
    expect(json({ a: undefined, b: 1, c: undefined })).toBe('{"b":1}')
    expect(json({ a: undefined })).toBe('{}')
  })

  it('leaves them out whatever their key is: a symbol, or a name beside the elements of a list', () => {
    expect(json({ [tag]: undefined, b: 1 })).toBe('{"b":1}')
    const extra = { total: undefined, [tag]: undefined }
    expect(json({ a: Object.assign([1, 2], extra), b: Object.assign([], extra) })).toBe(
      '{"a":[1,2],"b":[]}',
    )
  })

  it('leaves out properties that are not enumerable, of objects and of lists', () => {
    const hidden = { x: { value: 1 }, [tag]: { value: 1 } }
    const value = { a: Object.defineProperties({ b: 1 }, hidden) }
    expect(json(value)).toBe('{"a":{"b":1}}')
    expect(json(Object.defineProperties([1], hidden))).toBe('[1]')
  })

  it('writes keys as they are, however many different ones there were before', () => {
    for (let i = 0; i < 3_000; i++) {
      const value = { [`key "${i}"`]: i, same: { same: i } }
      expect(json(value)).toBe(JSON.stringify(value))
    }
  })

  it('writes -0 as 0', () => {
    expect(json([-0])).toBe('[0]')
  })

  it('lets lone surrogates pass, and they come back', () => {
    const value = { '\udc00': '\ud83d', long: `${'x'.repeat(50)}\ud83d` }
    expect(json(value)).toBe(JSON.stringify(value))
    expect(fromJson(json(value))).toEqual(value)
  })

  it.each(['\\', '"', '\u0000', '\u001f', '\ud800', '\udfff', '😀', '\u007f', '\u2028', ' '])(
    'escapes %j where JSON.stringify does, in short and in long texts',
    (char) => {
      for (const text of [char, char + 'x'.repeat(60)])
        expect(json(text)).toBe(JSON.stringify(text))
    },
  )

  it('takes objects without a prototype, and those of another realm, for plain', () => {
    expect(json(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}')
    expect(json(runInNewContext('({ a: [1, { b: 2 }] })'))).toBe('{"a":[1,{"b":2}]}')
  })

  it('writes an object that is met twice, but not inside of itself, twice', () => {
    const shared = { a: 1 }
    expect(json([shared, { shared }])).toBe('[{"a":1},{"shared":{"a":1}}]')
  })

  it('takes a toJSON that is no function for data', () => {
    expect(json({ toJSON: 5 })).toBe('{"toJSON":5}')
  })

  it('reads each value once, so that a getter cannot show two faces', () => {
    let reads = 0
    const value = {
      get a(): unknown {
        reads += 1
        return reads === 1 ? 1 : 2n
      },
    }
    expect([json(value), reads]).toEqual(['{"a":1}', 1])
  })

  it('takes 200 levels and no more', () => {
    expect(fromJson(json(nested(200)))).toEqual(nested(200))
    expect(refusal(nested(201)).message).toContain('is nested deeper than 200 levels')
  })

  it('takes texts up to the limit of payloads, and says the size of what is longer', () => {
    expect(json('x'.repeat(LIMITS.payloadChars - 2))).toHaveLength(LIMITS.payloadChars)
    const error = refusal('x'.repeat(LIMITS.payloadChars - 1))
    expect(error.details['path']).toBe('input')
    expect(error.message).toContain(
      `input is ${LIMITS.payloadChars + 1} characters long as JSON, and at most ${LIMITS.payloadChars} are allowed`,
    )
  })

  it('stops at what is far too long, before it is written', () => {
    let doubled: unknown = ['x'.repeat(100)]
    for (let i = 0; i < 30; i++) doubled = [doubled, doubled]
    expect(refusal(doubled).message).toContain('input is more than 4194304 characters')
    const endless = new Proxy([], {
      get: (_, key) => (key === 'length' ? 2 ** 53 : -Math.PI * 1e-100),
    })
    expect(refusal(endless).message).toContain('more than 4194304')
    expect(refusal({ a: 'x'.repeat(LIMITS.payloadChars * 5) }).message).toContain(
      'more than 4194304',
    )
    expect(refusal({ ['x'.repeat(LIMITS.payloadChars * 5)]: 1 }).message).toContain(
      'more than 4194304',
    )
  })
})

class Money {
  amount = 1
}
class Rows extends Array<number> {}

const round: { a?: unknown; b?: unknown } = {}
round.a = { list: [0, round] }
const inner: { self?: unknown } = {}
inner.self = inner
// oxlint-disable-next-line no-sparse-arrays -- that is the case
const sparse = [1, , 3]
const tag = Symbol('tag')
const counted = Object.assign([1, 2], { total: 2 })
const tagged = Object.assign([1, 2], { [tag]: 1 })
// As many keys as elements, but not of all of them.
const both = Object.assign(sparse.slice(), { total: 2 })

describe('a value that JSON cannot carry is refused, with its path and what to do:', () => {
  it.each<[what: string, value: unknown, path: string, problem: string, remedy: string]>([
    ['a bigint', { a: [1n] }, 'input.a[0]', 'is a bigint', 'String(value)'],
    ['a symbol', { a: Symbol('s') }, 'input.a', 'is a symbol', 'Store a text'],
    ['a function', { a: () => 1 }, 'input.a', 'is a function', 'meant to be called'],
    ['NaN', { a: Number.NaN }, 'input.a', 'is NaN', 'Store null'],
    ['Infinity', [-Infinity], 'input[0]', 'is -Infinity', 'Store null'],
    ['undefined in a list', [1, undefined], 'input[1]', 'is undefined', 'Put null there'],
    ['a hole', sparse, 'input[1]', 'is a hole', 'Fill it'],
    ['a hole, with a property', both, 'input[1]', 'is a hole', 'Fill it'],
    ['a symbol as a key', { a: [{ [tag]: 1 }] }, 'input.a[0][Symbol(tag)]', 'is a key', 'a text'],
    ['one without a name', { [Symbol()]: 1 }, 'input[Symbol()]', 'is a key', 'a text'],
    ['one of a list', { a: tagged }, 'input.a[Symbol(tag)]', 'is a key', 'a text'],
    ['a property of a list', { a: [counted] }, 'input.a[0].total', 'is a property', 'an object'],
    ['a match', 'abc'.match('b'), 'input.index', 'is a property of a list', 'an object'],
    ['one of many', { [Symbol('a')]: undefined, [tag]: 0 }, 'input[Symbol(tag)]', 'is a', 'a text'],
    ['a cycle', round, 'input.a.list[1]', 'is input again: a cycle', 'Store ids'],
    ['an inner cycle', [{ inner }], 'input[0].inner.self', 'is input[0].inner again', 'Store ids'],
    ['a Date', { at: new Date(0) }, 'input.at', 'is a Date', 'z.coerce.date()'],
    ['a Map', new Map(), 'input', 'is a Map', 'Object.fromEntries(map)'],
    ['a Set', new Set(), 'input', 'is a Set', '[...set]'],
    ['a Buffer', { a: Buffer.from('x') }, 'input.a', 'is binary data', 'base64'],
    ['a typed array', new Float64Array(1), 'input', 'is binary data', 'base64'],
    ['an ArrayBuffer', new ArrayBuffer(1), 'input', 'is binary data', 'base64'],
    ['a RegExp', /x/, 'input', 'is a RegExp', 'source and flags'],
    ['an Error', new TypeError('x'), 'input', 'is an Error', 'Throw it'],
    ['a Promise', { a: Promise.resolve(1) }, 'input.a', 'is a Promise', 'Await it'],
    ['a boxed text', Object('x'), 'input', 'is a boxed primitive', 'valueOf()'],
    ['an instance', { a: new Money() }, 'input.a', 'is an instance of Money', 'plain object'],
    ['a URL', new URL('http://x'), 'input', 'is an instance of URL', 'plain object'],
    ['a class of lists', new Rows(), 'input', 'is an instance of Rows', 'plain object'],
    ['an heir', Object.create({ a: 1 }), 'input', 'is an instance of Object', 'plain object'],
    [
      'an heir of nothing',
      Object.create(Object.create(null)),
      'input',
      'is not a plain object',
      'plain object',
    ],
    ['its own toJSON', { a: { toJSON: () => 1 } }, 'input.a', 'has its own toJSON', 'Call it'],
    [
      'a key __proto__',
      JSON.parse('{"a":{"__proto__":1}}'),
      'input.a.__proto__',
      'is a key named',
      'another name',
    ],
    ['an odd key', { 'a b': { '': 1n } }, 'input["a b"][""]', 'is a bigint', 'String(value)'],
    [
      'a getter that throws',
      {
        ok: 1,
        get a(): never {
          return refuse()
        },
      },
      'input.a',
      'cannot be read: no',
      'plain data',
    ],
    [
      'a getter of a symbol that throws',
      {
        get [tag](): never {
          return refuse()
        },
      },
      'input[Symbol(tag)]',
      'cannot be read: no',
      'plain data',
    ],
    ['a Proxy that throws', { a: hostile() }, 'input.a', 'cannot be read: no', 'plain data'],
    ['a list that throws', { a: hostile([]) }, 'input.a', 'cannot be read: no', 'plain data'],
    ['a revoked Proxy', [revoked()], 'input[0]', 'cannot be read: Cannot perform', 'plain data'],
    ['a revoked list', [revoked([])], 'input[0]', 'cannot be read: Cannot perform', 'plain data'],
  ])('%s', (_what, value, path, problem, remedy) => {
    const error = refusal(value)
    expect([error.code, error.kind]).toEqual(['UnserializableValue', 'rejected'])
    expect(
      error.message.startsWith(`The input of job invoice cannot be stored: ${path} ${problem}`),
    ).toBe(true)
    expect(error.message).toContain(remedy)
    expect(error.details).toEqual({
      what: WHAT,
      path,
      problem: expect.stringContaining(problem) as unknown,
    })
  })

  it('a toJSON that is not enumerable', () => {
    const value = Object.defineProperty({ a: 1 }, 'toJSON', { value: () => 'b' })
    expect(refusal(value).message).toContain('has its own toJSON')
  })

  it('with what a getter threw as its cause, also if that cannot be shown', () => {
    const cause = new Error('from the getter')
    expect(refusal(throwing(cause)).cause).toBe(cause)
    expect(refusal(throwing(hostile())).message).toContain('what was thrown cannot be shown')
    expect(refusal(throwing('x'.repeat(10_000))).message.length).toBeLessThan(400)
    // What was thrown is not taken for the writer's own word.
    const own = refusal({ b: 1n })
    expect(refusal({ x: throwing(own) })).toMatchObject({
      cause: own,
      details: { path: 'input.x.a' },
    })
  })

  it('with a path that is cut where it is long', () => {
    const { message } = refusal({ ['k'.repeat(1_000)]: nested(201) })
    expect(message.length).toBeLessThan(600)
    expect(message).toContain(`input["${'k'.repeat(64)}"…].a[0].a`)
    expect(message).toContain('[0].a…[0].a')
  })
})

describe('fromJson', () => {
  it('refuses a text that is not JSON', () => {
    for (const text of ['', '{', 'undefined']) {
      expect(() => fromJson(text, 'the output of job 7')).toThrow(UnreadablePayload)
      expect(() => fromJson(text, 'the output of job 7')).toThrow(
        /^The output of job 7 cannot be read: it is not JSON \(/,
      )
    }
  })

  it.each([
    '{"__proto__":{"admin":true}}',
    '[1,{"a":[{"__proto__":null}]}]',
    String.raw`{"\u005f_proto__":1}`,
    String.raw`{"_\u005Fproto_\u005F":1}`,
  ])('refuses a key __proto__, however it is written: %s', (text) => {
    expect(() => fromJson(text)).toThrow(UnreadablePayload)
    expect(() => fromJson(text)).toThrow(/^A stored payload cannot be read: .*'__proto__'/)
  })

  it('lets pass the same word elsewhere', () => {
    expect(fromJson('["__proto__",{"a__proto__b":"__proto__"}]')).toEqual([
      '__proto__',
      { a__proto__b: '__proto__' },
    ])
  })

  it('looks for it as deep as JSON.parse reads', () => {
    const levels = 100_000
    const text = `${'['.repeat(levels)}{"__proto__":1}${']'.repeat(levels)}`
    expect(() => fromJson(text)).toThrow(UnreadablePayload)
  })

  it('says that a stored payload is corrupt', () => {
    expect(new UnreadablePayload(WHAT, 'x')).toMatchObject({
      code: 'UnreadablePayload',
      kind: 'corrupt',
      details: { what: WHAT, problem: 'x' },
    })
  })
})

describe('any value', () => {
  const prototype = Object.prototype as { toJSON?: unknown }
  afterEach(() => {
    delete prototype.toJSON
  })

  it('of JSON comes back as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value)
        fc.pre(!text.includes('"__proto__":'))
        expect(json(value)).toBe(text)
        expect(fromJson(json(value))).toEqual(JSON.parse(text))
      }),
      { numRuns: 500 },
    )
  })

  it('comes back as it was when a library has patched toJSON into every object', () => {
    prototype.toJSON = () => 'patched'
    expect(json({ a: [1] })).toBe('{"a":[1]}')
  })

  it('gives text that JSON.parse reads, or UnserializableValue, and nothing else', () => {
    // Made inside, because the generator itself would look at them.
    const odd = fc.constantFrom<(value: unknown) => unknown>(
      (value) => value,
      (value) => [hostile(Object(value) as object)],
      (value) => ({ a: revoked(Object(value) as object) }),
      (value) => new Proxy({ a: 1 }, { get: () => value }),
      throwing,
      (value) => {
        const around: { value: unknown; around?: unknown } = { value }
        around.around = [around]
        return around
      },
    )
    let written = 0
    fc.assert(
      fc.property(anything, odd, (value, make) => {
        try {
          JSON.parse(json(make(value)))
          written += 1
        } catch (error) {
          expect(error).toBeInstanceOf(UnserializableValue)
        }
      }),
      { numRuns: 2_000 },
    )
    expect(written).toBeGreaterThan(100)
  })
})
