/**
 * An open file of the simulated disk: what each call does when it goes well, when it fails and
 * when the power goes in the middle of it.
 */
import type { Access, DiskFile } from '../../../src/log/disk/disk.ts'
import type { Dice } from '../../model/properties/dice.ts'
import type { Calls, Fate } from './calls.ts'
import { systemError } from './errors.ts'
import { SECTOR } from './inode.ts'
import type { Inode } from './inode.ts'

/** What a file needs of the disk that it is on. */
export interface Ground {
  readonly calls: Calls
  readonly dice: Dice
  /** How many bytes can still be allocated. */
  room(): number
  closed(inode: Inode): void
}

export class SimFile implements DiskFile {
  readonly #ground: Ground
  readonly #inode: Inode
  readonly #access: Access
  /** Its name when it was opened, for the trace. */
  readonly #name: string
  #isOpen = true

  constructor(ground: Ground, inode: Inode, access: Access, name: string) {
    this.#ground = ground
    this.#inode = inode
    this.#access = access
    this.#name = name
  }

  async size(): Promise<number> {
    return this.#run('fstat', '', () => this.#inode.size)
  }

  async read(into: Uint8Array, at: number): Promise<number> {
    return this.readNow(into, at)
  }

  readNow(into: Uint8Array, at: number): number {
    return this.#run('read', ` at ${at} +${into.length}`, () => this.#inode.read(into, at))
  }

  async write(bytes: Uint8Array, at: number): Promise<number> {
    return this.#write(bytes, at, this.#access === 'write-through')
  }

  /** Never written through: the port does not promise that it is. */
  writeNow(bytes: Uint8Array, at: number): number {
    return this.#write(bytes, at, false)
  }

  async sync(): Promise<void> {
    this.#run(
      'sync',
      '',
      (fate) => {
        if (fate !== 'dies') this.#inode.sync()
      },
      () => this.#inode.failSync(),
    )
  }

  /** One that fails closes the file nevertheless, and a second one is fine: so it is in Node. */
  async close(): Promise<void> {
    const close = (): void => {
      if (!this.#isOpen) return
      this.#isOpen = false
      this.#inode.handles -= 1
      this.#ground.closed(this.#inode)
    }
    this.#ground.calls.run('close', this.#name, close, close)
  }

  #run<T>(call: string, details: string, act: (fate: Fate) => T, failed?: () => void): T {
    return this.#ground.calls.run(
      call,
      `${this.#name}${details}`,
      (fate) => {
        if (!this.#isOpen) throw systemError('EBADF', call, this.#name)
        return act(fate)
      },
      () => {
        if (this.#isOpen) failed?.()
      },
    )
  }

  #write(bytes: Uint8Array, at: number, isSettled: boolean): number {
    const act = (fate: Fate): number => {
      if (this.#access === 'read') throw systemError('EBADF', 'write', this.#name)
      if (bytes.length === 0) return 0
      const isShort = fate === 'short' && bytes.length > 1
      const count = isShort ? 1 + this.#ground.dice.below(bytes.length - 1) : bytes.length
      const end = at + count
      const room = this.#ground.room()
      if (this.#inode.bytesMissing(at, end) > room) {
        this.#tear(bytes, at, isSettled, room)
        throw systemError('ENOSPC', 'write', this.#name)
      }
      const grew = end > this.#inode.size
      this.#inode.write(count < bytes.length ? bytes.subarray(0, count) : bytes, at)
      if (isSettled && fate !== 'dies') this.#inode.settleWritten(at, end, grew)
      return count
    }
    return this.#run('write', ` at ${at} +${bytes.length}`, act, () => {
      if (this.#access !== 'read') this.#tear(bytes, at, isSettled, this.#ground.room())
    })
  }

  /** A write that failed: none, some or all of its sectors are there, as far as there is room. */
  #tear(bytes: Uint8Array, at: number, isSettled: boolean, room: number): void {
    const { dice } = this.#ground
    const percent = dice.pick([0, 50, 100])
    let left = Math.floor(room / SECTOR)
    this.#inode.write(bytes, at, (index) => {
      if (!dice.chance(percent)) return false
      if (this.#inode.isAllocated(index)) return true
      left -= 1
      return left >= 0
    })
    if (isSettled) this.#inode.failWritten(at, at + bytes.length)
  }
}
