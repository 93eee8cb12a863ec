/**
 * A file of the simulated disk, whatever it is called: its content as the running system sees
 * it, and for each sector and for the size every version that a power loss may leave instead.
 *
 * A sector is never changed in place: a write puts a new one. So copies of a file share their
 * sectors, and until one of them is written to even the list of them.
 */
import type { Hash } from 'node:crypto'
import type { Doubts } from './outcomes.ts'

export const SECTOR = 512

/** A hole reads as zeros and takes no room. */
const HOLE = undefined
type Sector = Uint8Array | typeof HOLE

interface Unsettled {
  /** The one that is durable, then all later ones; the last is the newest. */
  versions: Sector[]
  /**
   * Whether the next sync writes it. After a sync that failed the system takes it for written,
   * so which version is durable stays open until it is written to again.
   */
  dirty: boolean
}

export class Inode {
  /** How many open handles there are. */
  handles = 0
  #size = 0
  #sectors: Sector[] = []
  #shared = false
  #allocated = 0
  #unsettled = new Map<number, Unsettled>()
  #sizes: number[] = [0]
  #sizeDirty = false
  /** How far the writes since the last sync went: as far must the size be durable after it. */
  #reach = 0

  get size(): number {
    return this.#size
  }

  get bytesAllocated(): number {
    return this.#allocated * SECTOR
  }

  read(into: Uint8Array, at: number): number {
    const count = Math.max(0, Math.min(into.length, this.#size - at))
    for (const { index, from, to } of parts(at, at + count)) {
      const target = into.subarray(from - at, to - at)
      const sector = this.#sectors[index]
      if (sector === HOLE) target.fill(0)
      else target.set(sector.subarray(from - index * SECTOR, to - index * SECTOR))
    }
    return count
  }

  /** All that the running system sees of it, holes too, for they take no room. */
  addTo(hash: Hash): void {
    hash.update(`${this.#size} ${this.#sectors.length}`)
    for (let index = 0; index < this.#sectors.length; index++) {
      const sector = this.#sectors[index]
      if (sector === HOLE) hash.update('hole')
      else hash.update(sector)
    }
  }

  isAllocated(index: number): boolean {
    return this.#sectors[index] !== HOLE
  }

  /** How much room a write there needs. */
  bytesMissing(from: number, to: number): number {
    return parts(from, to).filter(({ index }) => !this.isAllocated(index)).length * SECTOR
  }

  /** `takes` says which sectors of it are written; the others stay as they are. */
  write(bytes: Uint8Array, at: number, takes: (index: number) => boolean = () => true): void {
    const taken = parts(at, at + bytes.length).filter(({ index }) => takes(index))
    const end = taken.at(-1)?.to
    if (end === undefined) return
    if (end > this.#size) this.#setSize(end)
    this.#reach = Math.max(this.#reach, end)
    for (const { index, from, to } of taken) {
      const sector = new Uint8Array(SECTOR)
      const before = this.#sectors[index]
      if (before !== HOLE && to - from < SECTOR) sector.set(before)
      sector.set(bytes.subarray(from - at, to - at), from - index * SECTOR)
      this.#change(index, sector)
    }
  }

  sync(): void {
    for (const [index, { dirty }] of this.#unsettled) if (dirty) this.#unsettled.delete(index)
    if (this.#sizeDirty) this.#settleSize()
    else this.#sizes = this.#sizes.filter((size) => size >= this.#reach)
    this.#reach = 0
  }

  /** Anything may be durable now, and the system believes that it is. */
  failSync(): void {
    for (const entry of this.#unsettled.values()) entry.dirty = false
    this.#sizeDirty = false
    this.#reach = 0
  }

  /** What was just written there was written through. Whole sectors: a disk knows no less. */
  settleWritten(from: number, to: number, grew: boolean): void {
    if (from === to) return
    for (const { index } of parts(from, to)) this.#unsettled.delete(index)
    if (grew) this.#settleSize()
    // An older size that would cut off what was written cannot be what is durable.
    else this.#sizes = this.#sizes.filter((size) => size >= to)
  }

  /** What was just written there should have been written through, and failed. */
  failWritten(from: number, to: number): void {
    for (const { index } of parts(from, to)) {
      const entry = this.#unsettled.get(index)
      if (entry !== undefined) entry.dirty = false
    }
  }

  /** This and nothing else, durable at once. */
  become(bytes: Uint8Array): void {
    this.#size = 0
    this.#sectors = []
    this.#shared = false
    this.#allocated = 0
    this.write(bytes, 0)
    this.#unsettled.clear()
    this.#settleSize()
  }

  /** These bytes are other ones, durably. */
  patch(bytes: Uint8Array, at: number): void {
    const grew = at + bytes.length > this.#size
    this.write(bytes, at)
    this.settleWritten(at, at + bytes.length, grew)
  }

  /** As it is now, and durable. */
  clone(): Inode {
    const copy = new Inode()
    copy.#size = this.#size
    copy.#sizes = [this.#size]
    copy.#allocated = this.#allocated
    copy.#sectors = this.#sectors
    copy.#shared = true
    this.#shared = true
    return copy
  }

  /** The size comes first, then the sectors, in the order in which they came into doubt. */
  doubts(): Doubts<Inode> {
    const sizes = this.#sizes.filter((size, i) => i === 0 || size !== this.#sizes[i - 1])
    const sectors = [...this.#unsettled].map(([index, { versions }]) => ({
      index,
      versions: versions.filter((version, i) => i === 0 || !isSame(version, versions[i - 1])),
    }))
    const open = sectors.filter(({ versions }) => versions.length > 1)
    const counts = open.map(({ versions }) => versions.length)
    if (sizes.length > 1) counts.unshift(sizes.length)
    const settle = (choices: readonly number[]): Inode => {
      if (this.#unsettled.size === 0 && sizes.length === 1) return this.clone()
      const left = this.#sectors.slice()
      for (const { index, versions } of sectors) left[index] = versions[0]
      const skip = sizes.length > 1 ? 1 : 0
      for (const [i, { index, versions }] of open.entries()) {
        left[index] = versions[choices[i + skip] as number]
      }
      return Inode.#left(left, sizes[skip === 1 ? (choices[0] as number) : 0] as number)
    }
    return { counts, settle, isRedundant: () => false }
  }

  /** Data beyond the size is gone, and what is missing below it is a hole. */
  static #left(sectors: Sector[], size: number): Inode {
    const inode = new Inode()
    const end = Math.ceil(size / SECTOR)
    if (sectors.length > end) sectors.length = end
    if (size % SECTOR > 0) sectors[end - 1] = cutOff(sectors[end - 1], size % SECTOR)
    inode.#size = size
    inode.#sizes = [size]
    inode.#sectors = sectors
    for (const sector of sectors) if (sector !== HOLE) inode.#allocated += 1
    return inode
  }

  #own(): Sector[] {
    if (this.#shared) this.#sectors = this.#sectors.slice()
    this.#shared = false
    return this.#sectors
  }

  #replace(index: number, sector: Sector): void {
    this.#allocated += Number(sector !== HOLE) - Number(this.isAllocated(index))
    this.#own()[index] = sector
  }

  #change(index: number, sector: Sector): void {
    const entry = this.#unsettled.get(index)
    if (entry === undefined) {
      this.#unsettled.set(index, { versions: [this.#sectors[index], sector], dirty: true })
    } else {
      entry.versions.push(sector)
      entry.dirty = true
    }
    this.#replace(index, sector)
  }

  #setSize(size: number): void {
    this.#size = size
    this.#sizes.push(size)
    this.#sizeDirty = true
  }

  #settleSize(): void {
    this.#sizes = [this.#size]
    this.#sizeDirty = false
    this.#reach = 0
  }
}

interface Part {
  readonly index: number
  readonly from: number
  readonly to: number
}

/** A stretch of a file, cut where one sector ends and the next begins. */
function parts(from: number, to: number): Part[] {
  const found: Part[] = []
  for (let at = from; at < to;) {
    const index = Math.floor(at / SECTOR)
    const end = Math.min(to, (index + 1) * SECTOR)
    found.push({ index, from: at, to: end })
    at = end
  }
  return found
}

/** The same sector if there is nothing to cut off. */
function cutOff(sector: Sector, rest: number): Sector {
  if (sector === HOLE || rest <= 0) return HOLE
  if (sector.subarray(rest).every((byte) => byte === 0)) return sector
  const short = new Uint8Array(SECTOR)
  short.set(sector.subarray(0, rest))
  return short
}

const ZEROS = new Uint8Array(SECTOR)

function isSame(one: Sector, other: Sector): boolean {
  return one === other || Buffer.compare(one ?? ZEROS, other ?? ZEROS) === 0
}
