/** When the writer writes: which callers a group waits for, and that it writes one group at a time. */
import { basename } from 'node:path'
import { expect, it } from 'vitest'
import { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import type { Entry } from '../../kernel/index.ts'
import { createMark } from '../segments/durable-mark.ts'
import type { Access, Disk, DiskFile } from '../disk/disk.ts'
import { LogWriter } from './log-writer.ts'

const FOLDER = '/store'
const STORE_ID = '00'.repeat(16)

/** A log on a disk whose writes end when the test says so. */
class Setting {
  /** Groups whose write was begun, and how many of these are not done. */
  begun = 0
  writing = 0
  mostWriting = 0
  readonly #writes: (() => void)[] = []
  writer!: LogWriter
  #entries = 0

  async open(): Promise<this> {
    const sim = new SimDisk()
    await sim.makeFolder(FOLDER)
    await createMark(sim, FOLDER, STORE_ID)
    const open = async (path: string, access: Access): Promise<DiskFile> => {
      const file = await sim.open(path, access)
      const isLog = access === 'write-through' && basename(path).startsWith('log-')
      return isLog ? this.#slow(file) : file
    }
    const disk: Disk = {
      makeFolder: (path) => sim.makeFolder(path),
      list: (path) => sim.list(path),
      open,
      rename: (from, to) => sim.rename(from, to),
      remove: (path) => sim.remove(path),
      syncFolder: (path) => sim.syncFolder(path),
    }
    const options = { segmentBytes: 65_536, reserveBytes: 0, now: () => 1_000 }
    const start = { segments: [], storeId: STORE_ID, end: 0, link: 0 }
    this.writer = await LogWriter.open(disk, FOLDER, options, start)
    return this
  }

  #slow(file: DiskFile): DiskFile {
    const write = async (bytes: Uint8Array, at: number): Promise<number> => {
      this.begun += 1
      this.writing += 1
      this.mostWriting = Math.max(this.mostWriting, this.writing)
      await new Promise<void>((resolve) => {
        this.#writes.push(resolve)
      })
      this.writing -= 1
      return file.write(bytes, at)
    }
    return {
      size: () => file.size(),
      read: (into, at) => file.read(into, at),
      readNow: (into, at) => file.readNow(into, at),
      write,
      writeNow: (bytes, at) => file.writeNow(bytes, at),
      sync: () => file.sync(),
      close: () => file.close(),
    }
  }

  /** A caller makes an entry and waits for it. */
  async write(then: () => void = () => undefined): Promise<void> {
    this.#entries += 1
    const queue = `q-${this.#entries}`
    const entry: Entry = { type: 'QueuePaused', at: 1_000, version: 1, queue, by: '', reason: '' }
    this.writer.append(entry, 0)
    await this.writer.durable()
    then()
  }

  /** What is being written is done. */
  async endWrites(): Promise<void> {
    this.endWriteNow()
    await this.turn()
  }

  /** The same, before the event loop turns. */
  endWriteNow(): void {
    for (const endWrite of this.#writes.splice(0)) endWrite()
  }

  /** The event loop turns: every caller that can go on has gone on. */
  async turn(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve)
      })
    }
  }
}

async function setting(): Promise<Setting> {
  const log = await new Setting().open()
  void log.write()
  await log.turn()
  await log.endWrites()
  expect(log.begun).toBe(1)
  return log
}

it('a group waits for all callers that write in the same turn', async () => {
  const log = await setting()
  void log.write()
  void log.write()
  expect(log.begun).toBe(1)
  await log.turn()
  expect(log.begun).toBe(2)
  await log.endWrites()
  expect(log.begun).toBe(2)
  await log.writer.close()
})

it('callers that are answered join the group that forms', async () => {
  const log = await setting()
  let left = 4
  const goOn = (): void => {
    left -= 1
    if (left > 0) void log.write(goOn)
  }
  goOn()
  await log.turn()
  await log.endWrites()
  // What it wrote after its first answer is being written, and another caller writes meanwhile.
  expect(log.begun).toBe(3)
  void log.write()
  await log.endWrites()
  await log.endWrites()
  expect(log.begun).toBe(4)
  await log.writer.close()
})

it('a full group does not wait for the callers that are answered', async () => {
  const log = await setting()
  void log.write()
  await log.turn()
  expect(log.begun).toBe(2)
  // A marker closes the group that forms.
  void log.write()
  log.writer.appendMarker({ now: 1_000, queues: [], limits: [] })
  log.endWriteNow()
  for (let i = 0; i < 10; i++) await Promise.resolve()
  expect(log.begun).toBe(3)
  await log.endWrites()
  await log.endWrites()
  await log.writer.close()
})

it('one group is written at a time, whenever callers write', async () => {
  const log = await setting()
  // Told that a group is durable, it begins a checkpoint at once.
  log.writer.onDurable = () => {
    if (log.begun > 40) return
    log.writer.appendMarker({ now: 1_000, queues: [], limits: [] })
    void log.writer.durable()
  }
  for (let i = 0; i < 60; i++) {
    void log.write(() => void log.write())
    if (i % 4 === 0) await log.turn()
    await log.endWrites()
  }
  for (let i = 0; i < 100 && log.writing > 0; i++) await log.endWrites()
  await log.writer.close()
  expect(log.begun).toBeGreaterThan(40)
  expect(log.mostWriting).toBe(1)
})
