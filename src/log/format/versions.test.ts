/** Entries of older versions are read as new ones; those of newer versions are refused. */
import { describe, expect, it } from 'vitest'
import { ENTRY_TYPES } from '../../../test/support/arbitrary-entries.ts'
import { child, plain, promise } from '../../../test/support/specs.ts'
import type { Entry, EntryOf, JobSpec } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { ENTRY_CODES, writeEntry } from './entry-codec.ts'
import { Interning } from './interning.ts'
import type { History, OlderEntry } from './versions.ts'
import { CURRENT_VERSION, currentVersions, HISTORY, NewerEntry, upcast } from './versions.ts'

const CODE = ENTRY_CODES.JobCancelled

const cancelled: EntryOf<'JobCancelled'> = {
  type: 'JobCancelled',
  at: 1_763_000_000_000,
  version: 4,
  job: 'a',
  by: 'ann',
  reason: '',
}

/**
 * A made-up past: the first version knew neither who cancelled nor why, the second one had
 * both in one text.
 */
const PAST: History = {
  JobCancelled: [
    {
      name: 'job-cancelled-says-who-and-why',
      read: (reader) => ({
        type: 'JobCancelled',
        at: reader.time(),
        version: reader.count(),
        job: reader.text(),
      }),
      upcast: (entry) => ({ ...entry, note: 'somebody: unknown' }),
    },
    {
      name: 'job-cancelled-splits-its-note',
      read: (reader, interning) => ({
        type: 'JobCancelled',
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
  writer.time(cancelled.at)
  writer.count(cancelled.version)
  for (const text of texts) writer.text(text)
  const reader = new ByteReader(writer.buffer, 0, writer.at)
  const entry = upcast(reader, CODE, version, new Interning(), history)
  expect(reader.at).toBe(reader.end)
  return entry
}

describe('an entry of an older version', () => {
  it('is brought up to date, one version after the other', () => {
    expect(readAs(1, PAST, 'a')).toEqual({ ...cancelled, by: 'somebody', reason: 'unknown' })
    expect(readAs(2, PAST, 'a', 'bob: late')).toEqual({ ...cancelled, by: 'bob', reason: 'late' })
    expect(readAs(3, PAST, 'a', 'ann', '')).toEqual(cancelled)
    expect(currentVersions(PAST)).toEqual({ ...currentVersions({}), JobCancelled: 3 })
  })

  it('that never was is refused', () => {
    expect(() => readAs(0, PAST, 'a')).toThrow(MalformedBytes)
    expect(() => readAs(0, HISTORY, 'a')).toThrow(MalformedBytes)
  })
})

/** Of an entry whose spec, or whose child's, is of this version. */
function entriesOf(version: number): Entry[] {
  const spec = plain({ version, tags: ['x'] })
  const at = { at: 1_763_000_000_000, version: 1, job: 'a' }
  return [
    { type: 'JobSubmitted', ...at, spec, dueAt: at.at },
    {
      type: 'ExecutionCommitted',
      ...at,
      stage: 0,
      segment: 0,
      lease: 1,
      output: '1',
      effects: [promise(), child(spec)],
    },
  ]
}

/** `without`: so many of its last bytes were not there in that version. */
function readBack(entry: Entry, version: number, without = 0): Entry {
  const writer = new ByteWriter()
  writeEntry(writer, entry)
  const reader = new ByteReader(writer.buffer, 0, writer.at - without)
  const read = upcast(reader, ENTRY_CODES[entry.type], version, new Interning())
  expect(reader.at).toBe(reader.end)
  return read
}

/** Who and why come last, and an empty text is one byte. */
const WHO_AND_WHY = 2
const nobody = { by: '', reason: '' }

describe('what was submitted before definitions had versions', () => {
  it('is of the first version', () => {
    // The bytes are those that the first version of the entry had: nothing says a version.
    for (const entry of entriesOf(1)) expect(readBack(entry, 1)).toEqual(entry)
  })

  it('cannot say a version: one that does is damaged', () => {
    for (const entry of entriesOf(2)) {
      expect(readBack(entry, 2)).toEqual(entry)
      expect(() => readBack(entry, 1)).toThrow(MalformedBytes)
    }
  })

  it('gets it from an upcaster with a name', () => {
    const [submitted, committed] = entriesOf(1) as [Entry, Entry]
    const withoutVersion = JSON.parse(
      JSON.stringify([submitted, committed], (field, value: unknown) =>
        field === 'spec' || field === 'child' ? omitVersion(value) : value,
      ),
    ) as [OlderEntry, OlderEntry]
    expect(withoutVersion).not.toEqual([submitted, committed])
    const [first] = HISTORY.JobSubmitted ?? []
    expect(first?.name).toBe('job-submitted-says-the-version-of-its-definition')
    expect(first?.upcast(withoutVersion[0])).toEqual(submitted)
    const [second] = HISTORY.ExecutionCommitted ?? []
    expect(second?.name).toBe('execution-committed-says-the-version-of-its-children')
    expect(second?.upcast(withoutVersion[1])).toEqual(committed)
  })
})

function omitVersion(value: unknown): unknown {
  if (value === null) return null
  const { version: _version, ...spec } = value as JobSpec
  return spec
}

describe('what was run again before that was kept with who and why', () => {
  const asked = { by: 'Zoë', reason: 'the disk is whole again' }
  const say = (entry: Entry, by: typeof asked | null): Entry =>
    JSON.parse(
      JSON.stringify(entry, (field, value: unknown) =>
        (field === 'spec' || field === 'child') && value !== null
          ? { ...(value as JobSpec), rerunOf: 'b', asked: by }
          : value,
      ),
    ) as Entry

  it.each(['JobSubmitted', 'ExecutionCommitted'] as const)('was by nobody: %s', (type) => {
    const older = CURRENT_VERSION[type] - 1
    const entry = entriesOf(1).find((one) => one.type === type) as Entry
    expect(readBack(say(entry, null), older)).toEqual(say(entry, null))
    expect(readBack(say(entry, asked), older + 1)).toEqual(say(entry, asked))
    // It cannot say by whom: one that does is damaged.
    expect(() => readBack(say(entry, asked), older)).toThrow(MalformedBytes)
    const last = HISTORY[type]?.at(-1)
    expect(last?.name).toMatch(/-says-who-had-(?:it|its-children)-run-again$/)
    const without = JSON.stringify(say(entry, null)).replaceAll('"asked":null,', '')
    expect(last?.upcast(JSON.parse(without) as OlderEntry)).toEqual(say(entry, null))
  })
})

describe('a queue that was configured before queues could age', () => {
  const at = { at: 1_763_000_000_000, version: 1, queue: 'q' }
  const configured: EntryOf<'QueueConfigured'> = {
    type: 'QueueConfigured',
    ...at,
    concurrency: 3,
    rate: { count: 2, perMs: 50 },
    ageingMs: null,
    ...nobody,
  }

  it('does not', () => {
    // The bytes are those that the first version had: nothing says an age.
    expect(readBack(configured, 1, WHO_AND_WHY)).toEqual(configured)
    const { ageingMs: _ageingMs, ...older } = configured
    const [first] = HISTORY.QueueConfigured ?? []
    expect(first?.name).toBe('queue-configured-says-how-its-tasks-age')
    expect(first?.upcast(older)).toEqual(configured)
  })

  it('cannot say that it does: one that does is damaged', () => {
    const ageing: Entry = { ...configured, ageingMs: 600_000 }
    expect(readBack(ageing, 2, WHO_AND_WHY)).toEqual(ageing)
    expect(() => readBack(ageing, 1, WHO_AND_WHY)).toThrow(MalformedBytes)
  })
})

describe('what was asked for before the log kept who and why', () => {
  const at = { at: 1_763_000_000_000, version: 7 }
  const bounds = { concurrency: 3, rate: { count: 2, perMs: 50 }, ageingMs: 600_000 }
  type Asked = 'JobReleased' | 'QueueConfigured' | 'ScheduleSet' | 'ScheduleRemoved'
  const asked: Extract<Entry, { type: Asked }>[] = [
    { type: 'JobReleased', ...at, job: 'a', ...nobody },
    { type: 'QueueConfigured', ...at, queue: 'q', ...bounds, ...nobody },
    { type: 'ScheduleSet', ...at, schedule: 's', definition: 'hourly', ...nobody },
    { type: 'ScheduleRemoved', ...at, schedule: 's', ...nobody },
  ]

  it.each(asked)('was by nobody, and has no reason: $type', (entry) => {
    const before = CURRENT_VERSION[entry.type] - 1
    expect(readBack(entry, before, WHO_AND_WHY)).toEqual(entry)
    const { by: _by, reason: _reason, ...older } = entry
    const last = HISTORY[entry.type]?.at(-1)
    expect(last?.name).toMatch(/^(?:job|queue|schedule)-[a-z]+-says-who-and-why$/)
    expect(last?.upcast(older)).toEqual(entry)
  })

  it.each(asked)('is told from what says both: $type', (entry) => {
    const said = { ...entry, by: 'Zoë', reason: 'the season is over' }
    expect(readBack(said, CURRENT_VERSION[entry.type])).toEqual(said)
  })
})

describe('an entry of a newer version', () => {
  it('is refused, and told from a damaged one', () => {
    expect(() => readAs(4, PAST, 'a')).toThrow(NewerEntry)
    expect(() => readAs(2, HISTORY, 'a')).toThrow(
      /JobCancelled in version 2, .* up to 1: a newer Pawl wrote it/,
    )
  })
})

describe('the versions of today', () => {
  it('are 1 for every type without a history, and are read as they are written', () => {
    for (const type of ENTRY_TYPES) {
      expect(CURRENT_VERSION[type]).toBe(1 + (HISTORY[type]?.length ?? 0))
    }
    expect(Object.keys(HISTORY)).toEqual([
      'JobSubmitted',
      'JobReleased',
      'QueueConfigured',
      'ScheduleSet',
      'ScheduleRemoved',
      'ExecutionCommitted',
    ])
    const writer = new ByteWriter()
    writeEntry(writer, cancelled)
    const reader = new ByteReader(writer.buffer, 0, writer.at)
    expect(upcast(reader, CODE, CURRENT_VERSION.JobCancelled, new Interning())).toEqual(cancelled)
  })

  it('know that a type without a name here was written by a newer Pawl', () => {
    const reader = new ByteReader(Buffer.alloc(64))
    expect(() => upcast(reader, 29, 1, new Interning())).toThrow(NewerEntry)
  })
})
