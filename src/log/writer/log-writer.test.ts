/** When the writer writes: whom a group waits for, and that there is never more than one in flight. */
import { basename } from 'node:path'
import { expect, it } from 'vitest'
import { SimDisk } from '../../../test/faults/sim/sim-disk.ts'
import type { Entry } from '../../kernel/index.ts'
import { createMark } from '../segments/durable-mark.ts'
import type { Access, Disk, DiskFile } from '../disk/disk.ts'
import { LogWriter } from './log-writer.ts'

const FOLDER = '/store'
const STORE_ID = '00'.repeat(16)

/** A log on a disk whose writes end when the test says so, and a stopwatch that it turns. */
class Setting {
  us = 0
  /** Groups that were begun, and how many of them are on their way. */
  begun = 0
  flying = 0
  mostFlying = 0
  readonly #landings: (() => void)[] = []
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
    const options = {
      segmentBytes: 65_536,
      reserveBytes: 0,
      now: () => 1_000,
      nowUs: () => this.us,
    }
    const start = { segments: [], storeId: STORE_ID, end: 0, link: 0 }
    this.writer = await LogWriter.open(disk, FOLDER, options, start)
    return this
  }

  #slow(file: DiskFile): DiskFile {
    const write = async (bytes: Uint8Array, at: number): Promise<number> => {
      this.begun += 1
      this.flying += 1
      this.mostFlying = Math.max(this.mostFlying, this.flying)
      await new Promise<void>((resolve) => {
        this.#landings.push(resolve)
      })
      this.flying -= 1
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

  /** Somebody makes an entry, which takes so long, and waits for it. */
  async write(workUs: number, then: () => void = () => undefined): Promise<void> {
    this.#entries += 1
    const queue = `q-${this.#entries}`
    const entry: Entry = { type: 'QueuePaused', at: 1_000, version: 1, queue, by: '', reason: '' }
    this.us += workUs
    this.writer.append(entry, 0)
    await this.writer.durable()
    then()
  }

  /** What is in flight lands after so long. */
  async land(afterUs: number): Promise<void> {
    this.us += afterUs
    for (const landing of this.#landings.splice(0)) landing()
    await this.turn()
  }

  /** The event loop turns: whoever can go on has gone on. */
  async turn(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve)
      })
    }
  }
}

/** A group that took 500 µs. */
async function setting(): Promise<Setting> {
  const log = await new Setting().open()
  void log.write(0)
  await log.turn()
  await log.land(500)
  expect(log.begun).toBe(1)
  return log
}

it('a group waits for all who write in the same turn', async () => {
  const log = await setting()
  void log.write(100)
  void log.write(100)
  expect(log.begun).toBe(1)
  await log.turn()
  expect(log.begun).toBe(2)
  await log.land(500)
  expect(log.begun).toBe(2)
  await log.writer.close()
})

it('but not longer than a write takes', async () => {
  const log = await setting()
  void log.write(300)
  void log.write(300)
  expect(log.begun).toBe(1)
  void log.write(300)
  // At once, while others still work in the same turn.
  expect(log.begun).toBe(2)
  void log.write(300)
  expect(log.flying).toBe(1)
  await log.land(0)
  await log.land(500)
  expect(log.begun).toBe(3)
  await log.writer.close()
})

/** Somebody who writes again and again, and somebody who comes along while a group flies. */
async function twoWho(workUs: number): Promise<Setting> {
  const log = await setting()
  let left = 4
  const goOn = (): void => {
    left -= 1
    if (left > 0) void log.write(workUs, goOn)
  }
  goOn()
  await log.turn()
  await log.land(500)
  // What it wrote after its first answer is on its way.
  expect(log.begun).toBe(3)
  void log.write(0)
  return log
}

it('those who are answered join what forms if that is less work than a write', async () => {
  const log = await twoWho(200)
  await log.land(500)
  await log.land(500)
  expect(log.begun).toBe(4)
  await log.writer.close()
})

it('and work while it flies if it is more', async () => {
  const log = await twoWho(300)
  await log.land(500)
  await log.land(500)
  expect(log.begun).toBe(5)
  await log.land(500)
  await log.writer.close()
})

it('one group is in flight at a time, whoever writes when', async () => {
  const log = await setting()
  // Told of a landing, it begins a checkpoint at once.
  log.writer.onDurable = () => {
    if (log.begun > 40) return
    log.us += 5_000
    log.writer.appendMarker({ now: 1_000, queues: [], limits: [] })
    void log.writer.durable()
  }
  for (let i = 0; i < 60; i++) {
    void log.write(i % 3 === 0 ? 900 : 50, () => void log.write(300))
    if (i % 4 === 0) await log.turn()
    await log.land(200)
  }
  for (let i = 0; i < 100 && log.flying > 0; i++) await log.land(200)
  await log.writer.close()
  expect(log.begun).toBeGreaterThan(40)
  expect(log.mostFlying).toBe(1)
})
