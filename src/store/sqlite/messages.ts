/**
 * What a connection to SQLite and its thread say to each other. Each task is answered once, in order.
 */
import type { Answered, Ask, Row, Value } from '../sql/connection.ts'
import type { SqlTrouble } from '../sql/failures.ts'

/** Which file is to be opened, and how. */
export interface Opening {
  readonly path: string
  /** How long a statement waits for a file that somebody else writes to. */
  readonly busyMs: number
}

/** A thread has no file open, or one. */
export type Task =
  | { readonly do: 'open'; readonly opening: Opening }
  | { readonly do: 'run'; readonly asks: readonly Ask[] }
  | { readonly do: 'close' }

export type Reply =
  | { readonly answers: readonly Answered[] }
  | {
      readonly trouble: SqlTrouble
      readonly message: string
      /** SQLite's number for it. */
      readonly errcode: number | null
      readonly sql: string | null
    }

/** A message, and the buffers that are handed over with it instead of being copied. */
export interface Packed<Message> {
  readonly message: Message
  readonly transfer: readonly ArrayBuffer[]
}

/**
 * All bytes of a message in one buffer. Left as they are, bytes that are a small part of a large
 * buffer would take all of it with them, and each buffer costs on its own.
 */
class Packing {
  readonly #bytes: Uint8Array<ArrayBuffer>
  #end = 0

  constructor(rows: Iterable<Row>) {
    let size = 0
    for (const row of rows) {
      for (const value of row) if (value instanceof Uint8Array) size += value.length
    }
    this.#bytes = new Uint8Array(size)
  }

  rows(rows: readonly Row[]): readonly Row[] {
    return this.#bytes.length === 0 ? rows : rows.map((row) => this.row(row))
  }

  row(row: Row): Row {
    return this.#bytes.length === 0 ? row : row.map((value) => this.#value(value))
  }

  packed<Message>(message: Message): Packed<Message> {
    return { message, transfer: this.#bytes.length === 0 ? [] : [this.#bytes.buffer] }
  }

  #value(value: Value): Value {
    if (!(value instanceof Uint8Array)) return value
    const start = this.#end
    this.#end += value.length
    this.#bytes.set(value, start)
    return this.#bytes.subarray(start, this.#end)
  }
}

function* rowsOf(asks: readonly Ask[]): Iterable<Row> {
  for (const ask of asks) {
    if ('rows' in ask) yield* ask.rows
    else yield ask.values
  }
}

export function packAsks(asks: readonly Ask[]): Packed<readonly Ask[]> {
  const packing = new Packing(rowsOf(asks))
  return packing.packed(
    asks.map((ask) =>
      'rows' in ask
        ? { ...ask, rows: packing.rows(ask.rows) }
        : { sql: ask.sql, values: packing.row(ask.values) },
    ),
  )
}

export function packAnswers(answers: readonly Answered[]): Packed<readonly Answered[]> {
  const packing = new Packing(answers.flatMap(({ rows }) => rows))
  return packing.packed(answers.map(({ rows, changed }) => ({ rows: packing.rows(rows), changed })))
}
