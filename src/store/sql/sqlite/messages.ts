/**
 * The messages between a connection to SQLite and its thread. Each request is answered once, in order.
 */
import type { SqliteValue } from '../../../log/disk/sqlite-driver.ts'
import type { StatementResult, Statement, Row } from '../connection.ts'
import type { SqlFailureReason } from '../failures.ts'

/** Which file is to be opened, and how. */
export interface OpenFileRequest {
  readonly path: string
  /** How long a statement waits for a file that another connection writes to. */
  readonly busyMs: number
}

/** A thread has no file open, or one. */
export type ThreadRequest =
  | { readonly do: 'open'; readonly opening: OpenFileRequest }
  | { readonly do: 'run'; readonly statements: readonly FlatStatement[] }
  | { readonly do: 'close' }

export type ThreadReply =
  | { readonly answers: readonly FlatAnswer[] }
  | {
      readonly reason: SqlFailureReason
      readonly message: string
      /** SQLite's number for it. */
      readonly errcode: number | null
      readonly sql: string | null
    }

/**
 * Rows as one list of values, with all bytes in one piece: to hand over lists of lists, and many short
 * pieces of bytes, costs far more than what is in them.
 */
export interface Flat {
  readonly count: number
  readonly width: number
  /** For bytes: where they end. They begin where those before them end. */
  readonly values: readonly (string | number | null)[]
  /** Which of the values stand for bytes. */
  readonly bytesAt: readonly number[]
  readonly bytes: Uint8Array<ArrayBuffer>
}

export interface FlatStatement extends Flat {
  readonly sql: string
  readonly expect?: number | undefined
}

interface FlatAnswer extends Flat {
  readonly changed: number
}

const NO_BYTES = new Uint8Array(0)

/** Arrays are filled by `push`: Node hands over one that was made with its length value by value, with places. */
function flat(rows: readonly Row[]): Flat {
  const values: (string | number | null)[] = []
  const bytesAt: number[] = []
  const pieces: Uint8Array[] = []
  let end = 0
  for (const row of rows) {
    for (const value of row) {
      if (value instanceof Uint8Array) {
        end += value.length
        bytesAt.push(values.length)
        pieces.push(value)
        values.push(end)
      } else {
        // SQLite has no booleans. The driver refuses a value that is missing.
        values.push(typeof value === 'boolean' ? Number(value) : value)
      }
    }
  }
  const bytes = end === 0 ? NO_BYTES : new Uint8Array(end)
  let start = 0
  for (const piece of pieces) {
    bytes.set(piece, start)
    start += piece.length
  }
  return { count: rows.length, width: rows[0]?.length ?? 0, values, bytesAt, bytes }
}

/** The values as they were. */
export function valuesOf({ values, bytesAt, bytes }: Flat): SqliteValue[] {
  const own = values as SqliteValue[]
  let start = 0
  for (const at of bytesAt) {
    const end = own[at] as number
    own[at] = bytes.subarray(start, end)
    start = end
  }
  return own
}

function rowsOf(answer: FlatAnswer): Row[] {
  const { count, width } = answer
  const values = valuesOf(answer)
  const rows: Row[] = []
  for (let i = 0; i < count; i++) rows.push(values.slice(i * width, (i + 1) * width))
  return rows
}

export function flatStatements(statements: readonly Statement[]): FlatStatement[] {
  const all: FlatStatement[] = []
  for (const one of statements) {
    const { sql } = one
    if ('rows' in one) all.push({ sql, expect: one.expect, ...flat(one.rows) })
    else all.push({ sql, ...flat([one.values]) })
  }
  return all
}

export function flatAnswers(answers: readonly StatementResult[]): FlatAnswer[] {
  const all: FlatAnswer[] = []
  for (const { rows, changed } of answers) all.push({ changed, ...flat(rows) })
  return all
}

export function answersOf(answers: readonly FlatAnswer[]): StatementResult[] {
  return answers.map((answer) => ({ rows: rowsOf(answer), changed: answer.changed }))
}

/** Buffers that are handed over instead of being copied. */
export function buffersOf(all: readonly Flat[]): ArrayBuffer[] {
  return all.flatMap(({ bytes }) => (bytes.length === 0 ? [] : [bytes.buffer]))
}
