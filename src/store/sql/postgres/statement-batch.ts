/**
 * Statements that are sent to PostgreSQL together, and their answers.
 *
 * Each of pg's own queries ends with a Sync, at which the server forgets that one has failed and runs
 * the next. A batch has one Sync, at its end: the server skips what stands behind a failure, and all
 * answers come in one piece. A batch takes the place of a query of pg, and writes with pg's connection.
 */
import type { StatementResult, Statement, Row, Value } from '../connection.ts'
import type { Parameter, Reader } from './wire-values.ts'
import { columns, readerOf, scalar } from './wire-values.ts'

/** What is used of pg's connection. */
export interface Wire {
  readonly stream: { cork(): void; uncork(): void; write(bytes: Buffer): unknown }
  parse(message: { name: string; text: string }): void
  bind(message: { statement: string; values: readonly Parameter[] }): void
  describe(message: { type: 'P' }): void
  execute(message: null): void
  close(message: { type: 'S'; name: string }): void
  sync(): void
}

interface PreparedStatement {
  readonly name: string
  /** Of its columns, once the server has run it; null: it is not known to be prepared. */
  readers: readonly Reader[] | null
}

/** The statements that one connection has prepared, by their texts. */
export class PreparedStatements {
  readonly #byText = new Map<string, PreparedStatement>()

  of(sql: string): PreparedStatement {
    let statement = this.#byText.get(sql)
    if (statement === undefined) {
      statement = { name: `pawl_${this.#byText.size + 1}`, readers: null }
      this.#byText.set(sql, statement)
    }
    return statement
  }
}

/** For a connection of the user's: nothing stays prepared on it. */
export const UNNAMED: Pick<PreparedStatements, 'of'> = { of: () => ({ name: '', readers: null }) }

/** One statement with what it is to be run with. */
export interface Sent {
  readonly sql: string
  readonly values: readonly Parameter[]
  /** The messages that follow it, if it is a COPY. */
  readonly copied: Buffer | null
}

interface Bound extends Sent {
  readonly prepared: PreparedStatement
  /** Which statement of the batch it is of: those without rows are not sent, and some are sent in parts. */
  readonly place: number
}

/** A statement as it is. Throws a RangeError for what cannot be sent. */
export function whole(statement: Statement): Sent {
  const { sql } = statement
  const values = 'rows' in statement ? columns(sql, statement.rows) : statement.values.map(scalar)
  return { sql, values, copied: null }
}

/** `parts`: how a statement is sent. Throws a RangeError for what cannot be, BEFORE anything is. */
export function bind(
  statements: readonly Statement[],
  prepared: Pick<PreparedStatements, 'of'>,
  parts: (statement: Statement) => readonly Sent[] = (statement) => [whole(statement)],
): readonly Bound[] {
  const bound: Bound[] = []
  for (const [place, statement] of statements.entries()) {
    if ('rows' in statement && statement.rows.length === 0) continue
    for (const sent of parts(statement)) {
      bound.push({ ...sent, prepared: prepared.of(sent.sql), place })
    }
  }
  return bound
}

interface BatchOutcome {
  answered(answers: readonly StatementResult[]): void
  /** With the text of the statement, if the server said it of one. */
  failed(error: Error, sql: string | null): void
}

const NOTHING: StatementResult = { rows: [], changed: 0 }
/** How a statement ended: `INSERT 0 5`, `UPDATE 5`, `COMMIT`. */
const CHANGES = /^(?:INSERT \d+|UPDATE|DELETE|MERGE|COPY) (\d+)$/

export class StatementBatch {
  readonly #bound: readonly Bound[]
  readonly #answers: StatementResult[]
  readonly #outcome: BatchOutcome
  #next = 0
  #rows: Row[] = []
  #readers: readonly Reader[] = []
  /** Of each, as they were known when it was sent: the server does not describe those again. */
  #known: readonly (readonly Reader[] | null)[] = []
  #refusal: Error | null = null
  #isOver = false

  constructor(size: number, bound: readonly Bound[], outcome: BatchOutcome) {
    this.#answers = Array.from({ length: size }, () => NOTHING)
    this.#bound = bound
    this.#outcome = outcome
  }

  submit(wire: Wire): void {
    const parsed = new Set<PreparedStatement>()
    this.#known = this.#bound.map(({ prepared }) => prepared.readers)
    wire.stream.cork()
    for (const { sql, prepared, values, copied } of this.#bound) {
      const { name } = prepared
      const isReady = prepared.readers !== null
      if (!isReady && !parsed.has(prepared)) {
        // It may be there: a batch that is under way may have prepared it, or have failed before.
        wire.close({ type: 'S', name })
        wire.parse({ name, text: sql })
        parsed.add(prepared)
      }
      wire.bind({ statement: name, values })
      // Columns never change: the server refuses a statement of which they would.
      if (!isReady) wire.describe({ type: 'P' })
      wire.execute(null)
      // Without waiting for the server to ask for it: behind a failure the server skips it.
      if (copied !== null) wire.stream.write(copied)
    }
    wire.sync()
    wire.stream.uncork()
    this.#begin()
  }

  handleRowDescription({ fields }: { fields: readonly { dataTypeID: number }[] }): void {
    this.#readers = fields.map(({ dataTypeID }) => readerOf(dataTypeID))
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const readers = this.#readers
    const row: Value[] = fields
    // There are many fields: an iterator would cost more than reading them.
    for (let at = 0; at < readers.length; at++) {
      const field = fields[at] as string | null
      if (field !== null) row[at] = (readers[at] as Reader)(field)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }): void {
    const bound = this.#bound[this.#next]
    if (bound === undefined) return
    const [, count = '0'] = CHANGES.exec(text) ?? []
    bound.prepared.readers = this.#readers
    const { rows, changed } = this.#answers[bound.place] ?? NOTHING
    this.#answers[bound.place] = {
      rows: rows.length === 0 ? this.#rows : [...rows, ...this.#rows],
      changed: changed + Number(count),
    }
    if (text === 'ROLLBACK' && !/^\s*rollback\b/i.test(bound.sql)) {
      this.#refusal = new RangeError('A transaction that had failed before was to be committed.')
    }
    this.#next++
    this.#begin()
  }

  /** Its rows were sent with the statement. */
  handleCopyInResponse(): void {}

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' })
  }

  handleReadyForQuery(): void {
    this.#isOver = true
    if (this.#refusal === null) this.#outcome.answered(this.#answers)
    else this.#outcome.failed(this.#refusal, null)
  }

  /** Of the server, or of the connection that ended. Either ends the batch. */
  handleError(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    const bound = this.#bound[this.#next]
    // It is prepared anew next time, in case that the prepared statement is what was wrong.
    if (bound !== undefined) bound.prepared.readers = null
    this.#outcome.failed(error, bound?.sql ?? null)
  }

  #begin(): void {
    this.#rows = []
    this.#readers = this.#known[this.#next] ?? []
  }
}
