/**
 * `docs/log-format.md` and the code say the same. A reader that takes everything from the tables
 * of the page (`page-reader.ts`) must find in a store what the project's own reader finds, and
 * must understand whatever the project's own writers write.
 */
import type { Entry } from '../../../src/kernel/index.ts'
import { redactEntry } from '../../../src/kernel/index.ts'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ByteReader, ByteWriter } from '../../../src/log/format/bytes.ts'
import { listCheckpoints } from '../../../src/log/checkpoint/manifest.ts'
import { ENTRY_CODES, writeEntry } from '../../../src/log/format/entry-codec.ts'
import * as format from '../../../src/log/format/format.ts'
import { Group } from '../../../src/log/writer/group.ts'
import { Interning } from '../../../src/log/format/interning.ts'
import { CHECKPOINT_FORMAT } from '../../../src/log/checkpoint/manifest.ts'
import { realDisk } from '../../../src/log/disk/real-disk.ts'
import { decodeEntry } from '../../../src/log/segments/log-reader.ts'
import { writeQueue, writeSchedule } from '../../../src/log/format/queue-codec.ts'
import { readJob, writeJob } from '../../../src/log/format/record-codec.ts'
import { FILE_HEAD, readRecords, RECORD_VERSION } from '../../../src/log/checkpoint/record-file.ts'
import { RECOVERY_CASES } from '../../../src/log/recovery/recovery-cases.ts'
import { hashKey, hashText } from '../../../src/log/checkpoint/hash-index.ts'
import { readLog } from '../../../src/log/recovery/tail.ts'
import { CURRENT_VERSION } from '../../../src/log/format/versions.ts'
import { MARKER_VERSION, writeMarker } from '../../../src/log/format/checkpoint-marker.ts'
import { tellStory } from '../../golden-directories/directory.ts'
import { expectedOf, goldenNames, HERE } from '../../golden-directories/golden-formats.ts'
import { anyEntryOf, ENTRY_TYPES } from '../../support/arbitrary-entries.ts'
import { anyJob, anyQueue, anySchedule } from '../../support/arbitrary-records.ts'
import { ROOT } from '../tidy/tree.ts'
import { table } from './blocks.ts'
import { PageReader, withDeadline } from './page-reader.ts'
import { tableOf } from './page-tables.ts'

const page = readFileSync(join(ROOT, 'docs', 'log-format.md'), 'utf8')
const reader = new PageReader(page)

function bytesOf(write: (writer: ByteWriter) => void): Buffer {
  const writer = new ByteWriter(16)
  write(writer)
  return Buffer.from(writer.buffer.subarray(0, writer.at))
}

/** A structure of the page, read to its end. */
function read(structure: string, bytes: Buffer): unknown {
  const cursor = { bytes, at: 0 }
  const values = reader.layout.structure(structure, cursor)
  expect(cursor.at, `all of ${structure} is read`).toBe(bytes.length)
  return values
}

describe('the tables of the page', () => {
  it('have the sizes of the code', () => {
    const sizes = {
      'unit of a position': format.UNIT,
      'segment head': format.SEGMENT_HEAD,
      'group head': format.GROUP_HEAD,
      'group alignment': format.GROUP_ALIGN,
      trailer: format.TRAILER,
      'record head': format.RECORD_HEAD,
      sector: format.SECTOR,
      'record file head': FILE_HEAD,
    }
    for (const [what, bytes] of Object.entries(sizes)) expect(reader.size(what), what).toBe(bytes)
  })

  it('have the number of every entry, and no other', () => {
    const rows = tableOf(page, 'Entries', 'Number').rows
    const numbers = rows.map(([number, entry = '']) => [entry, Number(number)])
    expect(Object.fromEntries(numbers)).toEqual(ENTRY_CODES)
    expect(rows).toHaveLength(Object.keys(ENTRY_CODES).length)
  })

  it('have the codes of other records', () => {
    const codes = tableOf(page, 'Records', 'Code').rows.map(([code]) => code)
    expect(codes).toEqual(['1 to 127', `0x${format.MARKER_CODE.toString(16)}`, '0x90'])
  })

  it('have the versions in which the code writes', () => {
    const rows = tableOf(page, 'Versions', 'What', 'Version', 'Where it stands').rows
    const raised = Object.entries(CURRENT_VERSION).filter(([, version]) => version > 1)
    expect(raised, 'the page says how an older version is read, and page-reader.ts does').toEqual(
      [],
    )
    expect(Object.fromEntries(rows.map(([what, version]) => [what, Number(version)]))).toEqual({
      log: format.FORMAT,
      checkpoint: CHECKPOINT_FORMAT,
      entry: 1,
      marker: MARKER_VERSION,
      job: RECORD_VERSION,
    })
  })

  it('have the table of recovery, case for case', () => {
    const rows = RECOVERY_CASES.map(({ name, verdict, why }) => [name, verdict, why])
    expect(page, 'what it must be').toContain(table(['Found', 'Then', 'Why'], rows))
  })
})

describe('a reader that was written from the page alone', () => {
  let folder = ''

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'pawl-page-'))
    await tellStory(folder)
  })

  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  it('imports nothing of the code, and nothing but its own files and Node', () => {
    const imports = ['page-reader.ts', 'page-layout.ts', 'page-tables.ts'].flatMap((file) => {
      const text = readFileSync(join(ROOT, 'test', 'repo', 'docs', file), 'utf8')
      return [...text.matchAll(/ from '([^']+)'/g)].map((match) => match[1] as string)
    })
    expect(imports.length).toBeGreaterThan(5)
    expect(imports.filter((from) => !/^(?:node:|\.\/page-)/.test(from))).toEqual([])
  })

  it('reads the same entries, of every type, at the same positions', async () => {
    const expected: unknown[] = []
    const interning = new Interning()
    await readLog(realDisk, folder, 0, ({ code, length, version }, position, bytes, body) => {
      if (code === format.MARKER_CODE) return
      expected.push(decodeEntry(bytes, body, length, code, version, position, interning))
    })
    const entries = reader.entries(folder)
    expect(entries).toEqual(expected)
    expect(new Set(entries.map(({ entry }) => entry['type']))).toEqual(
      new Set(Object.keys(ENTRY_CODES)),
    )
    expect(readdirSync(folder).filter((name) => name.startsWith('log-'))).toHaveLength(3)
  })

  it('finds the mark at the end of the log', () => {
    const last = reader.records(folder).at(-1)
    const mark = reader.mark(folder)['position'] as number
    expect(mark).toBeGreaterThan(last?.position ?? Infinity)
    expect(mark % 8).toBe(0)
  })

  it('reads the same checkpoints: manifests, jobs, and the markers where they were made', async () => {
    const { manifests } = await listCheckpoints(realDisk, folder)
    expect(manifests).toHaveLength(2)
    const markers = manifests.map(({ position, marker }) => ({ position, marker }))
    expect(reader.markers(folder)).toEqual(markers.toReversed())
    expect(markers[0]?.marker.queues).not.toEqual([])
    const names = readdirSync(folder).filter((name) => name.startsWith('checkpoint-'))
    for (const [i, name] of names.toReversed().entries()) {
      const manifest = manifests[i] as (typeof manifests)[number]
      const found = reader.checkpoint(folder, name)
      expect(found.manifest).toEqual(manifest)
      const files = [manifest.live, ...manifest.finishedFiles]
      for (const [j, { jobs }] of [found.live, ...found.finishedFiles].entries()) {
        const expected: unknown[] = []
        // oxlint-disable-next-line no-await-in-loop -- few, and one after the other
        await readRecords(realDisk, folder, files[j] as never, (bytes, body, length, offset) => {
          const record = readJob(new ByteReader(bytes, body, body + length), new Interning())
          expected.push({ ...record, offset })
        })
        expect(jobs).toEqual(expected)
        expect(jobs).not.toEqual([])
      }
    }
    expect(manifests[0]?.finishedFiles.some(({ gone }) => gone.length > 0)).toBe(true)
  })

  it('finds the indexes of finished and live jobs to be as the page says', () => {
    for (const name of readdirSync(folder).filter((one) => one.startsWith('checkpoint-'))) {
      const { live, finishedFiles } = reader.checkpoint(folder, name)
      const sorted = live.jobs.toSorted((a, b) => first(a.job) - first(b.job))
      expect(live.columns).toEqual({
        firsts: sorted.map(({ job }) => first(job)),
        offsets: sorted.map(({ offset }) => offset),
      })
      for (const { about, jobs, columns, cells } of finishedFiles) {
        const types = jobs.map(({ job }) => (job['spec'] as { type: string }).type)
        expect(columns['cells']?.map((cell) => cells[cell]?.['type'])).toEqual(types)
        expect(columns['offsets']).toEqual(jobs.map(({ offset }) => offset))
        expect(columns['firsts']).toEqual(jobs.map(({ job }) => first(job)))
        expect(columns['idHashes']).toEqual(jobs.map(({ job }) => fnv(job['id'] as string)))
        expect(columns['keyHashes']).toEqual(jobs.map(({ job }) => keyHash(job['spec'] as never)))
        const kinds = jobs.map(({ job }) => kindOf(job['spec'] as never))
        const numbers = [...new Set(kinds)]
        expect(about.kinds.map(kindOf)).toEqual(numbers)
        const rowsOf = numbers.map((kind) => kinds.filter((one) => one === kind).length)
        expect(about.kinds.map(({ rows }) => rows)).toEqual(rowsOf)
        expect(columns['byFirst']).toEqual(inOrder(columns['firsts'] as number[]))
        const byKind = kinds.map((kind) => numbers.indexOf(kind))
        expect(columns['byEnd']).toEqual(inOrder(byKind, columns['ends'] as number[]))
        expect(columns['ids']).toEqual(slotsOf(columns['idHashes'] as number[]))
        const kept = jobs.map(({ job }) => {
          const spec = job['spec'] as { type: string; key: string | null; unique: boolean }
          return spec.unique ? 0 : keyHash(spec)
        })
        expect(columns['keys']).toEqual(slotsOf(kept))
      }
    }
  })

  it.each(goldenNames())('reads the golden directory of %s', (name) => {
    const store = join(HERE, name, 'store')
    const entries = reader.entries(store)
    // The files have an erased job as it was until they are compacted; the store shows it redacted.
    const erased = new Set(
      entries.flatMap(({ entry }) => (entry.type === 'JobErased' ? [entry.job] : [])),
    )
    expect(erased.size).toBeGreaterThan(0)
    const shown = entries.map(({ position, entry }) => {
      const isErased = 'job' in entry && erased.has(entry.job)
      return { position, entry: isErased ? redactEntry(entry as unknown as Entry) : entry }
    })
    expect(shown).toEqual(expectedOf(name).entries)
    const manifests = readdirSync(store).filter((one) => one.startsWith('checkpoint-'))
    for (const one of manifests) expect(reader.checkpoint(store, one).live.jobs).not.toEqual([])
  })
})

/** The hash of the page, written down a second time. */
function fnv(text: string): number {
  let hash = 0x811c9dc5n
  for (let i = 0; i < text.length; i++) {
    hash = ((hash ^ BigInt(text.charCodeAt(i))) * 0x01000193n) & 0xffffffffn
  }
  return Number(hash) || 1
}

function keyHash(spec: { type: string; key: string | null }): number {
  const { type, key } = spec
  return key === null ? 0 : fnv(`${type.length}:${type}${key}`)
}

function kindOf({ type, retainMs }: { type: string; retainMs: number | null }): string {
  return `${type} ${retainMs}`
}

/** Rows in order of their columns, and then by row. */
function inOrder(...columns: readonly (readonly number[])[]): number[] {
  const rows = (columns[0] ?? []).map((_, row) => row)
  return rows.toSorted((a, b) => {
    for (const column of columns) {
      const difference = (column[a] as number) - (column[b] as number)
      if (difference !== 0) return difference
    }
    return a - b
  })
}

function first(job: Readonly<Record<string, unknown>>): number {
  return job['firstPosition'] as number
}

function slotsOf(hashes: readonly number[]): number[] {
  let size = 8
  while (size < 2 * hashes.length) size *= 2
  const slots = Array.from({ length: size }, () => 0)
  for (const [row, hash] of hashes.entries()) {
    if (hash === 0) continue
    let slot = hash % size
    while (slots[slot] !== 0) slot = (slot + 1) % size
    slots[slot] = row + 1
  }
  return slots
}

describe('whatever is written, the page describes', () => {
  it.each(ENTRY_TYPES)('%s, with anything in it', (type) => {
    fc.assert(
      fc.property(anyEntryOf(type), (entry) => {
        const bytes = bytesOf((writer) => writeEntry(writer, entry))
        expect({ type, ...(read(type, bytes) as object) }).toEqual(entry)
      }),
      { numRuns: 50 },
    )
  })

  it('jobs with their tasks, with anything in them', () => {
    fc.assert(
      fc.property(anyJob, (any) => {
        const bytes = bytesOf((writer) => writeJob(writer, any.job, any.stages))
        const { nextStage: _next, ...job } = read('job', bytes) as Record<string, unknown>
        expect(withDeadline(job)).toEqual({ ...any.job, stages: any.stages })
      }),
      { numRuns: 200 },
    )
  })

  it('queues, schedules and markers', () => {
    fc.assert(
      fc.property(anyQueue, anySchedule, (queue, schedule) => {
        expect(
          read(
            'queue',
            bytesOf((writer) => writeQueue(writer, queue)),
          ),
        ).toEqual(queue)
        const bytes = bytesOf((writer) => writeSchedule(writer, schedule))
        expect(read('schedule', bytes)).toEqual(schedule)
      }),
    )
    const marker = {
      now: 1_700_000_000_000,
      queues: [{ name: 'größe', fullAt: 1.5 }],
      limits: [{ name: 'api', fullAt: 2 ** 50 + 0.25 }],
    }
    expect(
      read(
        'marker',
        bytesOf((writer) => writeMarker(writer, marker)),
      ),
    ).toEqual(marker)
  })

  it('hashes of ids and keys', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (type, key) => {
        expect(hashText(type)).toBe(fnv(type))
        expect(hashKey(type, key)).toBe(keyHash({ type, key }))
      }),
    )
  })
})

describe('a page that is wrong', () => {
  const entry = fc.sample(anyEntryOf('LeaseGranted'), { numRuns: 1, seed: 1 })[0]
  const bytes = bytesOf((writer) => writeEntry(writer, entry as never))

  it.each([
    [
      'with a field in the wrong place',
      'worker: text; request: count',
      'request: count; worker: text',
    ],
    ['without a field', 'request: count; ', ''],
    [
      'with a time that is no difference',
      'expiresAt: near at; *grant*',
      'expiresAt: time; *grant*',
    ],
  ])('%s is noticed', (_what, right, wrong) => {
    const row = page.split('\n').find((line) => line.startsWith('| 6 |')) as string
    expect(row).toContain(right)
    const changed = new PageReader(page.replace(row, row.replace(right, wrong)))
    const attempt = (): void => {
      const cursor = { bytes, at: 0 }
      const values = changed.layout.structure('LeaseGranted', cursor)
      expect(cursor.at).toBe(bytes.length)
      expect({ type: 'LeaseGranted', ...values }).toEqual(entry)
    }
    expect(attempt).toThrow()
  })

  it.each([
    ['another magic', 'u32 always 0x5041574c', 'u32 always 0x5041574d'],
    ['another checksum', 'u32 of 4 to 64', 'u32 of 0 to 64'],
    ['another offset', '| 8 | position | f64 |', '| 16 | position | f64 |'],
    ['another trailer', '0x5ac3963c', '0x5ac3963d'],
    ['another alignment', '| group alignment | 64 |', '| group alignment | 96 |'],
  ])('with %s does not read the example', (_what, right, wrong) => {
    expect(page).toContain(right)
    const changed = new PageReader(page.replaceAll(right, wrong))
    expect(() => changed.group(exampleBytes(), 0, 0, 0)).toThrow(/./)
    expect(() => reader.group(exampleBytes(), 0, 0, 0)).not.toThrow()
  })
})

/** The example's bytes, line by line: an offset, bytes, and what they are. */
function exampleLines(): { offset: number; bytes: Buffer; what: string }[] {
  const block = /```text\n([\s\S]*?)```/.exec(page.slice(page.indexOf('## An example')))?.[1] ?? ''
  return block
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, offset = '', hex = '', what = ''] =
        /^ *(\d+) {2}((?:[0-9a-f]{2} )*[0-9a-f]{2}) +(.+)$/.exec(line) ?? []
      return { offset: Number(offset), bytes: Buffer.from(hex.replaceAll(' ', ''), 'hex'), what }
    })
}

function exampleBytes(): Buffer {
  return Buffer.concat(exampleLines().map(({ bytes }) => bytes))
}

describe('the example of the page', () => {
  const entry = {
    type: 'LeaseGranted',
    at: 1_700_000_000_000,
    version: 2,
    job: 'café',
    stage: 0,
    segment: 0,
    lease: 1,
    worker: 'w1',
    request: 1,
    expiresAt: 1_700_000_030_000,
    started: true,
    session: 's',
    timedOut: false,
  } as const

  it('names every byte once, in order', () => {
    let offset = 0
    for (const line of exampleLines()) {
      expect(line.offset).toBe(offset)
      expect(line.what).not.toBe('')
      offset += line.bytes.length
    }
    expect(offset).toBe(128)
  })

  it('is what the code writes', () => {
    const group = new Group()
    group.begin(0, 0)
    group.add(entry, 0)
    expect(exampleBytes()).toEqual(Buffer.from(group.seal(format.SEGMENT_HEAD)))
  })

  it('is read by the page', () => {
    const { records, end } = reader.group(exampleBytes(), 0, 0, 0)
    expect(end).toBe(128)
    expect(records.map((record) => reader.entry(record))).toEqual([
      { position: 8, before: 0, entry },
    ])
  })

  it('says beside the bytes what they are', () => {
    for (const { bytes, what } of exampleLines()) {
      const said = /: ([\d,]+)$/.exec(what)?.[1]
      if (said === undefined) continue
      expect(bytes.readUIntLE(0, Math.min(bytes.length, 6)), what).toBe(
        Number(said.replaceAll(',', '')),
      )
    }
  })
})
