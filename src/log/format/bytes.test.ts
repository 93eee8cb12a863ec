/** Primitives: every value comes back, nothing is written beyond the buffer, nonsense is refused. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCount, anyText, anyTime, anyUnits } from '../../../test/support/arbitrary-specs.ts'
import { LATEST_TIME_MS } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'

/** Starts with hardly any room, so that everything has to make its own. */
function written(write: (writer: ByteWriter) => void): Buffer {
  const writer = new ByteWriter(1)
  write(writer)
  expect(writer.at).toBeLessThanOrEqual(writer.buffer.length)
  return writer.buffer.subarray(0, writer.at)
}

/** Reads it back from the midst of other bytes, and sees that all of it was read. */
function again<T>(bytes: Buffer, read: (reader: ByteReader) => T): T {
  const reader = new ByteReader(
    Buffer.concat([Buffer.of(0xff), bytes, Buffer.of(0xff)]),
    1,
    bytes.length + 1,
  )
  const value = read(reader)
  expect(reader.at).toBe(reader.end)
  return value
}

function textAgain(text: string): string {
  return again(
    written((writer) => writer.text(text)),
    (reader) => reader.text(),
  )
}

const MAX = Number.MAX_SAFE_INTEGER

describe('numbers', () => {
  it('of every kind come back', () => {
    fc.assert(
      fc.property(anyCount, fc.maxSafeInteger(), fc.double(), anyTime, (count, int, real, time) => {
        const bytes = written((writer) => {
          writer.count(count)
          writer.integer(int)
          writer.real(real)
          writer.time(time)
          writer.timeFrom(time, count)
          writer.u32(count >>> 0)
          writer.flag(count % 2 === 0)
        })
        const values = again(bytes, (reader) => [
          reader.count(),
          reader.integer(),
          reader.real(),
          reader.time(),
          reader.timeFrom(time),
          reader.u32(),
          reader.flag(),
        ])
        expect(values).toEqual([count, int, real, time, count, count >>> 0, count % 2 === 0])
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([0, 1, 63, 64, 127, 128, 2 ** 14, 2 ** 28, 2 ** 31, 2 ** 32, 2 ** 35, 2 ** 49, MAX])(
    'around %d come back, above and below zero',
    (edge) => {
      for (const value of [edge - 1, edge, Math.min(edge + 1, MAX)]) {
        if (value < 0) continue
        expect(
          again(
            written((writer) => writer.count(value)),
            (reader) => reader.count(),
          ),
        ).toBe(value)
        for (const signed of value === 0 ? [0] : [value, -value]) {
          expect(
            again(
              written((writer) => writer.integer(signed)),
              (reader) => reader.integer(),
            ),
          ).toBe(signed)
        }
      }
    },
  )

  it('keep the sign of zero where they are real', () => {
    const bytes = written((writer) => writer.real(-0))
    expect(again(bytes, (reader) => reader.real())).toBe(-0)
  })

  it('are short where they are likely', () => {
    expect(written((writer) => writer.count(127))).toHaveLength(1)
    expect(written((writer) => writer.integer(-63))).toHaveLength(1)
    expect(written((writer) => writer.time(1_800_000_000_000))).toHaveLength(6)
    expect(written((writer) => writer.time(LATEST_TIME_MS))).toHaveLength(7)
    expect(written((writer) => writer.count(MAX))).toHaveLength(8)
  })

  it.each([-1, 1.5, Number.NaN, Infinity, -Infinity, 2 ** 53, 2 ** 60])(
    '%d is no count and no time, and is not written',
    (value) => {
      const writer = new ByteWriter()
      expect(() => writer.count(value)).toThrow(RangeError)
      expect(() => writer.time(value)).toThrow(RangeError)
      expect(() => writer.timeFrom(0, value)).toThrow(RangeError)
      if (value !== -1) expect(() => writer.integer(value)).toThrow(RangeError)
      expect(writer.at).toBe(0)
    },
  )
})

describe('a choice', () => {
  it('comes back, and only one of the choices is written or read', () => {
    const choices = ['a', 'b'] as const
    const bytes = written((writer) => writer.choice(choices, 'b'))
    expect(again(bytes, (reader) => reader.choice(choices))).toBe('b')
    expect(() => new ByteWriter().choice<string>(choices, 'c')).toThrow(RangeError)
    expect(() => new ByteReader(Buffer.of(2)).choice(choices)).toThrow(MalformedBytes)
  })
})

describe('a text', () => {
  it('comes back, whatever it is', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(textAgain(text)).toBe(text)
      }),
      { numRuns: 3_000 },
    )
  })

  it.each([
    'a',
    '\0',
    '\u007f',
    '\u0080',
    'ÿ',
    'Ā',
    '漢',
    '😀',
    '\ud83d',
    '\ude00',
    '\ude00\ud83d',
  ])('of any length with %j anywhere comes back', (odd) => {
    for (const length of [0, 1, 2, 22, 23, 24, 25, 30, 31, 32, 33, 64, 200, 4_095, 4_096, 5_000]) {
      for (const place of new Set([0, Math.floor(length / 2), Math.max(0, length - 1), length])) {
        const text = 'x'.repeat(place) + odd + 'x'.repeat(length - place)
        expect(textAgain(text)).toBe(text)
      }
    }
  })

  it('of a megabyte comes back', () => {
    for (const unit of ['x', 'é', '漢', '\udead']) {
      const text = unit.repeat(1_048_576)
      expect(textAgain(text) === text).toBe(true)
    }
  })

  it('is written the same once the code is hot, also where it only looks like ASCII', () => {
    const writer = new ByteWriter()
    const reader = new ByteReader(writer.buffer)
    const texts = [
      'plain',
      'x'.repeat(40),
      `${'x'.repeat(40)}é`,
      'ÿ'.repeat(40),
      '\ud800'.repeat(30),
    ]
    for (let i = 0; i < 100_000; i++) {
      const text = texts[i % texts.length] as string
      writer.at = 0
      writer.text(text)
      reader.reset(writer.buffer, 0, writer.at)
      if (reader.text() !== text) throw new Error(`${JSON.stringify(text)} came back otherwise`)
    }
  })

  it('has bytes that no other text, or pair of texts, has', () => {
    const four = fc.tuple(anyUnits, anyUnits, anyUnits, anyUnits)
    fc.assert(
      fc.property(four, ([a, b, c, d]) => {
        const left = written((writer) => [a, b].forEach((text) => writer.text(text)))
        const right = written((writer) => [c, d].forEach((text) => writer.text(text)))
        expect(left.equals(right)).toBe(a === c && b === d)
      }),
    )
    const close = ['', '\0', '\ufffd', '\ud800', '\ud800\ud800', 'ï¿½', '\u00ef', '\u00ff\u00fd']
    const all = close.map((text) => written((writer) => writer.text(text)).toString('hex'))
    expect(new Set(all).size).toBe(close.length)
  })
})

describe('bytes that no writer wrote', () => {
  const cases: [string, Buffer, (reader: ByteReader) => unknown][] = [
    ['nothing, for a byte', Buffer.of(), (reader) => reader.u8()],
    ['three, for four', Buffer.of(1, 2, 3), (reader) => reader.u32()],
    ['seven, for a real', Buffer.alloc(7), (reader) => reader.real()],
    ['a flag of 2', Buffer.of(2), (reader) => reader.flag()],
    ['a count without end', Buffer.alloc(4, 0x80), (reader) => reader.count()],
    ['a count that goes on', Buffer.alloc(100, 0xff), (reader) => reader.count()],
    [
      'a count of 2 ** 53',
      Buffer.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10),
      (reader) => reader.count(),
    ],
    ['an integer that goes on', Buffer.alloc(100, 0xff), (reader) => reader.integer()],
    [
      'an integer of 2 ** 53',
      Buffer.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20),
      (reader) => reader.integer(),
    ],
    ['a time beyond all', Buffer.of(0, 0, 0, 0, 0x80, 0x80, 0x80, 1), (reader) => reader.time()],
    ['a time before 1970', Buffer.of(0x42), (reader) => reader.timeFrom(1)],
    ['a list that cannot be there', Buffer.of(9, 1, 1), (reader) => reader.length()],
    ['a text that is cut off', Buffer.of(5 * 4, 97, 97), (reader) => reader.text()],
    [
      'a giant text',
      Buffer.of(0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f),
      (reader) => reader.text(),
    ],
    ['half a UTF-16 unit', Buffer.of(3 * 4 + 2, 1, 2, 3), (reader) => reader.text()],
    ['a fourth kind of text', Buffer.of(4 + 3, 97), (reader) => reader.text()],
  ]

  it.each(cases)('%s: says so, and where', (_what, bytes, read) => {
    const reader = new ByteReader(bytes)
    expect(() => read(reader)).toThrow(MalformedBytes)
    expect(reader.malformed('why').offset).toBe(reader.at)
  })
})

describe('raw bytes', () => {
  it('are copied as they are, few or many', () => {
    for (const length of [0, 1, 48, 49, 1_000]) {
      const bytes = Buffer.alloc(length, 7)
      expect(written((writer) => writer.raw(bytes)).equals(bytes)).toBe(true)
    }
  })
})
