/** Entries in a database are versioned as those of a log are: old ones are read as new ones. */
import { describe, expect, it } from 'vitest'
import type { Entry } from '../../../kernel/index.ts'
import { ByteWriter, checksumOf, ENTRY_CODES, NewerEntry } from '../../../log/index.ts'
import { Records } from './records.ts'

const AT = 1_763_000_000_000

/** The record of an entry whose body is its time, its version and texts. */
function record(type: Entry['type'], version: number, ...texts: string[]): Uint8Array {
  const writer = new ByteWriter()
  writer.u8(ENTRY_CODES[type])
  writer.u8(version)
  writer.time(AT)
  writer.count(4)
  for (const text of texts) writer.text(text)
  writer.u32(checksumOf(writer.buffer, 0, writer.at))
  return Buffer.from(writer.buffer.subarray(0, writer.at))
}

describe('an entry in a database', () => {
  const released = { type: 'JobReleased', at: AT, version: 4, job: 'a' }
  const removed = { type: 'ScheduleRemoved', at: AT, version: 4, schedule: 's' }

  it('that was written before it said who and why is by nobody, and has no reason', () => {
    const records = new Records()
    const nobody = { by: '', reason: '' }
    expect(records.entry(record('JobReleased', 1, 'a'), 1)).toEqual({ ...released, ...nobody })
    expect(records.entry(record('ScheduleRemoved', 1, 's'), 2)).toEqual({ ...removed, ...nobody })
  })

  it('is written as one that says both', () => {
    const records = new Records()
    const entry = { ...released, by: 'ann', reason: 'paid' } as Entry
    expect(records.ofEntry(entry)).toEqual(record('JobReleased', 2, 'a', 'ann', 'paid'))
    expect(records.entry(records.ofEntry(entry), 1)).toEqual(entry)
  })

  it('stays as it is, whatever is written behind it, small or large', () => {
    const records = new Records()
    const entries = Array.from({ length: 600 }, (_, i) => {
      const reason = 'x'.repeat(i % 50 === 0 ? 90_000 + i : i)
      return { ...released, by: `ann ${i}`, reason } as Entry
    })
    const written = entries.map((entry) => records.ofEntry(entry))
    expect(written.map((one, i) => records.entry(one, i))).toEqual(entries)
    // A large one keeps no memory but its own.
    expect(written[50]?.buffer.byteLength).toBe(written[50]?.byteLength)
  })

  it('of a version that is not known yet is refused, and is no damage', () => {
    const newer = record('JobReleased', 3, 'a', 'ann', 'paid')
    expect(() => new Records().entry(newer, 1)).toThrow(NewerEntry)
  })
})
