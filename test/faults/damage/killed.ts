/**
 * The disk as a process sees it that is killed during its k-th call: that call still acts, as a
 * whole or, if it writes, in part; nobody hears of it, and no later call does anything.
 *
 * The disk itself goes on: what was written and not synced can be read by whoever comes next.
 */
import type { Access, Disk, DiskFile } from '../../../src/log/disk/disk.ts'
import { DiskWrapper, FileWrapper } from './disk-wrapper.ts'

export class Killed extends Error {
  override readonly name = 'Killed'
}

/** Counts the calls of a process, and ends it. */
class Life {
  isOver = false
  #left: number

  constructor(calls: number) {
    this.#left = calls
  }

  /** Whether this call is the last one. */
  begin(): boolean {
    if (this.isOver) throw new Killed('the process is gone')
    this.#left -= 1
    return this.#left === 0
  }

  end<T>(isLast: boolean, result: T): T {
    if (isLast) this.isOver = true
    if (this.isOver) throw new Killed('the process was killed')
    return result
  }

  async run<T>(act: (isLast: boolean) => Promise<T>): Promise<T> {
    const isLast = this.begin()
    return this.end(isLast, await act(isLast))
  }
}

class KilledFile extends FileWrapper {
  readonly #life: Life
  readonly #inPart: boolean

  constructor(inner: DiskFile, life: Life, inPart: boolean) {
    super(inner)
    this.#life = life
    this.#inPart = inPart
  }

  override size(): Promise<number> {
    return this.#life.run(() => super.size())
  }

  override read(into: Uint8Array, at: number): Promise<number> {
    return this.#life.run(() => super.read(into, at))
  }

  override write(bytes: Uint8Array, at: number): Promise<number> {
    return this.#life.run((isLast) => super.write(this.#given(bytes, isLast), at))
  }

  override writeNow(bytes: Uint8Array, at: number): number {
    const isLast = this.#life.begin()
    return this.#life.end(isLast, super.writeNow(this.#given(bytes, isLast), at))
  }

  override sync(): Promise<void> {
    return this.#life.run(() => super.sync())
  }

  override close(): Promise<void> {
    return this.#life.run(() => super.close())
  }

  /** Any part, but the same for the same write; often one that ends within something. */
  #given(bytes: Uint8Array, isLast: boolean): Uint8Array {
    if (!isLast || !this.#inPart) return bytes
    const part = [61, bytes.length - 2, Math.ceil(bytes.length / 2)][bytes.length % 3] as number
    return bytes.subarray(0, Math.min(part, bytes.length))
  }
}

export class KilledDisk extends DiskWrapper {
  readonly #life: Life
  readonly #inPart: boolean

  constructor(inner: Disk, calls: number, inPart: boolean) {
    super(inner)
    this.#life = new Life(calls)
    this.#inPart = inPart
  }

  get isOver(): boolean {
    return this.#life.isOver
  }

  override makeFolder(path: string): Promise<void> {
    return this.#life.run(() => super.makeFolder(path))
  }

  override list(folder: string): Promise<string[]> {
    return this.#life.run(() => super.list(folder))
  }

  override open(path: string, access: Access): Promise<DiskFile> {
    return this.#life.run(async () => {
      return new KilledFile(await super.open(path, access), this.#life, this.#inPart)
    })
  }

  override rename(from: string, to: string): Promise<void> {
    return this.#life.run(() => super.rename(from, to))
  }

  override remove(path: string): Promise<void> {
    return this.#life.run(() => super.remove(path))
  }

  override syncFolder(path: string): Promise<void> {
    return this.#life.run(() => super.syncFolder(path))
  }
}
