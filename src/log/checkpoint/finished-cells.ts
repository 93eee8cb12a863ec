/**
 * What finished jobs are counted and listed by: type, queue, how they ended, error and tags. Many jobs have the
 * same, so a file of finished jobs has each such cell once, and of each row the number of its cell.
 */
import type { Job, JobState } from '../../kernel/index.ts'
import { errorFingerprint } from '../../kernel/index.ts'
import { ByteReader, ByteWriter } from '../format/bytes.ts'

export interface FinishedCell {
  readonly type: string
  /** Empty for a pipeline. */
  readonly queue: string
  readonly state: JobState
  /** A fingerprint; null: it failed of no error. */
  readonly error: string | null
  readonly tags: readonly string[]
}

/** Of a job that is over. */
export function cellOf(job: Job, state: JobState): FinishedCell {
  // Once: it may be read from the disk.
  const { type, tags } = job.spec
  return { type, queue: job.task?.policy.queue ?? '', state, error: errorFingerprint(job), tags }
}

/** Cells, numbered as they come. */
export class FinishedCells {
  readonly list: FinishedCell[] = []
  readonly #numbers = new Map<string, number>()
  /** Most jobs are as the one before. */
  #last = -1

  numberOf(cell: FinishedCell): number {
    const last = this.list[this.#last]
    if (last === undefined || !isSame(cell, last)) this.#last = this.#find(cell)
    return this.#last
  }

  #find({ type, queue, state, error, tags }: FinishedCell): number {
    const key = `${type}\0${queue}\0${state}\0${error ?? ''}\0${tags.join('\0')}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.list.push({ type, queue, state, error, tags: [...tags] }) - 1
    this.#numbers.set(key, number)
    return number
  }
}

/** It has neither tags nor an error, and nor has the other. */
function isSame(one: FinishedCell, other: FinishedCell): boolean {
  if (one.type !== other.type || one.queue !== other.queue || one.state !== other.state)
    return false
  if (one.error !== null || other.error !== null) return false
  return one.tags.length === 0 && other.tags.length === 0
}

export function encodeCells(cells: readonly FinishedCell[]): Buffer {
  const writer = new ByteWriter(1_024)
  writer.count(cells.length)
  for (const { type, queue, state, error, tags } of cells) {
    writer.text(type)
    writer.text(queue)
    writer.flag(state === 'SUCCEEDED')
    writer.flag(error !== null)
    if (error !== null) writer.text(error)
    writer.count(tags.length)
    for (const tag of tags) writer.text(tag)
  }
  return Buffer.from(writer.buffer.subarray(0, writer.at))
}

export function decodeCells(bytes: Buffer): FinishedCell[] {
  const reader = new ByteReader(bytes)
  return reader.list(() => ({
    type: reader.text(),
    queue: reader.text(),
    state: reader.flag() ? 'SUCCEEDED' : 'FAILED',
    error: reader.flag() ? reader.text() : null,
    tags: reader.list(() => reader.text()),
  }))
}
