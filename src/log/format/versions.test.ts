/** Entries of older versions are read as new ones; those of newer versions are refused. */
import { describe, expect, it } from 'vitest'
import { ENTRY_TYPES } from '../../../test/support/arbitrary-entries.ts'
import type { EntryOf } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { ENTRY_CODES, writeEntry } from './entry-codec.ts'
import { Interning } from './interning.ts'
import type { History, OlderEntry } from './versions.ts'
import { CURRENT_VERSION, currentVersions, HISTORY, NewerEntry, upcast } from './versions.ts'

const CODE = ENTRY_CODES.JobReleased

const released: EntryOf<'JobReleased'> = {
  type: 'JobReleased',
  at: 1_763_000_000_000,
  version: 4,
  job: 'a',
  by: 'ann',
  reason: '',
}

/**
 * A made-up past: the first version knew neither who released nor why, the second one had
 * both in one text.
 */
const PAST: History = {
  JobReleased: [
    {
      name: 'job-released-says-who-and-why',
      read: (reader) => ({
        type: 'JobReleased',
        at: reader.time(),
        version: reader.count(),
        job: reader.text(),
      }),
      upcast: (entry) => ({ ...entry, note: 'somebody: unknown' }),
    },
    {
      name: 'job-released-splits-its-note',
      read: (reader, interning) => ({
        type: 'JobReleased',
        at: reader.time(),
        version: reader.count(),
        job: reader.text(),
        note: interning.read(reader),
      }),
      upcast: ({ note, ...entry }): OlderEntry => {
        const [by, reason] = String(note).split(': ')
        return { ...entry, by, reason }
      },
    },
  ],
}

function readAs(version: number, history: History, ...texts: string[]): unknown {
  const writer = new ByteWriter()
  writer.time(released.at)
  writer.count(released.version)
  for (const text of texts) writer.text(text)
  const reader = new ByteReader(writer.buffer, 0, writer.at)
  const entry = upcast(reader, CODE, version, new Interning(), history)
  expect(reader.at).toBe(reader.end)
  return entry
}

describe('an entry of an older version', () => {
  it('is brought up to date, one version after the other', () => {
    expect(readAs(1, PAST, 'a')).toEqual({ ...released, by: 'somebody', reason: 'unknown' })
    expect(readAs(2, PAST, 'a', 'bob: late')).toEqual({ ...released, by: 'bob', reason: 'late' })
    expect(readAs(3, PAST, 'a', 'ann', '')).toEqual(released)
    expect(currentVersions(PAST)).toEqual({ ...currentVersions({}), JobReleased: 3 })
  })

  it('that never was is refused', () => {
    expect(() => readAs(0, PAST, 'a')).toThrow(MalformedBytes)
    expect(() => readAs(0, HISTORY, 'a')).toThrow(MalformedBytes)
  })
})

describe('an entry of a newer version', () => {
  it('is refused, and told from a damaged one', () => {
    expect(() => readAs(4, PAST, 'a')).toThrow(NewerEntry)
    expect(() => readAs(2, HISTORY, 'a')).toThrow(
      /JobReleased in version 2, .* up to 1: a newer Pawl wrote it/,
    )
  })
})

describe('the versions of today', () => {
  it('are 1 for every type, and are read as they are written', () => {
    expect(HISTORY).toEqual({})
    for (const type of ENTRY_TYPES) expect(CURRENT_VERSION[type]).toBe(1)
    const writer = new ByteWriter()
    writeEntry(writer, released)
    const reader = new ByteReader(writer.buffer, 0, writer.at)
    expect(upcast(reader, CODE, CURRENT_VERSION.JobReleased, new Interning())).toEqual(released)
  })

  it('know that a type without a name here was written by a newer Pawl', () => {
    const reader = new ByteReader(Buffer.alloc(64))
    expect(() => upcast(reader, 35, 1, new Interning())).toThrow(NewerEntry)
  })
})
