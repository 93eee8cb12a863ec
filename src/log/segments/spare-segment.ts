/**
 * The spare segment: a file of zeros that stands ready to become the next one, so that a full
 * disk is found out before anything is decided, and not while it is written.
 *
 * None, being made, or ready. One thing happens to it at a time.
 */
import { isFull } from '../errors.ts'
import type { SegmentHead } from '../format/format.ts'
import { SEGMENT_HEAD } from '../format/format.ts'
import type { Disk } from '../disk/disk.ts'
import type { Segment } from './segments.ts'
import { makeSpare, startSegment } from './segments.ts'

export class Spare {
  readonly #disk: Disk
  readonly #folder: string
  readonly #usual: number
  /** Of the file that is ready; 0: there is none. */
  #size = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(disk: Disk, folder: string, usual: number) {
    this.#disk = disk
    this.#folder = folder
    this.#usual = usual
  }

  /** Bytes that a new segment would have for groups. */
  get room(): number {
    return this.#size === 0 ? 0 : this.#size - SEGMENT_HEAD
  }

  /** One that has this much room, of the usual size or larger; smaller only where that must do. */
  async make(room: number, smallIsFine: boolean): Promise<void> {
    await this.#afterLast(() => this.#make(room, smallIsFine))
  }

  /** The spare becomes the next segment, with room for so many bytes. */
  async become(head: Omit<SegmentHead, 'size'>, room: number): Promise<Segment> {
    return this.#afterLast(async () => {
      if (this.#size === 0 || this.room < room) await this.#make(room, true)
      const segment = await startSegment(this.#disk, this.#folder, { ...head, size: this.#size })
      this.#size = 0
      return segment
    })
  }

  /** Settled when nothing is happening to it. */
  async settled(): Promise<void> {
    await this.#last
  }

  async #make(room: number, smallIsFine: boolean): Promise<void> {
    if (this.#size > 0 && this.room >= room) return
    const least = SEGMENT_HEAD + room
    const size = Math.max(this.#usual, least)
    try {
      await makeSpare(this.#disk, this.#folder, size)
      this.#size = size
    } catch (error) {
      if (!smallIsFine || !isFull(error)) throw error
      await makeSpare(this.#disk, this.#folder, least)
      this.#size = least
    }
  }

  #afterLast<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => undefined)
    return done
  }
}
