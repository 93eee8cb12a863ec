/**
 * A disk in memory that fails at any call and loses power at any moment, behind the same port as
 * the real one.
 *
 * It takes back all that the port does not promise: after a power loss each sector that was not
 * synced holds any of the versions it went through, and any changes of names may be undone. The
 * same seed and the same calls give the same behaviour; nothing here waits or reads a clock.
 */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import type { Access, Disk, DiskFile } from '../../../src/log/disk/disk.ts'
import { Dice } from '../../model/properties/dice.ts'
import { Calls } from './calls.ts'
import type { Fault } from './calls.ts'
import { systemError } from './errors.ts'
import { Inode } from './inode.ts'
import { chosen, combinations } from './outcomes.ts'
import type { Survival } from './outcomes.ts'
import { SimFile } from './sim-file.ts'
import type { Ground } from './sim-file.ts'
import { Tree, folderOf, withParents } from './tree.ts'

export { PowerLost } from './errors.ts'
export { SECTOR } from './inode.ts'
export type { Fault } from './calls.ts'
export type { Survival } from './outcomes.ts'

export interface SimOptions {
  /** For all that is left to chance; 1 unless told. */
  readonly seed?: number
  /** In bytes. */
  readonly capacity?: number
  /** Whether to keep a line of text for every call. */
  readonly tracing?: boolean
}

export class SimDisk implements Disk {
  /** In bytes; may be changed at any time. */
  capacity: number
  readonly #seed: number
  readonly #tracing: boolean
  readonly #calls: Calls
  readonly #ground: Ground
  /** Files with an open handle: they take room even without a name. */
  readonly #held = new Set<Inode>()
  #tree = new Tree()

  constructor(options: SimOptions = {}) {
    this.capacity = options.capacity ?? Infinity
    this.#seed = options.seed ?? 1
    this.#tracing = options.tracing ?? false
    this.#calls = new Calls(this.#tracing)
    this.#ground = {
      calls: this.#calls,
      dice: new Dice(this.#seed),
      // More may be used than there is: a file that was removed has come back.
      room: () => (this.capacity === Infinity ? Infinity : Math.max(0, this.capacity - this.used)),
      closed: (inode) => {
        if (inode.handles === 0) this.#held.delete(inode)
      },
    }
  }

  /** How many calls there were, of the disk and of its files. */
  get calls(): number {
    return this.#calls.count
  }

  /** A line for each of them, such as `write log-00 at 4096 +512`, if the disk was told to. */
  get trace(): readonly string[] {
    return this.#calls.trace
  }

  get isLost(): boolean {
    return this.#calls.lost
  }

  /** How many handles are open. */
  get openFiles(): number {
    return [...this.#held].reduce((sum, { handles }) => sum + handles, 0)
  }

  /** How many bytes are allocated: files with a name or a handle, without their holes. */
  get used(): number {
    const files = new Set([...this.#tree.files(), ...this.#held])
    return [...files].reduce((sum, { bytesAllocated }) => sum + bytesAllocated, 0)
  }

  /** The k-th call from now fails, or writes only a part; the next one is 1. */
  failAt(k: number, fault: Fault): void {
    this.#calls.failAt(k, fault)
  }

  /** The power goes during the k-th call from now: it acts, or not, and throws `PowerLost`. */
  crashAt(k: number): void {
    this.#calls.crashAt(k)
  }

  /** The power goes now, between two calls. */
  cut(): void {
    this.#calls.lost = true
  }

  /** Takes back `failAt` and `crashAt`. */
  heal(): void {
    this.#calls.heal()
  }

  /** A new disk with what is left if the power goes now. This one stays as it is. */
  crash(survival: Survival): SimDisk {
    const doubts = this.#tree.doubts()
    return this.#with(doubts.settle(chosen(doubts.counts, survival)))
  }

  /** How many things may or may not survive if the power goes now. */
  get doubts(): number {
    return this.#tree.doubts().counts.length
  }

  /**
   * New disks with all that may be left if the power goes now: every combination if there are at
   * most `limit`, else a sample with the extremes in it.
   */
  *outcomes(limit: number, seed: number = this.#seed): Generator<SimDisk> {
    const doubts = this.#tree.doubts()
    for (const choices of combinations(doubts, limit, seed)) {
      yield this.#with(doubts.settle(choices))
    }
  }

  /** A new disk with everything as it is seen now, and durable. Cheap: content is shared. */
  clone(): SimDisk {
    return this.#with(this.#tree.clone())
  }

  /**
   * The same for disks that look the same to the running system. What a power loss would leave
   * of them may differ. Not a call.
   */
  fingerprint(): string {
    const hash = createHash('sha1').update(`${this.capacity}\n`)
    this.#tree.addTo(hash)
    return hash.digest('base64')
  }

  /** A copy of what the running system sees. Not a call. */
  bytesOf(path: string): Buffer {
    const inode = this.#find(path)
    const bytes = Buffer.alloc(inode.size)
    inode.read(bytes, 0)
    return bytes
  }

  /** A file with this content, durable at once; who has it open sees it too. Not a call. */
  put(path: string, bytes: Uint8Array): void {
    const inode = this.#tree.get(tidy(path)) ?? new Inode()
    inode.become(bytes)
    this.#tree.put(tidy(path), inode)
  }

  /** Other bytes at one place of a file, durable at once. Not a call. */
  patch(path: string, at: number, bytes: Uint8Array): void {
    this.#find(path).patch(bytes, at)
  }

  /** All files, sorted, without folders. Not a call. */
  paths(): string[] {
    return this.#tree.paths()
  }

  async makeFolder(given: string): Promise<void> {
    const path = tidy(given)
    this.#calls.run('mkdir', path, (fate) => {
      for (const folder of withParents(path)) {
        if (this.#tree.get(folder) === undefined) continue
        throw systemError(folder === path ? 'EEXIST' : 'ENOTDIR', 'mkdir', path)
      }
      if (fate === 'dies') this.#tree.failToMakeFolder(path)
      else this.#tree.makeFolder(path)
    })
  }

  async list(given: string): Promise<string[]> {
    const path = tidy(given)
    return this.#calls.run('list', path, () => {
      if (this.#tree.get(path) !== undefined) throw systemError('ENOTDIR', 'scandir', path)
      return this.#tree.list(path)
    })
  }

  async open(given: string, access: Access): Promise<DiskFile> {
    const path = tidy(given)
    return this.#calls.run('open', `${posix.basename(path)} to ${access}`, () => {
      const inode = this.#opened(path, access)
      inode.handles += 1
      this.#held.add(inode)
      return new SimFile(this.#ground, inode, access, posix.basename(path))
    })
  }

  async rename(givenFrom: string, givenTo: string): Promise<void> {
    const from = tidy(givenFrom)
    const to = tidy(givenTo)
    const about = `${posix.basename(from)} to ${posix.basename(to)}`
    this.#calls.run('rename', about, () => {
      if (this.#tree.isFolder(from)) throw new Error('the simulated disk renames no folders')
      this.#requireFolder(to, 'rename')
      const inode = this.#tree.get(from)
      if (inode === undefined) throw systemError('ENOENT', 'rename', from)
      if (this.#tree.isFolder(to)) throw systemError('EISDIR', 'rename', to)
      if (from !== to) this.#tree.rename(from, to, inode)
    })
  }

  async remove(given: string): Promise<void> {
    const path = tidy(given)
    this.#calls.run('remove', posix.basename(path), () => {
      if (this.#tree.isFolder(path)) throw systemError('ERR_FS_EISDIR', 'rm', path)
      if (this.#tree.get(path) !== undefined) this.#tree.remove(path)
    })
  }

  async syncFolder(given: string): Promise<void> {
    const path = tidy(given)
    this.#calls.run(
      'syncFolder',
      path,
      (fate) => {
        if (!this.#tree.isFolder(path)) throw systemError('ENOENT', 'open', path)
        if (fate !== 'dies') this.#tree.sync(path)
      },
      () => this.#tree.failSync(path),
    )
  }

  #find(path: string): Inode {
    const inode = this.#tree.get(tidy(path))
    if (inode === undefined) throw systemError('ENOENT', 'open', path)
    return inode
  }

  #opened(path: string, access: Access): Inode {
    this.#requireFolder(path, 'open')
    const inode = this.#tree.get(path)
    if (access !== 'create') {
      if (this.#tree.isFolder(path)) throw systemError('EISDIR', 'open', path)
      if (inode === undefined) throw systemError('ENOENT', 'open', path)
      return inode
    }
    if (inode !== undefined || this.#tree.isFolder(path)) throw systemError('EEXIST', 'open', path)
    const fresh = new Inode()
    this.#tree.create(path, fresh)
    return fresh
  }

  #requireFolder(path: string, call: string): void {
    const folder = folderOf(path)
    if (this.#tree.isFolder(folder)) return
    const isUnderFile = this.#tree.get(folder) !== undefined
    throw systemError(isUnderFile ? 'ENOTDIR' : 'ENOENT', call, path)
  }

  #with(tree: Tree): SimDisk {
    const disk = new SimDisk({
      seed: this.#seed,
      capacity: this.capacity,
      tracing: this.#tracing,
    })
    disk.#tree = tree
    return disk
  }
}

/** One way to write each path. */
function tidy(path: string): string {
  if (!path.startsWith('/')) throw new Error(`not an absolute path: '${path}'`)
  const normal = posix.normalize(path)
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal
}
