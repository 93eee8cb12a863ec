/** Records of the version that is written are read; those of a newer one are refused. */
import { describe, expect, it } from 'vitest'
import { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import { NewerFormat } from '../errors.ts'
import { RECORD_HEAD, sealRecord } from '../format/format.ts'
import type { Disk } from '../disk/disk.ts'
import { readUpTo } from '../disk/disk.ts'
import type { RecordFile } from './record-file.ts'
import { FILE_HEAD, readRecords, RECORD_VERSION, RecordFileWriter } from './record-file.ts'
import { RecordWindow } from './record-file.ts'

const PATH = '/store/live-1'

/** A file with one record, which says that it is of a version. */
async function fileOf(disk: Disk, version: number): Promise<RecordFile> {
  const writer = await RecordFileWriter.create(disk, '/store', 'live-1')
  writer.add((body) => body.text('a job'))
  const { name, records, end } = writer.seal()
  await writer.finish()
  const file = await disk.open(PATH, 'write')
  const bytes = await readUpTo(file, FILE_HEAD, end - FILE_HEAD)
  const length = bytes.readUInt32LE(4)
  const link = sealRecord(bytes, 0, RECORD_HEAD + length, 0, 0x90, version)
  await file.write(bytes, FILE_HEAD)
  await file.close()
  return { name, records, end, link }
}

/** What both ways of reading find. */
async function textsOf(disk: Disk, about: RecordFile): Promise<string[]> {
  const texts: string[] = []
  await readRecords(disk, '/store', about, (bytes, body) => {
    texts.push(bytes.toString('latin1', body + 1, body + 6))
  })
  return texts
}

async function windowText(disk: Disk): Promise<string> {
  const file = await disk.open(PATH, 'read')
  try {
    return new RecordWindow(file, PATH).read(FILE_HEAD).text()
  } finally {
    await file.close()
  }
}

async function newDisk(): Promise<Disk> {
  const disk = new SimDisk()
  await disk.makeFolder('/store')
  return disk
}

describe('a record', () => {
  it('of the version that is written is read', async () => {
    const disk = await newDisk()
    expect(await textsOf(disk, await fileOf(disk, RECORD_VERSION))).toEqual(['a job'])
    expect(await windowText(disk)).toBe('a job')
  })

  it('of a newer version is refused, and told from a damaged one', async () => {
    const disk = await newDisk()
    const newer = RECORD_VERSION + 1
    const about = await fileOf(disk, newer)
    const details = { file: PATH, found: newer, known: RECORD_VERSION }
    const refused = textsOf(disk, about)
    await expect(refused).rejects.toThrow(NewerFormat)
    await expect(refused).rejects.toMatchObject({ details })
    await expect(windowText(disk)).rejects.toThrow(NewerFormat)
  })
})
