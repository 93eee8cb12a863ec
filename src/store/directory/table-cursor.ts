/**
 * A table of finished jobs, gone through in order of submission. Rows that a filter leaves out by what the table
 * says of them are passed over without reading their records.
 */
import type { FinishedCell, FinishedTable, Interning } from '../../log/index.ts'
import { countUpTo, recordTallies } from '../../log/index.ts'
import type { JobsFilter } from '../read-model.ts'
import type { Listed } from '../views/job-pages.ts'
import { listing } from '../views/job-pages.ts'

export interface FoundFinished {
  readonly first: number
  /** Reads it. */
  readonly read: () => Listed
}

export class TableCursor {
  readonly #table: FinishedTable
  readonly #interning: Interning
  readonly #step: 1 | -1
  /** Of each cell: whether the filter lets it through. */
  readonly #isMeant: Uint8Array
  readonly #filter: JobsFilter
  /** The place in the order of submission, and between which places it stays. */
  #at: number
  readonly #from: number
  readonly #end: number
  #first = -1

  private constructor(
    table: FinishedTable,
    isMeant: Uint8Array,
    { at, from, end }: { readonly at: number; readonly from: number; readonly end: number },
    newest: boolean,
    filter: JobsFilter,
    interning: Interning,
  ) {
    this.#table = table
    this.#isMeant = isMeant
    this.#at = at
    this.#from = from
    this.#end = end
    this.#step = newest ? -1 : 1
    this.#filter = filter
    this.#interning = interning
  }

  /** Null: nothing in the table is meant. */
  static open(
    table: FinishedTable,
    position: number,
    newest: boolean,
    filter: JobsFilter,
    interning: Interning,
  ): TableCursor | null {
    const isMeant = Uint8Array.from(table.cells, (cell) => (isMeantBy(cell, filter) ? 1 : 0))
    if (!isMeant.includes(1)) return null
    const upTo = (time: number): number =>
      countUpTo(time, table.records, (n) => {
        return table.read(table.nthSubmitted(n), interning).job.submittedAt
      })
    // Times grow with positions.
    const { submittedFrom, submittedBefore } = filter
    const from = submittedFrom === undefined ? 0 : upTo(submittedFrom - 1)
    const end = submittedBefore === undefined ? table.records : upTo(submittedBefore - 1)
    const at = newest
      ? Math.min(end, table.submittedUpTo(position - 1)) - 1
      : Math.max(from, table.submittedUpTo(position))
    return new TableCursor(table, isMeant, { at, from, end }, newest, filter, interning)
  }

  get isDone(): boolean {
    return this.#at < this.#from || this.#at >= this.#end
  }

  /** The first position of the next job; -1: the cursor has not come to it yet. */
  get first(): number {
    return this.#first
  }

  /** Goes to the next row that is meant. How many were passed over: so many at most. */
  advance(): number {
    if (this.#first !== -1) return 0
    const table = this.#table
    let passed = 0
    for (; !this.isDone; this.#at += this.#step) {
      const row = table.nthSubmitted(this.#at)
      if (this.#isMeant[table.cellOf(row)] === 1 && !table.isGone(row) && this.#isEndMeant(row)) {
        this.#first = table.firstPosition(row)
        break
      }
      passed += 1
    }
    return passed
  }

  take(): FoundFinished {
    const row = this.#table.nthSubmitted(this.#at)
    const found = { first: this.#first, read: () => this.#read(row) }
    this.#at += this.#step
    this.#first = -1
    return found
  }

  #read(row: number): Listed {
    const record = this.#table.read(row, this.#interning)
    return listing(record.job, recordTallies(record), 0)
  }

  #isEndMeant(row: number): boolean {
    const { endedFrom, endedBefore } = this.#filter
    if (endedFrom === undefined && endedBefore === undefined) return true
    const endedAt = this.#table.endedAt(row)
    return (endedFrom ?? 0) <= endedAt && endedAt < (endedBefore ?? Infinity)
  }
}

/** A pipeline is in no queue itself: its record says which its stages are in. */
function isMeantBy(cell: FinishedCell, { type, state, queue, tag, error }: JobsFilter): boolean {
  if ((type ?? cell.type) !== cell.type || (state ?? cell.state) !== cell.state) return false
  if (queue !== undefined && cell.queue !== queue && cell.queue !== '') return false
  if (error !== undefined && cell.error !== error) return false
  return tag === undefined || cell.tags.includes(tag)
}
