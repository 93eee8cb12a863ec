/** Bugs in how the disk is used, planted between the store and the disk. */
import type { Access, Disk, DiskFile } from '../../../src/log/disk/disk.ts'
import { readUpTo, writeAll } from '../../../src/log/disk/disk.ts'
import { DiskWrapper, FileWrapper } from './disk-wrapper.ts'

/** What is written through is only written. */
export class NotThrough extends DiskWrapper {
  override open(path: string, access: Access): Promise<DiskFile> {
    return super.open(path, access === 'write-through' ? 'write' : access)
  }
}

export class NoFolderSync extends DiskWrapper {
  override async syncFolder(): Promise<void> {}
}

/** A sync of a folder that fails is taken for one that did not. */
export class DeafFolderSync extends DiskWrapper {
  override async syncFolder(path: string): Promise<void> {
    await super.syncFolder(path).catch(() => undefined)
  }
}

/** Files get their name before their bytes are durable. */
export class NoSyncBeforeRename extends DiskWrapper {
  override async open(path: string, access: Access): Promise<DiskFile> {
    const file = await super.open(path, access)
    return /(?:\.new|\/spare)$/.test(path) ? new Unsynced(file) : file
  }
}

class Unsynced extends FileWrapper {
  override async sync(): Promise<void> {}
}

/** A write through is acknowledged when it begins. */
export class EarlyWrites extends DiskWrapper {
  override async open(path: string, access: Access): Promise<DiskFile> {
    const file = await super.open(path, access)
    return access === 'write-through' ? new Early(file) : file
  }
}

class Early extends FileWrapper {
  #last: Promise<unknown> = Promise.resolve()

  override async write(bytes: Uint8Array, at: number): Promise<number> {
    const copy = Buffer.from(bytes)
    this.#last = this.#last
      .then(() => new Promise((resolve) => setImmediate(resolve)))
      .then(() => super.write(copy, at))
      .catch(() => undefined)
    return bytes.length
  }

  override async close(): Promise<void> {
    await this.#last
    await super.close()
  }
}

/** Every write is taken for whole. */
export class NoShortWrites extends DiskWrapper {
  override async open(path: string, access: Access): Promise<DiskFile> {
    return new Whole(await super.open(path, access))
  }
}

class Whole extends FileWrapper {
  override async write(bytes: Uint8Array, at: number): Promise<number> {
    await super.write(bytes, at)
    return bytes.length
  }
}

/** A rename is a copy under the new name. */
export class CopyingRename extends DiskWrapper {
  override async rename(from: string, to: string): Promise<void> {
    const source = await super.open(from, 'read')
    const bytes = await readUpTo(source, 0, await source.size())
    await source.close()
    await super.remove(to)
    const target = await super.open(to, 'create')
    await writeAll(target, bytes, 0)
    await target.close()
    await super.remove(from)
  }
}

/** What is cut off is not kept. */
export class NothingAside extends DiskWrapper {
  override async open(path: string, access: Access): Promise<DiskFile> {
    const file = await super.open(path, access)
    return path.includes('/aside/') ? new Void(file) : file
  }
}

class Void extends FileWrapper {
  override async write(bytes: Uint8Array): Promise<number> {
    return bytes.length
  }
}

export type DiskBug = new (inner: Disk) => Disk
