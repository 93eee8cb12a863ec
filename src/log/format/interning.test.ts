/** Interning: one instance for equal values, none mixed up, and a bound. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyPolicy, anyText } from '../../../test/support/arbitrary-specs.ts'
import { policy, retry } from '../../../test/support/specs.ts'
import type { TaskPolicy } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { Interning, MOST_KEPT } from './interning.ts'
import { readPolicy, writePolicy } from './spec-codec.ts'

function read(text: string, interning: Interning): string {
  const writer = new ByteWriter()
  writer.text(text)
  return interning.read(new ByteReader(writer.buffer, 0, writer.at))
}

function readBack(value: TaskPolicy, interning: Interning): TaskPolicy {
  const writer = new ByteWriter()
  writePolicy(writer, value)
  return readPolicy(new ByteReader(writer.buffer, 0, writer.at), interning)
}

describe('interned texts', () => {
  it('are never mixed up', () => {
    const interning = new Interning()
    fc.assert(
      fc.property(anyText, (text) => {
        expect(read(text, interning)).toBe(text)
        expect(interning.text(text)).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })

  it('are still right when more were seen than are kept', () => {
    const interning = new Interning()
    for (let i = 0; i < 3 * MOST_KEPT; i++) {
      if (read(`worker-${i}`, interning) !== `worker-${i}`) throw new Error(`worker-${i} is wrong`)
    }
    expect(read('worker-0', interning)).toBe('worker-0')
    expect(interning.text('long'.repeat(1_000))).toHaveLength(4_000)
  })

  it.each([
    ['declinate', 'macallums'],
    ['costarring', 'liquid'],
    ['+!=yG', '+!=yG\0'],
    ['+!=yG\0\0', '+!=yG'],
  ])('with the same hash are told apart: %j and %j', (one, other) => {
    const interning = new Interning()
    for (const text of [one, other, one, one, other]) expect(read(text, interning)).toBe(text)
  })

  it('that are cut off are refused', () => {
    const interning = new Interning()
    for (const bytes of [Buffer.of(), Buffer.of(8), Buffer.of(8, 97), Buffer.of(0x80)]) {
      expect(() => interning.read(new ByteReader(bytes))).toThrow(MalformedBytes)
    }
  })
})

describe('interned policies', () => {
  it('are one frozen object if they are equal, and as many as they are different', () => {
    const interning = new Interning()
    const limits = [{ key: 'k', concurrency: null, rate: { count: 1, perMs: 2 } }]
    const one = readBack(policy({ limits }), interning)
    const same = readBack(policy({ limits: structuredClone(limits) }), interning)
    expect(same).toBe(one)
    expect(Object.isFrozen(one)).toBe(true)
    expect(Object.isFrozen(one.retry)).toBe(true)
    expect(Object.isFrozen(one.retry.delaysMs)).toBe(true)
    expect(Object.isFrozen(one.limits[0]?.rate)).toBe(true)
    const other = readBack(policy({ limits, retry: retry({ jitter: -0 }) }), interning)
    expect(other).not.toBe(one)
    expect(other.retry.jitter).toBe(-0)
  })

  it('are never mixed up', () => {
    const interning = new Interning()
    fc.assert(
      fc.property(anyPolicy, (value) => {
        expect(readBack(value, interning)).toStrictEqual(value)
        expect(readBack(value, interning)).toBe(readBack(structuredClone(value), interning))
      }),
    )
  })

  it('are still right when more were seen than are kept', () => {
    const interning = new Interning()
    for (let i = 0; i < 2 * MOST_KEPT + 5; i++) {
      const { leaseMs } = readBack(policy({ leaseMs: i + 1 }), interning)
      if (leaseMs !== i + 1) throw new Error(`lease time ${i + 1} came back as ${leaseMs}`)
    }
  })

  it('must be as long as they say', () => {
    const writer = new ByteWriter()
    writePolicy(writer, policy())
    const bytes = Buffer.from(writer.buffer.subarray(0, writer.at))
    for (const change of [-1, 1]) {
      const wrong = Buffer.concat([bytes, Buffer.alloc(4)])
      wrong[0] = (bytes[0] as number) + change
      expect(() => readPolicy(new ByteReader(wrong), new Interning())).toThrow(MalformedBytes)
    }
  })
})
