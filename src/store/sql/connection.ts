/**
 * What a store needs of a database driver: a connection that runs statements which are sent together.
 *
 * A dialect has the texts of the statements and the connection; nothing else of a database is known
 * outside of its folder. Values are what both databases can hold.
 */
export type Value = string | number | boolean | null | Uint8Array

/** The same bytes, as Node has them. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Values in the order of a statement's parameters, or of its columns. */
export type Row = readonly Value[]

/**
 * One statement. With `values` it is run once. With `rows` it is run for a table of parameters:
 * SQLite runs it once for each row, PostgreSQL once for all of them, with each column as an
 * array. No rows: it is not run at all.
 */
export type Statement =
  | { readonly sql: string; readonly values: Row }
  | {
      readonly sql: string
      readonly rows: readonly Row[]
      /**
       * So many rows must change, or it fails with a conflict. SQLite's connection counts them; on
       * PostgreSQL the commit may be sent by then, so there the statement itself sees to it.
       */
      readonly expect?: number
    }

export interface StatementResult {
  /** What the statement selected or returned, for all rows of its parameters one after the other. */
  readonly rows: readonly Row[]
  /** How many rows it inserted, changed or deleted. */
  readonly changed: number
}

export interface Connection {
  /**
   * Sends them all at once, to be run in this order, and resolves when all are through. If one fails,
   * those behind it have no effect, and the promise is rejected with a `SqlFailed`: the caller that
   * began a transaction rolls it back.
   */
  run(statements: readonly Statement[]): Promise<readonly StatementResult[]>
  /** Ends it once what was sent is through. Closing twice is fine. */
  close(): Promise<void>
}

/** A connection that a user can write on, with the driver's own client. */
export interface ClientConnection extends Connection {
  readonly client: object
}
