/**
 * A disk around another one, and a file around another one: they pass everything on. What is
 * to be different is overridden.
 */
import type { Access, Disk, DiskFile } from '../../../src/log/disk/disk.ts'

export class FileWrapper implements DiskFile {
  protected readonly inner: DiskFile

  constructor(inner: DiskFile) {
    this.inner = inner
  }

  async size(): Promise<number> {
    return this.inner.size()
  }

  async read(into: Uint8Array, at: number): Promise<number> {
    return this.inner.read(into, at)
  }

  readNow(into: Uint8Array, at: number): number {
    return this.inner.readNow(into, at)
  }

  async write(bytes: Uint8Array, at: number): Promise<number> {
    return this.inner.write(bytes, at)
  }

  writeNow(bytes: Uint8Array, at: number): number {
    return this.inner.writeNow(bytes, at)
  }

  async sync(): Promise<void> {
    await this.inner.sync()
  }

  async close(): Promise<void> {
    await this.inner.close()
  }
}

export class DiskWrapper implements Disk {
  protected readonly inner: Disk

  constructor(inner: Disk) {
    this.inner = inner
  }

  async makeFolder(path: string): Promise<void> {
    await this.inner.makeFolder(path)
  }

  async list(folder: string): Promise<string[]> {
    return this.inner.list(folder)
  }

  async open(path: string, access: Access): Promise<DiskFile> {
    return this.inner.open(path, access)
  }

  async rename(from: string, to: string): Promise<void> {
    await this.inner.rename(from, to)
  }

  async remove(path: string): Promise<void> {
    await this.inner.remove(path)
  }

  async syncFolder(path: string): Promise<void> {
    await this.inner.syncFolder(path)
  }
}
