/**
 * A group that is being put together: records, one behind the other, that will be made
 * durable as one.
 *
 * Where it will stand in the log is known from the start, so every record has its position
 * from the moment it is added. In which file it will stand is known only when it is sealed.
 */
import type { Entry } from '../../kernel/index.ts'
import { ByteWriter } from '../format/bytes.ts'
import { ENTRY_CODES, writeEntry } from '../format/entry-codec.ts'
import type { SubmittedAlike } from '../format/job-entries.ts'
import {
  alignUp,
  GROUP_HEAD,
  groupBytes,
  RECORD_HEAD,
  sealGroup,
  sealRecord,
  UNIT,
  MARKER_CODE,
} from '../format/format.ts'
import { CURRENT_VERSION } from '../format/versions.ts'
import type { CheckpointMarker } from '../format/checkpoint-marker.ts'
import { MARKER_VERSION, writeMarker } from '../format/checkpoint-marker.ts'

const FIRST_BYTES = 64 * 1_024
/** A group that grew larger than this by some giant entry does not keep its memory. */
const MOST_KEPT_BYTES = 4 * 1_024 * 1_024

export class Group {
  #writer = new ByteWriter(FIRST_BYTES)
  #position = 0
  #link = 0
  #entries = 0
  /** Made when a caller waits: resolved when the group is durable, rejected if the writer ends before. */
  outcome: GroupOutcome | null = null

  /** Where the group stands. */
  get position(): number {
    return this.#position
  }

  /** The checksum of its last record. */
  get link(): number {
    return this.#link
  }

  get isEmpty(): boolean {
    return this.#writer.at === GROUP_HEAD
  }

  /** Head, records, padding and trailer. */
  get bytes(): number {
    return groupBytes(this.#writer.at)
  }

  /** The position behind it. */
  get end(): number {
    return this.#position + this.bytes / UNIT
  }

  begin(position: number, link: number): void {
    if (this.#writer.buffer.length > MOST_KEPT_BYTES) this.#writer = new ByteWriter(FIRST_BYTES)
    this.#writer.at = GROUP_HEAD
    this.#position = position
    this.#link = link
    this.#entries = 0
    this.outcome = null
  }

  /** Adds an entry; `before` is the position of the job's entry before it, or 0. Its position. `alike`: see `append`. */
  add(entry: Entry, before: number, alike: SubmittedAlike | null = null): number {
    const writer = this.#writer
    const start = writer.at
    const position = this.#position + start / UNIT
    writer.ensure(RECORD_HEAD)
    writer.at = start + RECORD_HEAD
    try {
      writer.count(before === 0 ? 0 : position - before)
      if (alike !== null && entry.type === 'JobSubmitted') alike.write(writer, entry)
      else writeEntry(writer, entry)
    } catch (error) {
      // Half a record is none.
      writer.at = start
      throw error
    }
    this.#seal(start, ENTRY_CODES[entry.type], CURRENT_VERSION[entry.type])
    this.#entries += 1
    return position
  }

  /** Adds a marker. Its position. */
  addMarker(marker: CheckpointMarker): number {
    const writer = this.#writer
    const start = writer.at
    writer.ensure(RECORD_HEAD)
    writer.at = start + RECORD_HEAD
    writeMarker(writer, marker)
    this.#seal(start, MARKER_CODE, MARKER_VERSION)
    return this.#position + start / UNIT
  }

  /** The whole group, as it is to be written at an offset of its file. */
  seal(offset: number): Buffer {
    const { bytes } = this
    const used = this.#writer.at
    this.#writer.ensure(bytes - used)
    const whole = this.#writer.buffer.subarray(0, bytes)
    sealGroup(whole, this.#position, offset, used, this.#entries)
    return whole
  }

  #seal(start: number, code: number, version: number): void {
    const writer = this.#writer
    const end = writer.at
    this.#link = sealRecord(writer.buffer, start, end, this.#link, code, version)
    const next = alignUp(end, UNIT)
    writer.ensure(UNIT)
    for (let at = end; at < next; at++) writer.buffer[at] = 0
    writer.at = next
  }
}

/** A promise that the writer resolves or rejects. */
export class GroupOutcome {
  readonly promise: Promise<void>
  resolve!: () => void
  reject!: (error: unknown) => void

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    // A rejection that no caller waits for is no crash.
    this.promise.catch(() => undefined)
  }
}
