/**
 * Values as the protocol of PostgreSQL has them: parameters and rows of COPY on their way to the server,
 * and texts on their way back.
 *
 * A table of parameters is sent as one array a column, in the binary form that the server itself uses.
 * With arrays as texts, an insert of 500 rows with 300 bytes each takes twice as long (4.8 ms against
 * 2.5 ms on one machine): bytes become hex, in quotes, and are read twice. The type of a column is the one
 * that the statement casts it to: `unnest($1::text[], $2::int8[])`.
 *
 * COPY takes rows as they are, and logs a page of them at once. An insert from arrays has its rows taken
 * apart into columns here and put together again by the server, which logs each row by itself.
 */
import { ByteWriter } from '../../../log/index.ts'
import type { Row, Value } from '../connection.ts'
import { asBuffer } from '../connection.ts'

/** What pg sends as it is: texts, and the bytes of a binary form. */
export type Parameter = string | Buffer | null

type ValueType = 'text' | 'int8' | 'int4' | 'float8' | 'bool' | 'bytea'

/** The numbers that PostgreSQL has for its own types. */
const OIDS: Readonly<Record<ValueType, number>> = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int4: 23,
  text: 25,
  float8: 701,
}

const OTHER_NAMES: Readonly<Record<string, ValueType>> = {
  bigint: 'int8',
  boolean: 'bool',
  integer: 'int4',
  int: 'int4',
}

const NULL = -1
const TWO_TO_32 = 2 ** 32
const FIRST_SIZE = 64 * 1_024
/** A larger one is not kept for the next time. */
const MOST_KEPT = 1_024 * 1_024

let out = new ByteWriter(FIRST_SIZE)

/** What was written, as bytes of their own. */
function takeWritten(): Buffer {
  const written = Buffer.from(out.buffer.subarray(0, out.at))
  if (out.buffer.length > MOST_KEPT) out = new ByteWriter(FIRST_SIZE)
  return written
}

/** Each writes the length, and then the value. */
const WRITERS: Readonly<Record<ValueType, (value: Value) => void>> = {
  int4: (value) => {
    if (!Number.isSafeInteger(value)) throw unsendable(value, 'int4')
    writeInt32(4)
    writeInt32(value as number)
  },
  int8: (value) => {
    if (!Number.isSafeInteger(value)) throw unsendable(value, 'int8')
    writeInt32(8)
    writeInt32(Math.floor((value as number) / TWO_TO_32))
    writeInt32(value as number)
  },
  float8: (value) => {
    if (typeof value !== 'number') throw unsendable(value, 'float8')
    writeInt32(8)
    out.ensure(8)
    out.at = out.buffer.writeDoubleBE(value, out.at)
  },
  bool: (value) => {
    if (typeof value !== 'boolean') throw unsendable(value, 'bool')
    writeInt32(1)
    out.u8(value ? 1 : 0)
  },
  text: (value) => {
    if (typeof value !== 'string') throw unsendable(value, 'text')
    // Three bytes for each unit at the most.
    out.ensure(4 + value.length * 3)
    const length = writeText(out.buffer, value, out.at + 4)
    writeInt32(length)
    out.at += length
  },
  bytea: (value) => {
    if (!(value instanceof Uint8Array)) throw unsendable(value, 'bytea')
    writeInt32(value.length)
    out.raw(value)
  },
}

/** Up to here a loop over the characters is quicker than a call out of the virtual machine. */
const SHORT_TEXT = 40

/** How many bytes it takes, from `at` on. */
function writeText(buffer: Buffer, text: string, at: number): number {
  if (text.length > SHORT_TEXT) return buffer.write(text, at)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return buffer.write(text, at)
    buffer[at + i] = code
  }
  return text.length
}

function writeValue(write: (value: Value) => void, value: Value): void {
  if (value === null) writeInt32(NULL)
  else write(value)
}

/** The lowest 32 bits. */
function writeInt32(value: number): void {
  out.ensure(4)
  const { buffer, at } = out
  buffer[at] = value >> 24
  buffer[at + 1] = value >> 16
  buffer[at + 2] = value >> 8
  buffer[at + 3] = value
  out.at = at + 4
}

/** The lowest 16 bits. */
function writeInt16(value: number): void {
  out.u8(value >> 8)
  out.u8(value)
}

function unsendable(value: Value, type: ValueType): RangeError {
  const text = String(value).slice(0, 40)
  return new RangeError(`A ${typeof value} cannot be sent as ${type}: ${text}`)
}

// Arrays.

const CAST = /\$(\d+)::(\w+)\[\]/g
const typesOfStatements = new Map<string, readonly ValueType[]>()

/** The types of a statement's array parameters, in order. */
function elementTypes(sql: string): readonly ValueType[] {
  const known = typesOfStatements.get(sql)
  if (known !== undefined) return known
  const types: ValueType[] = []
  for (const [, position = '', name = ''] of sql.matchAll(CAST)) {
    const type = OTHER_NAMES[name] ?? (name as ValueType)
    if (!(type in OIDS)) throw new RangeError(`No array of ${name} can be sent, in: ${sql}`)
    types[Number(position) - 1] = type
  }
  typesOfStatements.set(sql, types)
  return types
}

export function scalar(value: Value): Parameter {
  if (value === null || typeof value === 'string') return value
  return typeof value === 'object' ? asBuffer(value) : String(value)
}

/**
 * One parameter for each column. All rows are as long as the first. Throws a RangeError for what cannot be
 * sent.
 */
export function columns(sql: string, rows: readonly Row[]): Parameter[] {
  const types = elementTypes(sql)
  return (rows[0] ?? []).map((_, column) => {
    const type = types[column]
    if (type === undefined) throw new RangeError(`$${column + 1} is cast to no array, in: ${sql}`)
    return arrayOf(type, rows, column)
  })
}

function arrayOf(type: ValueType, rows: readonly Row[], column: number): Buffer {
  const write = WRITERS[type]
  const hasNull = rows.some((row) => row[column] === null)
  out.at = 0
  // Dimensions, nulls, type, length, first index.
  writeInt32(1)
  writeInt32(hasNull ? 1 : 0)
  writeInt32(OIDS[type])
  writeInt32(rows.length)
  writeInt32(1)
  for (const row of rows) writeValue(write, row[column] as Value)
  return takeWritten()
}

// COPY.

interface CopyColumn {
  readonly write: (value: Value) => void
  /** Where its value stands in a row. */
  readonly from: number
}

/** What stands behind the name of a column in the text of a COPY: `$1::text`. */
const CONTENT = /\/\* \$(\d+)::(\w+) \*\//g
/** The signature, no flags, and nothing more in the header. */
const HEADER = Buffer.from('PGCOPY\n\u00ff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const END = -1
/** Kinds of messages: rows, and that there are no more. */
const COPY_DATA = 0x64
const COPY_DONE = 0x63
/** A message has its kind first, and then its length, which counts itself. */
const KIND = 1
const LENGTH = 4

const columnsOfCopies = new Map<string, readonly CopyColumn[]>()

export function isCopy(sql: string): boolean {
  return sql.startsWith('copy ')
}

/**
 * The messages that follow the statement. Throws a RangeError for what cannot be sent.
 *
 * Rows that are written together are much alike: columns that have the value of the row before are copied from it,
 * those that stand side by side at once.
 */
export function copyMessages(sql: string, rows: readonly Row[]): Buffer {
  const copied = copyColumns(sql)
  out.at = KIND + LENGTH
  out.raw(HEADER)
  let before = new Uint32Array(copied.length + 1)
  let begin = new Uint32Array(copied.length + 1)
  let rowBefore: Row | null = null
  for (const row of rows) {
    copyRow(copied, row, rowBefore, before, begin)
    ;[before, begin] = [begin, before]
    rowBefore = row
  }
  writeInt16(END)
  const dataEnd = out.at
  out.u8(COPY_DONE)
  writeInt32(LENGTH)
  const messages = takeWritten()
  messages[0] = COPY_DATA
  messages.writeInt32BE(dataEnd - KIND, KIND)
  return messages
}

/**
 * `before`: where the columns of the row before begin, and where it ends. `begin`: given the same of this row.
 *
 * In a function of its own, and small: the virtual machine compiles it while the first thousand rows are written.
 */
function copyRow(
  copied: readonly CopyColumn[],
  row: Row,
  rowBefore: Row | null,
  before: Uint32Array,
  begin: Uint32Array,
): void {
  writeInt16(copied.length)
  for (let column = 0; column < copied.length;) {
    const same = rowBefore === null ? column : endOfSame(copied, column, row, rowBefore)
    if (same > column) {
      copyColumnsBefore(column, same, before, begin)
      column = same
      continue
    }
    begin[column] = out.at
    const { write, from } = copied[column++] as CopyColumn
    writeValue(write, row[from] as Value)
  }
  begin[copied.length] = out.at
}

function copyColumnsBefore(
  first: number,
  end: number,
  before: Uint32Array,
  begin: Uint32Array,
): void {
  const from = before[first] as number
  const bytes = (before[end] as number) - from
  out.ensure(bytes)
  const { at } = out
  for (let column = first; column < end; column++) {
    begin[column] = (before[column] as number) - from + at
  }
  out.buffer.copyWithin(at, from, from + bytes)
  out.at = at + bytes
}

/** The first column from this one on that has another value than in the row before. */
function endOfSame(copied: readonly CopyColumn[], first: number, row: Row, rowBefore: Row): number {
  let column = first
  while (column < copied.length) {
    const { from } = copied[column] as CopyColumn
    if (row[from] !== rowBefore[from]) break
    column += 1
  }
  return column
}

function copyColumns(sql: string): readonly CopyColumn[] {
  const known = columnsOfCopies.get(sql)
  if (known !== undefined) return known
  const found = [...sql.matchAll(CONTENT)].map(([, parameter, type = '']): CopyColumn => {
    const write = WRITERS[type as ValueType]
    if (write === undefined) throw new RangeError(`No ${type} can be copied, in: ${sql}`)
    return { write, from: Number(parameter) - 1 }
  })
  columnsOfCopies.set(sql, found)
  return found
}

// Answers.

/** Reads a value from its text. */
export type Reader = (text: string) => Value

const asNumber: Reader = Number
const asText: Reader = (text) => text

const READERS: Readonly<Record<number, Reader>> = {
  [OIDS.bool]: (text) => text === 't',
  // `\x`, then two digits for each byte.
  [OIDS.bytea]: (text) => Buffer.from(text.slice(2), 'hex'),
  [OIDS.int8]: asNumber,
  // int2
  21: asNumber,
  [OIDS.int4]: asNumber,
  // float4
  700: asNumber,
  [OIDS.float8]: asNumber,
  // numeric
  1700: asNumber,
}

/** `oid`: PostgreSQL's own number of the type. All of our integers are exact as numbers. */
export function readerOf(oid: number): Reader {
  return READERS[oid] ?? asText
}
