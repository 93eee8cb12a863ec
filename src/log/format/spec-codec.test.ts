/** Specs, policies, promises and failures come back, and no two share their bytes. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  anyFailure,
  anyParent,
  anyPolicy,
  anyPromise,
  anyRate,
  anyRetry,
  anySpec,
  anyStage,
} from '../../../test/support/arbitrary-specs.ts'
import { pipeline, plain, policy, promise, retry, stage } from '../../../test/support/specs.ts'
import type { JobSpec } from '../../kernel/index.ts'
import { LIMITS, NONE } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { Interning } from './interning.ts'
import { readFailure, writeFailure } from './spec-codec.ts'
import * as codec from './spec-codec.ts'

const interning = new Interning()

function bytesOf<T>(write: (writer: ByteWriter, value: T) => void, value: T): Buffer {
  const writer = new ByteWriter(1)
  write(writer, value)
  return Buffer.from(writer.buffer.subarray(0, writer.at))
}

function again<T>(
  value: T,
  write: (writer: ByteWriter, value: T) => void,
  read: (reader: ByteReader, interning: Interning) => T,
): T {
  const reader = new ByteReader(bytesOf(write, value))
  const copy = read(reader, interning)
  expect(reader.at).toBe(reader.end)
  return copy
}

function comesBack<T>(
  arbitrary: fc.Arbitrary<T>,
  write: (writer: ByteWriter, value: T) => void,
  read: (reader: ByteReader, interning: Interning) => T,
): void {
  fc.assert(
    fc.property(arbitrary, (value) => {
      const copy = again(value, write, read)
      expect(copy).toStrictEqual(value)
      // The order of the fields as well.
      expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
    }),
    { numRuns: 300 },
  )
}

describe('whatever is submitted or promised comes back', () => {
  it('a spec', () => comesBack(anySpec, codec.writeSpec, codec.readSpec))
  it('a policy', () => comesBack(anyPolicy, codec.writePolicy, codec.readPolicy))
  it('a stage', () => comesBack(anyStage, codec.writeStage, codec.readStage))
  it('a promise', () => comesBack(anyPromise, codec.writePromise, codec.readPromise))
  it('a failure', () => comesBack(anyFailure, writeFailure, readFailure))
  it('a retry policy', () => comesBack(anyRetry, codec.writeRetry, codec.readRetry))
  it('a rate', () => comesBack(anyRate, codec.writeRate, codec.readRate))
  it('a parent', () => comesBack(anyParent, codec.writeParent, codec.readParent))

  it('a pipeline with as many stages as there may be', () => {
    const stages = Array.from({ length: LIMITS.stages }, (_, i) =>
      stage(`stage-${i}`, {
        after: i === 0 ? [] : [`stage-${i - 1}`],
        each: i % 2 ? 'input' : null,
      }),
    )
    const spec = pipeline(stages, { priority: -LIMITS.priority })
    const copy = again(spec, codec.writeSpec, codec.readSpec)
    expect(copy).toStrictEqual(spec)
    expect(new Set(copy.stages?.map((one) => one.policy)).size).toBe(1)
  })
})

describe('the bytes', () => {
  it('are few where everything is left as it is', () => {
    expect(bytesOf(codec.writePolicy, policy())).toHaveLength(11)
    expect(bytesOf(codec.writeSpec, plain())).toHaveLength(20)
    expect(bytesOf(codec.writeSpec, plain({ version: 2 }))).toHaveLength(21)
  })

  it('of two specs are the same only if the specs are', () => {
    const base = plain()
    const changes: Partial<JobSpec>[] = [
      {},
      { type: 'tes', input: 't{}' },
      { priority: 1 },
      { priority: -1 },
      { delayMs: 1 },
      { dueAt: 0 },
      { dueAt: 1 },
      { startWithinMs: 1 },
      { key: '' },
      { key: 'a' },
      { group: 'a' },
      { rerunOf: 'a' },
      { asked: { by: 'ann', reason: 'because' } },
      { version: 2 },
      { retainMs: 0 },
      { deadlineMs: 1 },
      { deadlineAt: 1 },
      { submittedBy: 'a' },
      { metadata: 'a' },
      {
        caller: {
          job: 'a',
          stage: 0,
          segment: 0,
          name: 'a',
          run: '1',
          depth: 1,
          withCaller: true,
        },
      },
      { steps: [{ name: 'a', value: 'a' }] },
      { unique: true },
      { held: true },
      { tags: ['a'] },
      { tags: ['', 'a'] },
      { tags: ['a', ''] },
      { parent: { job: 'a', stage: 0, segment: 0, effect: 0 } },
      { parent: { job: 'a', stage: 0, segment: 1, effect: 0 } },
      { schedule: { id: 'a', tick: 0 } },
      { policy: policy({ timeoutMs: 1 }) },
      { policy: policy({ leaseMs: 1 }) },
      { policy: policy({ quarantine: 'never' }) },
      { policy: policy({ retry: retry({ delaysMs: [0] }) }) },
      { policy: policy({ retry: retry({ jitter: -0 }) }) },
      { policy: policy({ retry: retry({ backoff: 'list' }) }) },
      { policy: null },
      { policy: null, stages: [] },
      { policy: null, stages: [stage('a')] },
    ]
    const all = changes.map((change) =>
      bytesOf(codec.writeSpec, { ...base, ...change }).toString('hex'),
    )
    expect(new Set(all).size).toBe(changes.length)
    fc.assert(
      fc.property(anySpec, anySpec, (a, b) => {
        const same = bytesOf(codec.writeSpec, a).equals(bytesOf(codec.writeSpec, b))
        expect(same).toBe(JSON.stringify(a) === JSON.stringify(b) && same)
      }),
    )
  })

  it('of a policy are the same from memory as they were the first time', () => {
    const [a, b] = [policy({ queue: 'a' }), policy({ queue: 'b' })]
    const first = [a, b].map((one) => bytesOf(codec.writePolicy, one))
    const second = [a, b].map((one) => bytesOf(codec.writePolicy, one))
    expect(second).toEqual(first)
    expect(bytesOf(codec.writePolicy, { ...a })).toEqual(first[0])
  })
})

describe('what is read', () => {
  it('shares the empty list, and names', () => {
    const spec = again(plain({ type: 'send' }), codec.writeSpec, codec.readSpec)
    expect(spec.tags).toBe(NONE)
    expect(spec.policy?.limits).toBe(NONE)
    const child = again(promise({ child: plain() }), codec.writePromise, codec.readPromise)
    expect(child.child?.policy).toBe(spec.policy)
  })

  it('has no field that is not known', () => {
    const bytes = bytesOf(codec.writeSpec, plain({ asked: { by: 'ann', reason: '' } }))
    // The mask: the last bit and that of the policy, and then the next bit as well.
    expect([...bytes.subarray(0, 3)]).toEqual([0x81, 0x80, 0x04])
    bytes[2] = 0x0c
    const reader = new ByteReader(bytes)
    expect(() => codec.readSpec(reader, new Interning())).toThrow(MalformedBytes)
  })

  it('has a backoff that there is', () => {
    expect(() => codec.readRetry(new ByteReader(Buffer.of(3)))).toThrow(MalformedBytes)
  })
})
