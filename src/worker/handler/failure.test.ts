import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anything } from '../../../test/support/anything.ts'
import { LIMITS } from '../../kernel/index.ts'
import { failure as wellFormed } from '../../kernel/wellformed.ts'
import { failureOf, failureReport } from './failure.ts'
import { RetryAfter, TerminalError } from '../../definition/index.ts'

function refuse(): never {
  throw new Error('no')
}

/** As another copy of the package makes it. */
function foreign(fields: object): Error {
  return Object.assign(new Error('x'), { name: 'RetryAfter', ...fields })
}

function after(thrown: unknown): unknown {
  return failureReport(thrown).retryAfter
}

/** A Proxy whose every trap throws. */
function hostile(target: object = {}): object {
  const traps = Object.getOwnPropertyNames(Reflect).map((name) => [name, refuse])
  return new Proxy(target, Object.fromEntries(traps))
}

function throwHostile(): never {
  throw hostile() as Error
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function hasLoneSurrogate(text: string): boolean {
  return /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text)
}

describe('an error', () => {
  it('keeps its message, code and stack, and is retryable', () => {
    const error = Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' })
    expect(failureOf(error)).toEqual({
      type: 'RETRYABLE',
      code: 'EHOSTUNREACH',
      message: 'no route',
      stack: error.stack,
    })
  })

  it('without a code that is a text has its name for one', () => {
    expect(failureOf(new TypeError('x')).code).toBe('TypeError')
    expect(failureOf(Object.assign(new RangeError('x'), { code: 7 })).code).toBe('RangeError')
    expect(failureOf(Object.assign(new Error('x'), { code: '' })).code).toBe('Error')
    expect(failureOf(Object.assign(new Error('x'), { name: '' })).code).toBe('Error')
  })

  it('without a stack has its name and message for one', () => {
    const error = Object.assign(new TypeError('x'), { stack: undefined })
    expect(failureOf(error).stack).toBe('TypeError: x')
    expect(failureOf(Object.assign(new TypeError(''), { stack: [] })).stack).toBe('TypeError')
  })

  it('of another realm is an error, too', () => {
    const error: unknown = runInNewContext(`new TypeError('far away')`)
    expect(error).not.toBeInstanceOf(Error)
    expect(failureOf(error)).toMatchObject({ code: 'TypeError', message: 'far away' })
  })

  it('by inheritance alone is an error, too', () => {
    const error = Object.assign(Object.create(TypeError.prototype) as Error, { message: 'made' })
    expect(failureOf(error)).toMatchObject({ code: 'TypeError', message: 'made' })
  })

  it('whose message is no text shows what it is', () => {
    const error = Object.assign(new Error('x'), { message: { why: 'because' } })
    expect(failureOf(error).message).toBe(`(its message is { why: 'because' })`)
  })

  it.each(['message', 'name', 'code', 'stack', 'cause', 'errors'])(
    'whose %s cannot be read is recorded with the rest of it',
    (key) => {
      const error = new Error('the rest', { cause: new Error('why') })
      // A stack is put together when it is first read, and that reads the message.
      expect(error.stack).toContain('the rest')
      Object.defineProperty(error, key, { get: refuse })
      const { type, stack, message } = failureOf(error)
      expect([type, `${stack} ${message}`]).toEqual([
        'RETRYABLE',
        expect.stringContaining('the rest'),
      ])
    },
  )
})

describe('causes', () => {
  it('stand below the stack, one after the other', () => {
    const root = new RangeError('root')
    const middle = new TypeError('middle', { cause: root })
    const error = new Error('top', { cause: middle })
    expect(failureOf(error).stack).toBe(
      `${error.stack}\ncaused by ${middle.stack}\ncaused by ${root.stack}`,
    )
  })

  it('that are no errors are shown, and null is none', () => {
    expect(failureOf(new Error('x', { cause: { status: 503 } })).stack).toMatch(
      /\ncaused by \{ status: 503 \}$/,
    )
    const error = new Error('x', { cause: null })
    expect(failureOf(error).stack).toBe(error.stack)
  })

  it('are followed five deep', () => {
    let error = new Error('0')
    for (let i = 1; i <= 6; i++) error = new Error(`${i}`, { cause: error })
    const stack = failureOf(error).stack ?? ''
    expect(stack.match(/^caused by .*/gm)).toEqual([
      'caused by Error: 5',
      'caused by Error: 4',
      'caused by Error: 3',
      'caused by Error: 2',
      'caused by Error: 1',
      'caused by more, which is left out',
    ])
  })

  it('that go round end where they come back', () => {
    const error = new Error('a')
    const other = new Error('b', { cause: error })
    error.cause = other
    expect(failureOf(error).stack?.match(/^caused by .*/gm)).toEqual([
      'caused by Error: b',
      'caused by an error that stands above',
    ])
  })
})

describe('an AggregateError', () => {
  it('lists its errors, ten at most', () => {
    const errors = Array.from({ length: 12 }, (_, i) => new Error(`e${i + 1}`))
    const { message, stack } = failureOf(new AggregateError(errors, 'all of them'))
    expect(message).toBe('all of them')
    expect(stack?.match(/^ {2}(?:error|and) .*/gm)).toEqual([
      ...errors.slice(0, 10).map((_, i) => `  error ${i + 1} of 12: Error: e${i + 1}`),
      '  and 2 more',
    ])
  })

  it('without a message has those of its errors', () => {
    const error = new AggregateError([new Error('IPv4 refused'), new TypeError('IPv6 refused')])
    expect(failureOf(error).message).toBe('Error: IPv4 refused; TypeError: IPv6 refused')
  })

  it('may hold itself, a list that is none, or one that throws', () => {
    const error = new AggregateError([])
    error.errors.push(error)
    expect(failureOf(error).message).toBe('AggregateError')
    const huge: unknown[] = []
    huge.length = 4e9
    for (const errors of [7, hostile([]), revoked(), huge]) {
      const { stack } = failureOf(Object.assign(new AggregateError([], 'x'), { errors }))
      expect(stack).toContain('AggregateError: x')
    }
  })
})

describe('what is not an error', () => {
  it.each([
    ['a text', `'a text'`],
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
    [10n, '10n'],
    [Symbol('s'), 'Symbol(s)'],
    [{ status: 503, body: { reason: 'busy' } }, `{ status: 503, body: { reason: 'busy' } }`],
  ])('is recorded with what it is: %s', (thrown, shows) => {
    expect(failureOf(thrown)).toEqual({
      type: 'RETRYABLE',
      code: 'ThrownValue',
      message: `A value that is not an Error was thrown: ${shows}`,
      stack: null,
    })
  })

  it('is recorded when it goes round', () => {
    const round: { self?: unknown } = {}
    round.self = round
    expect(failureOf(round).message).toContain('[Circular *1]')
  })

  it('is recorded when looking at it throws', () => {
    const throwing = {
      name: 'x',
      get message(): never {
        return refuse()
      },
    }
    expect(failureOf(throwing).message).toContain(`{ name: 'x', message: [Getter] }`)
    expect(failureOf(hostile({ a: 1 })).message).toMatch(/Proxy \[\s+\{ a: 1 \}/)
    expect(failureOf(revoked()).message).toContain('<Revoked Proxy>')
    const tagged = Object.defineProperty({}, Symbol.toStringTag, { get: refuse })
    expect(failureOf(tagged).message).toContain('something that cannot be shown (object)')
  })

  it('runs no code of its own when it is shown', () => {
    let ran = 0
    const custom = { [Symbol.for('nodejs.util.inspect.custom')]: () => String(++ran) }
    failureOf(custom)
    expect(ran).toBe(0)
  })
})

describe('the type of a failure', () => {
  it('is terminal for a TerminalError, also one of another copy of the package', () => {
    class NoSuchOrder extends TerminalError {
      override name = 'NoSuchOrder'
    }
    const other = Object.assign(new Error('x'), { name: 'TerminalError' })
    const thrown = [new TerminalError('x'), new NoSuchOrder('x'), other]
    expect(thrown.map((error) => failureOf(error).type)).toEqual(thrown.map(() => 'TERMINAL'))
  })

  it('is terminal for a TerminalError whatever classify says', () => {
    expect(failureOf(new TerminalError('x'), () => 'retryable').type).toBe('TERMINAL')
  })

  it('says when to try again by a RetryAfter, also by one of another copy of the package', () => {
    expect(after(new RetryAfter('2s'))).toEqual({ delayMs: 2_000, free: false })
    expect(after(new RetryAfter(5, { free: true }))).toEqual({ delayMs: 5, free: true })
    expect(after(foreign({ delayMs: 7, free: true }))).toEqual({ delayMs: 7, free: true })
    // What the authority would refuse is not believed.
    for (const delayMs of [-1, 0.5, Number.NaN, '7', LIMITS.retryDelayMs + 1, undefined]) {
      expect(after(foreign({ delayMs }))).toBeNull()
    }
    expect(after({ name: 'RetryAfter', delayMs: 7 })).toBeNull()
    expect(after(hostile(foreign({ delayMs: 7 })))).toBeNull()
    expect(after(new Error('x'))).toBeNull()
  })

  it('is retried when classify says, unless it says that no retry can help', () => {
    const thrown = new RetryAfter(5, { message: 'busy' })
    const report = failureReport(new Error('busy'), () => thrown)
    expect(report).toMatchObject({
      failure: { type: 'RETRYABLE', code: 'Error', message: 'busy' },
      retryAfter: { delayMs: 5, free: false },
    })
    expect(failureReport(thrown, () => 'retryable').retryAfter).toMatchObject({ delayMs: 5 })
    expect(failureReport(thrown, () => new RetryAfter(9)).retryAfter).toMatchObject({ delayMs: 9 })
    expect(failureReport(thrown, () => 'terminal')).toMatchObject({
      failure: { type: 'TERMINAL', code: 'RetryAfter' },
      retryAfter: null,
    })
    expect(failureReport(new TerminalError('x'), () => thrown).retryAfter).toBeNull()
  })

  it('is retryable for a plain object that only has the name of one', () => {
    expect(failureOf({ name: 'TerminalError' }).type).toBe('RETRYABLE')
  })

  it('is what classify says, which sees what was thrown', () => {
    const seen: unknown[] = []
    const say = (answer: 'terminal' | 'retryable' | undefined) => (error: unknown) => {
      seen.push(error)
      return answer
    }
    expect(failureOf('a', say('terminal')).type).toBe('TERMINAL')
    expect(failureOf('b', say('retryable')).type).toBe('RETRYABLE')
    expect(failureOf('c', say(undefined)).type).toBe('RETRYABLE')
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  it('is retryable when classify throws, and the message says so', () => {
    const error = new Error('x'.repeat(LIMITS.errorChars))
    const { type, message } = failureOf(error, refuse)
    expect(type).toBe('RETRYABLE')
    expect(message).toMatch(/\n\(classify threw Error: no: it was ignored\)$/)
    expect(message.length).toBeLessThanOrEqual(LIMITS.errorChars)
    expect(failureOf(new Error('x'), throwHostile).message).toContain('classify threw Proxy')
  })

  it('is retryable when classify answers with something else, and a rejected promise does no harm', async () => {
    const rejected: unknown[] = []
    const note = (reason: unknown): void => void rejected.push(reason)
    process.on('unhandledRejection', note)
    const classify = (async () => {
      throw new Error('late')
    }) as unknown as () => undefined
    const { type, message } = failureOf(new Error('x'), classify)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
    process.off('unhandledRejection', note)
    expect([type, rejected]).toEqual(['RETRYABLE', []])
    expect(message).toMatch(/^x\n\(classify returned Promise/)
  })
})

describe('the bounds', () => {
  it('cut what is too long where it can be seen, beginning and end stay', () => {
    const error = new Error(`first ${'x'.repeat(100_000)} last`)
    error.stack = `top ${'y'.repeat(100_000)} bottom`
    error.name = 'N'.repeat(1_000)
    const { message, stack, code } = failureOf(error)
    expect(message).toMatch(/^first x+\n… \d+ characters are left out here …\nx+ last$/)
    expect(stack).toMatch(/^top y+\n… \d+ characters are left out here …\ny+ bottom$/)
    expect(code).toBe(`${'N'.repeat(LIMITS.nameChars - 1)}…`)
    const left = Number(/… (\d+) /.exec(message)?.[1])
    expect(message.replace(/\n….*…\n/, '').length + left).toBe(error.message.length)
  })

  it('hold for each part, so that no part crowds out the others', () => {
    const long = 'x'.repeat(LIMITS.errorChars)
    const errors = [new Error(`first ${long}`), new Error('second')]
    const { stack } = failureOf(new AggregateError(errors, 'both'))
    expect(stack).toContain('  error 2 of 2: Error: second')
    expect(stack).not.toContain('left out')
    const wide = failureOf(
      Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`k${i}`, i])),
    )
    expect(wide.message).toMatch(/^A value that is not an Error was thrown: \{\s+k0: 0,[^]+…$/)
    const returned = failureOf(new Error('short'), () => long as 'terminal').message
    expect(returned).toMatch(/^short\n\(classify returned 'x+…, and not [^…]+ignored\)$/)
    expect(returned.length).toBeLessThan(1_000)
    const threw = failureOf(new Error('short'), () => {
      throw new Error(long)
    }).message
    expect(threw).toMatch(/^short\n\(classify threw Error: x+…: it was ignored\)$/)
  })

  it('leave alone what just fits', () => {
    const message = 'x'.repeat(LIMITS.errorChars)
    expect(failureOf(new Error(message)).message).toBe(message)
  })

  it('never cut a pair of surrogates in two', () => {
    for (let shift = 0; shift < 6; shift++) {
      const text = 'a'.repeat(shift) + '😀'.repeat(LIMITS.errorChars)
      const error = Object.assign(new Error(text), { code: text })
      const failure = failureOf(error)
      expect(hasLoneSurrogate(failure.message + failure.stack + failure.code)).toBe(false)
      expect(wellFormed(failure)).toBeNull()
      expect(hasLoneSurrogate(failureOf(text).message)).toBe(false)
    }
  })

  it('hold, and nothing is thrown, whatever is thrown at it', () => {
    const errors = fc
      .record({
        message: anything,
        name: anything,
        code: anything,
        stack: anything,
        cause: anything,
      })
      .map((fields) => Object.assign(new Error('x'), fields))
    const aggregates = fc
      .array(anything, { maxLength: 15 })
      .map((inner) => Object.assign(new AggregateError([]), { errors: inner }))
    // Wrapped, because the generator itself would look at them.
    const odd = fc.constantFrom<() => unknown>(hostile, revoked, () => hostile(new Error('x')))
    const some = fc.oneof(anything, errors, aggregates).map((value) => () => value)
    fc.assert(
      fc.property(fc.oneof(some, odd), anything, (make, answer) => {
        const thrown = make()
        expect(wellFormed(failureOf(thrown, () => answer as undefined))).toBeNull()
        const classify = (): never => {
          throw answer
        }
        expect(wellFormed(failureOf(new Error('x', { cause: thrown }), classify))).toBeNull()
      }),
      { numRuns: 500 },
    )
  })
})

describe('a TerminalError', () => {
  it('has a message, a code and a cause, and is an Error', () => {
    const cause = new Error('why')
    const error = new TerminalError('gone', { code: 'ORDER_GONE', cause })
    expect(error).toBeInstanceOf(Error)
    expect([error.name, error.message, error.code, error.cause]).toEqual([
      'TerminalError',
      'gone',
      'ORDER_GONE',
      cause,
    ])
    expect(failureOf(error)).toMatchObject({
      type: 'TERMINAL',
      code: 'ORDER_GONE',
      message: 'gone',
    })
  })

  it('has its name for a code, and no cause, if none are given', () => {
    const error = new TerminalError('gone')
    expect([error.code, 'cause' in error]).toEqual(['TerminalError', false])
  })
})
