/**
 * A suspended job as bytes: to readers a job like any other, and to the heap a short text. A handler may wait for
 * months, and so may a hundred thousand of them: as objects each would take more than 1,500 bytes.
 *
 * Nothing about it changes. The ledger puts the job itself in its place BEFORE an entry is applied to it, and when
 * it is due.
 */
import type { Job, JobSpec, Task } from '../../kernel/index.ts'
import { ByteReader, ByteWriter, Interning, readJob, writeJob } from '../../log/index.ts'
import { Heap } from '../ready/indexed-queue.ts'

/** A job with more than this stays as it is: its payloads are most of it. */
const MOST_BYTES = 2_048

const interning = new Interning()
const writer = new ByteWriter()

export class PackedJob implements Job {
  readonly id: string
  readonly firstPosition: number
  /** When its task is due. */
  readonly resumesAt: number
  /** It was not taken back yet. */
  isParked = true
  /** A byte is a character. */
  readonly #record: string

  constructor(job: Job, resumesAt: number, record: string) {
    this.id = job.id
    this.firstPosition = job.firstPosition
    this.resumesAt = resumesAt
    this.#record = record
  }

  /** The job itself, which may change. */
  unpack(): Job {
    const bytes = Buffer.from(this.#record, 'latin1')
    return readJob(new ByteReader(bytes, 0, bytes.length), interning).job
  }

  get #job(): Job {
    // Fields are asked for one after the other.
    if (lastRead?.packed !== this) lastRead = { packed: this, job: this.unpack() }
    return lastRead.job
  }

  get spec(): JobSpec {
    return this.#job.spec
  }

  get version(): number {
    return this.#job.version
  }

  get time(): number {
    return this.#job.time
  }

  get submittedAt(): number {
    return this.#job.submittedAt
  }

  get dueAt(): number {
    return this.#job.dueAt
  }

  get deadlineAt(): number | null {
    return this.#job.deadlineAt
  }

  get held(): boolean {
    return this.#job.held
  }

  get cancelled(): Job['cancelled'] {
    return this.#job.cancelled
  }

  get erased(): Job['erased'] {
    return this.#job.erased
  }

  get opened(): Job['opened'] {
    return this.#job.opened
  }

  get task(): Task | null {
    return this.#job.task
  }

  get messages(): Job['messages'] {
    return this.#job.messages
  }

  get replaced(): Job['replaced'] {
    return this.#job.replaced
  }

  get lastPosition(): number {
    return this.#job.lastPosition
  }
}

let lastRead: { readonly packed: PackedJob; readonly job: Job } | null = null

/** Null: it is too large. */
export function packJob(job: Job, task: Task): PackedJob | null {
  writer.at = 0
  writeJob(writer, job, null)
  if (writer.at > MOST_BYTES) return null
  return new PackedJob(job, task.dueAt, writer.buffer.toString('latin1', 0, writer.at))
}

/** Below this many, those that were taken back are not worth a sweep. */
const FEW = 64

/** Packed jobs by when they are due, with some that were taken back. */
export class ParkedJobs {
  #due = new Heap<PackedJob>(isEarlier)
  size = 0

  /** `isDue`: time alone lets it go on. */
  add(packed: PackedJob, isDue: boolean): void {
    this.size += 1
    if (!isDue) return
    this.#due.push(packed)
    this.#sweep()
  }

  /** The ledger has the job itself again. */
  takeBack(packed: PackedJob): void {
    packed.isParked = false
    this.size -= 1
    this.#sweep()
  }

  /** Those that are due at this time, in order. */
  takeDue(now: number, takeBack: (packed: PackedJob) => void): void {
    for (;;) {
      const [first] = this.#due.items
      if (first === undefined || first.resumesAt > now) return
      this.#due.removeAt(0)
      if (first.isParked) takeBack(first)
    }
  }

  #sweep(): void {
    const { items } = this.#due
    if (items.length <= 2 * this.size + FEW) return
    const kept = items.filter(({ isParked }) => isParked)
    this.#due = new Heap<PackedJob>(isEarlier)
    for (const one of kept) this.#due.push(one)
  }
}

function isEarlier(a: PackedJob, b: PackedJob): boolean {
  if (a.resumesAt !== b.resumesAt) return a.resumesAt < b.resumesAt
  return a.firstPosition < b.firstPosition
}
