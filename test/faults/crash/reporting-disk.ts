/**
 * The real disk, which says what it is about to do, so that a process can be killed at it.
 *
 * An early one answers too soon: a group counts as durable while it is still in the memory of
 * the process, and is written when the next one comes. What such a disk loses must be found.
 */
import { basename } from 'node:path'
import type { Disk, DiskFile } from '../../../src/log/index.ts'
import { realDisk } from '../../../src/log/index.ts'

export type Say = (call: string) => void

export function reportingDisk(say: Say, isEarly: boolean): Disk {
  return {
    makeFolder(path) {
      return realDisk.makeFolder(path)
    },
    list(folder) {
      return realDisk.list(folder)
    },
    async open(path, access) {
      const name = basename(path)
      say(`open ${name} ${access}`)
      const file = await realDisk.open(path, access)
      if (isEarly && access === 'write-through') return new EarlyFile(file, name, say)
      if (isEarly && name === 'MARK') return new SilentFile(file, name, say)
      return new ReportingFile(file, name, say)
    },
    rename(from, to) {
      say(`rename ${basename(from)} ${basename(to)}`)
      return realDisk.rename(from, to)
    },
    remove(path) {
      say(`remove ${basename(path)}`)
      return realDisk.remove(path)
    },
    syncFolder(path) {
      say('sync folder')
      return realDisk.syncFolder(path)
    },
  }
}

class ReportingFile implements DiskFile {
  protected readonly file: DiskFile
  protected readonly name: string
  protected readonly say: Say

  constructor(file: DiskFile, name: string, say: Say) {
    this.file = file
    this.name = name
    this.say = say
  }

  size(): Promise<number> {
    return this.file.size()
  }

  read(into: Uint8Array, at: number): Promise<number> {
    return this.file.read(into, at)
  }

  readNow(into: Uint8Array, at: number): number {
    return this.file.readNow(into, at)
  }

  write(bytes: Uint8Array, at: number): Promise<number> {
    this.say(`write ${this.name}`)
    return this.file.write(bytes, at)
  }

  writeNow(bytes: Uint8Array, at: number): number {
    this.say(`write ${this.name}`)
    return this.file.writeNow(bytes, at)
  }

  sync(): Promise<void> {
    this.say(`sync ${this.name}`)
    return this.file.sync()
  }

  close(): Promise<void> {
    return this.file.close()
  }
}

/** One write behind. */
class EarlyFile extends ReportingFile {
  #held: { readonly bytes: Uint8Array; readonly at: number } | null = null

  override async write(bytes: Uint8Array, at: number): Promise<number> {
    await this.#writeHeld()
    this.#held = { bytes: Uint8Array.from(bytes), at }
    return bytes.length
  }

  override async close(): Promise<void> {
    await this.#writeHeld()
    await super.close()
  }

  async #writeHeld(): Promise<void> {
    if (this.#held !== null) await super.write(this.#held.bytes, this.#held.at)
    this.#held = null
  }
}

/** Of the mark: otherwise the store itself would see what is missing. */
class SilentFile extends ReportingFile {
  override writeNow(bytes: Uint8Array): number {
    return bytes.length
  }
}
