/**
 * Statements that are sent to PostgreSQL together, and what is heard of them.
 *
 * pg's own queries each end with a Sync, at which the server forgets that one has failed and runs
 * the next. A batch has one Sync, at its end: what stands behind a failure is skipped, and all
 * answers come in one piece. It takes the place of a query of pg, and writes with pg's means.
 */
import type { StatementResult, Statement, Row, Value } from '../connection.ts'
import { spotIn } from './row-locations.ts'
import type { Parameter } from './parameters.ts'
import { columns, scalar } from './parameters.ts'

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

type Reader = (text: string) => Value

const ZERO = '0'.charCodeAt(0)
/** Any number of so many digits is exact. */
const EXACT_DIGITS = 15
const asNumber: Reader = Number
const asText: Reader = (text) => text
/** By PostgreSQL's own number of the type. All of our integers are exact as numbers. */
const READERS: Readonly<Record<number, Reader>> = {
  16: (text) => text === 't',
  // `\x`, then two digits for each byte.
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: asInteger,
  21: asInteger,
  23: asInteger,
  27: spotIn,
  700: asNumber,
  701: asNumber,
  1700: asNumber,
}

/** Nearly all values are short integers, and `Number` is for texts of any kind. */
function asInteger(text: string): number {
  const { length } = text
  if (length > EXACT_DIGITS) return Number(text)
  let value = 0
  for (let i = 0; i < length; i++) {
    const digit = text.charCodeAt(i) - ZERO
    // The sign of what is below zero.
    if (digit < 0) return Number(text)
    value = value * 10 + digit
  }
  return value
}

interface PreparedStatement {
  readonly name: string
  /** What its columns are, once the server has run it; null: it is not known to be prepared. */
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

/** For a connection of somebody else: nothing stays prepared on it. */
export const UNNAMED: Pick<PreparedStatements, 'of'> = { of: () => ({ name: '', readers: null }) }

/** One statement with what it is to be run with. */
export interface Sent {
  readonly sql: string
  readonly values: readonly Parameter[]
  /** What follows it, if it is a COPY. */
  readonly copied: Buffer | null
}

interface Bound extends Sent {
  readonly statement: PreparedStatement
  /** Which ask it is of: those without rows are not sent, and some are sent in parts. */
  readonly place: number
}

/** An ask as one statement. Throws a RangeError for what cannot be sent. */
export function whole(ask: Statement): Sent {
  const values = 'rows' in ask ? columns(ask.sql, ask.rows) : ask.values.map(scalar)
  return { sql: ask.sql, values, copied: null }
}

/** `parts`: how an ask is sent. Throws a RangeError for what cannot be, BEFORE anything is. */
export function bind(
  asks: readonly Statement[],
  statements: Pick<PreparedStatements, 'of'>,
  parts: (ask: Statement) => readonly Sent[] = (ask) => [whole(ask)],
): readonly Bound[] {
  const bound: Bound[] = []
  for (const [place, ask] of asks.entries()) {
    if ('rows' in ask && ask.rows.length === 0) continue
    for (const sent of parts(ask))
      bound.push({ ...sent, statement: statements.of(sent.sql), place })
  }
  return bound
}

export interface BatchOutcome {
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
  /** Of each, as they were known when it was sent: then they are not sent again. */
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
    this.#known = this.#bound.map(({ statement }) => statement.readers)
    wire.stream.cork()
    for (const { sql, statement, values, copied } of this.#bound) {
      const { name } = statement
      const isReady = statement.readers !== null
      if (!isReady && !parsed.has(statement)) {
        // It may be there: a batch that is under way may have prepared it, or have failed before.
        wire.close({ type: 'S', name })
        wire.parse({ name, text: sql })
        parsed.add(statement)
      }
      wire.bind({ statement: name, values })
      // Columns never change: the server refuses a statement of which they would.
      if (!isReady) wire.describe({ type: 'P' })
      wire.execute(null)
      // It is not waited for whether the server wants it: one that has failed passes over it.
      if (copied !== null) wire.stream.write(copied)
    }
    wire.sync()
    wire.stream.uncork()
    this.#begin()
  }

  handleRowDescription({ fields }: { fields: readonly { dataTypeID: number }[] }): void {
    this.#readers = fields.map(({ dataTypeID }) => READERS[dataTypeID] ?? asText)
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const readers = this.#readers
    const row: Value[] = fields
    // There are many: an iterator would cost more than what is read.
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
    bound.statement.readers = this.#readers
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

  /** Its rows are sent already. */
  handleCopyInResponse(): void {}

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' })
  }

  handleReadyForQuery(): void {
    this.#isOver = true
    if (this.#refusal === null) this.#outcome.answered(this.#answers)
    else this.#outcome.failed(this.#refusal, null)
  }

  /** Of the server, or of the connection that ended. What the server says ends the batch. */
  handleError(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    const bound = this.#bound[this.#next]
    // It is prepared anew next time, in case that this is what went wrong.
    if (bound !== undefined) bound.statement.readers = null
    this.#outcome.failed(error, bound?.sql ?? null)
  }

  #begin(): void {
    this.#rows = []
    this.#readers = this.#known[this.#next] ?? []
  }
}
