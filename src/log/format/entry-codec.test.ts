/** Entries of every type come back, and damaged ones are refused or read as something else. */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../test/model/properties/authority.ts'
import { Dice } from '../../../test/model/properties/dice.ts'
import { anyEntry, anyEntryOf, ENTRY_TYPES } from '../../../test/support/arbitrary-entries.ts'
import { anyDamage, cutOff, damaged } from '../../../test/support/damaged-bytes.ts'
import { plain } from '../../../test/support/specs.ts'
import type { Entry } from '../../kernel/index.ts'
import { NONE } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { ENTRY_CODES, entryType, readEntry, writeEntry } from './entry-codec.ts'
import { Interning } from './interning.ts'

function bytesOf(entry: Entry): Buffer {
  const writer = new ByteWriter(1)
  writeEntry(writer, entry)
  return Buffer.from(writer.buffer.subarray(0, writer.at))
}

function read(bytes: Buffer, code: number, interning = new Interning()): Entry {
  return readEntry(new ByteReader(bytes), code, interning)
}

function expectBack(entry: Entry, interning: Interning): void {
  const bytes = bytesOf(entry)
  const reader = new ByteReader(bytes)
  const copy = readEntry(reader, ENTRY_CODES[entry.type], interning)
  if (reader.at !== reader.end) throw new Error(`${entry.type}: not all of it was read`)
  if (!isDeepStrictEqual(copy, entry)) expect(copy).toStrictEqual(entry)
  // The order of the fields as well.
  if (JSON.stringify(copy) !== JSON.stringify(entry)) {
    expect(JSON.stringify(copy)).toBe(JSON.stringify(entry))
  }
}

describe('entries come back', () => {
  const interning = new Interning()

  it.each(ENTRY_TYPES)('%s, with anything in it', (type) => {
    fc.assert(
      fc.property(anyEntryOf(type), (entry) => expectBack(entry, interning)),
      { numRuns: 150 },
    )
  })

  it('all those of random runs, with their fields in the order in which the kernel made them', () => {
    const seen = new Set<string>()
    for (let seed = 0; seed < 20; seed++) {
      const authority = new Authority()
      const dice = new Dice(seed)
      for (let step = 0; step < 400; step++) authority.send(authority.next(dice.below(2 ** 32)))
      for (const entry of authority.log) {
        seen.add(entry.type)
        expectBack(entry, interning)
      }
    }
    expect([...seen].toSorted()).toEqual(ENTRY_TYPES.toSorted())
  })

  it('with the shared empty list where there are no effects', () => {
    const entry: Entry = {
      type: 'ExecutionCommitted',
      at: 1,
      version: 3,
      job: 'a',
      stage: 0,
      segment: 0,
      lease: 1,
      output: '{}',
      effects: [],
    }
    expect(read(bytesOf(entry), ENTRY_CODES[entry.type])).toHaveProperty('effects', NONE)
  })
})

describe('the numbers of the types', () => {
  it('are distinct, from 1 to 34, and lead back', () => {
    const codes = Object.values(ENTRY_CODES).toSorted((a, b) => a - b)
    expect(codes).toEqual(Array.from({ length: 34 }, (_, i) => i + 1))
    for (const type of ENTRY_TYPES) expect(entryType(ENTRY_CODES[type])).toBe(type)
    expect(entryType(0)).toBeUndefined()
    expect(entryType(35)).toBeUndefined()
  })

  it('never change: logs on disk have them', () => {
    expect(JSON.stringify(ENTRY_CODES)).toBe(
      '{"JobSubmitted":1,"JobReleased":2,"StageOpened":3,"JobCancelled":4,"JobForgotten":5,' +
        '"LeaseGranted":6,"ExecutionStarted":7,"LeaseExtended":8,"LeaseReleased":9,' +
        '"StepRecorded":10,"ExecutionCommitted":11,"EffectStarted":12,"EffectFinished":13,' +
        '"EffectFailed":14,"EffectResolved":15,"TaskFailed":16,"LeaseExpired":17,' +
        '"LeaseRevoked":18,"ReportRefused":19,"TaskStopped":20,"TaskRetried":21,' +
        '"TaskForced":22,"QueueConfigured":23,"QueuePaused":24,"QueueResumed":25,' +
        '"ScheduleSet":26,"ScheduleFired":27,"ScheduleRemoved":28,' +
        '"ExecutionSuspended":29,"WaitEnded":30,"MessageSent":31,"MessageKept":32,"TaskRescheduled":33,' +
        '"ExecutionContinued":34}',
    )
  })

  it.each([0, 35, 255])('%d is none', (code) => {
    expect(() => read(Buffer.alloc(100), code)).toThrow(MalformedBytes)
  })
})

describe('the bytes never change: logs on disk have them', () => {
  it('of a submitted job, a granted lease and a commit', () => {
    const at = 1_763_000_000_000
    const task = { at, job: 'job-1', stage: 0, segment: 0, lease: 1 }
    const entries: Entry[] = [
      { type: 'JobSubmitted', at, version: 1, job: 'job-1', spec: plain(), dueAt: at + 1 },
      {
        type: 'LeaseGranted',
        version: 2,
        ...task,
        worker: 'w',
        request: 300,
        expiresAt: at + 30_000,
        started: true,
        session: '',
        timedOut: false,
      },
      { type: 'ExecutionCommitted', version: 3, ...task, output: '"é"', effects: [] },
    ]
    expect(entries.map((entry) => bytesOf(entry).toString('hex'))).toMatchInlineSnapshot(`
      [
        "001efd7a9a0301146a6f622d3101011074657374087b7d0a001c64656661756c7400",
        "001efd7a9a0302146a6f622d310000010477ac02b0d4030100",
        "001efd7a9a0303146a6f622d310000011122c3a92200",
      ]
    `)
  })
})

describe('damaged entries', () => {
  it('that are cut off are refused', () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        for (const bytes of cutOff(bytesOf(entry))) {
          expect(() => read(bytes, ENTRY_CODES[entry.type])).toThrow(MalformedBytes)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('that say a bound of a queue that is not known are refused', () => {
    const bounds = { concurrency: null, rate: null, ageingMs: null }
    const about = { at: 0, version: 1, queue: '', by: '', reason: '' }
    const bytes = bytesOf({ type: 'QueueConfigured', ...about, ...bounds })
    const mask = bytes.length - 3
    expect(bytes[mask]).toBe(0)
    bytes[mask] = 8
    expect(() => read(bytes, ENTRY_CODES.QueueConfigured)).toThrow(MalformedBytes)
  })

  it('are refused, or read as something: they do no other harm', () => {
    const interning = new Interning()
    fc.assert(
      fc.property(anyEntry, anyDamage, fc.integer({ min: 1, max: 28 }), (entry, damage, other) => {
        const bytes = damaged(bytesOf(entry), damage)
        for (const code of [ENTRY_CODES[entry.type], other]) {
          try {
            read(bytes, code, interning)
          } catch (error) {
            if (!(error instanceof MalformedBytes)) throw error
          }
        }
      }),
      { numRuns: 5_000 },
    )
  })
})
