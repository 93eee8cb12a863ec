/**
 * A disk with one block that it cannot read: a read of it fails with EIO, as with worn-out media. A
 * file that is made anew under the same name is fine.
 */
import type { Access, Disk, DiskFile } from '../../../src/log/disk/disk.ts'

const BLOCK = 512

type Path = string

export class UnreadableBlockDisk implements Disk {
  readonly #disk: Disk
  readonly #path: Path
  readonly #from: number
  #isUnreadable = true

  /** The block at an offset of a file cannot be read. */
  constructor(disk: Disk, path: Path, offset: number) {
    this.#disk = disk
    this.#path = path
    this.#from = offset - (offset % BLOCK)
  }

  async makeFolder(path: Path): Promise<void> {
    await this.#disk.makeFolder(path)
  }

  async list(folder: Path): Promise<string[]> {
    return this.#disk.list(folder)
  }

  async rename(from: Path, to: Path): Promise<void> {
    await this.#disk.rename(from, to)
    if (to === this.#path) this.#isUnreadable = false
  }

  async remove(path: Path): Promise<void> {
    await this.#disk.remove(path)
    if (path === this.#path) this.#isUnreadable = false
  }

  async syncFolder(path: Path): Promise<void> {
    await this.#disk.syncFolder(path)
  }

  async open(path: Path, access: Access): Promise<DiskFile> {
    const file = await this.#disk.open(path, access)
    if (path !== this.#path || !this.#isUnreadable) return file
    const check = (at: number, length: number): void => {
      if (at >= this.#from + BLOCK || at + length <= this.#from) return
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
    }
    return {
      size: () => file.size(),
      read: async (into, at) => {
        check(at, into.length)
        return file.read(into, at)
      },
      readNow: (into, at) => {
        check(at, into.length)
        return file.readNow(into, at)
      },
      write: (bytes, at) => file.write(bytes, at),
      writeNow: (bytes, at) => file.writeNow(bytes, at),
      sync: () => file.sync(),
      close: () => file.close(),
    }
  }
}
