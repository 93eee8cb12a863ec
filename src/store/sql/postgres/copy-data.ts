/**
 * Rows on their way into a table by COPY, in the binary form of PostgreSQL.
 *
 * An insert from arrays has its rows taken apart into columns here and put together again by the
 * server, and each row is logged by itself. COPY takes rows as they are, and logs a page of them at once.
 *
 * What stands in a column is said in the text, behind the column's name: the number of a parameter,
 * or a constant, and its type. `copies.ts` has such texts.
 */
import { ByteWriter } from '../../../log/index.ts'
import type { Row, Value } from '../connection.ts'
import { unsendable } from './parameters.ts'

interface CopyColumn {
  readonly write: (value: Value) => void
  /** Where it stands in a row; -1: it is the constant. */
  readonly from: number
  readonly constant: Value
}

/** What is behind the name of a column: `$1::text`, or `"WAITING"::text`. */
const CONTENT = /\/\* (?:\$(\d+)|(\S+))::(\w+) \*\//g
/** Behind the signature: no flags, and nothing more in the header. */
const HEADER = Buffer.from('PGCOPY\n\u00ff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const NULL = -1
const END = -1
const TWO_TO_32 = 2 ** 32
/** Kinds of messages: rows, and that there are no more. */
const COPY_DATA = 0x64
const COPY_DONE = 0x63
/** A message has its kind first, and then its length, which counts itself. */
const KIND = 1
const LENGTH = 4
/** Up to here a loop over the characters is quicker than a call out of the virtual machine. */
const SHORT_TEXT = 32
const FIRST_SIZE = 64 * 1_024
/** A larger one is not kept for the next time. */
const MOST_KEPT = 1_024 * 1_024

const known = new Map<string, readonly CopyColumn[]>()
let out = new ByteWriter(FIRST_SIZE)

export function isCopy(sql: string): boolean {
  return sql.startsWith('copy ')
}

/** The messages that follow the statement. Throws a RangeError for what cannot be sent. */
export function copyMessages(sql: string, rows: readonly Row[]): Buffer {
  const columns = columnsOf(sql)
  out.at = KIND + LENGTH
  out.raw(HEADER)
  for (const row of rows) {
    half(columns.length)
    for (const { write, from, constant } of columns) {
      const value = from < 0 ? constant : (row[from] as Value)
      if (value === null) word(NULL)
      else write(value)
    }
  }
  half(END)
  const dataEnd = out.at
  out.u8(COPY_DONE)
  word(LENGTH)
  const messages = Buffer.from(out.buffer.subarray(0, out.at))
  messages[0] = COPY_DATA
  messages.writeInt32BE(dataEnd - KIND, KIND)
  if (out.buffer.length > MOST_KEPT) out = new ByteWriter(FIRST_SIZE)
  return messages
}

function columnsOf(sql: string): readonly CopyColumn[] {
  const found = known.get(sql)
  if (found !== undefined) return found
  const columns: CopyColumn[] = []
  for (const [, parameter, constant = 'null', type = ''] of sql.matchAll(CONTENT)) {
    const write = WRITERS[type]
    if (write === undefined) throw new RangeError(`No ${type} can be copied, in: ${sql}`)
    const from = parameter === undefined ? -1 : Number(parameter) - 1
    columns.push({ write, from, constant: JSON.parse(constant) as Value })
  }
  known.set(sql, columns)
  return columns
}

const WRITERS: Readonly<Record<string, (value: Value) => void>> = {
  int4: (value) => {
    if (!Number.isSafeInteger(value)) throw unsendable(value, 'int4')
    word(4)
    word(value as number)
  },
  int8: (value) => {
    if (!Number.isSafeInteger(value)) throw unsendable(value, 'int8')
    word(8)
    word(Math.floor((value as number) / TWO_TO_32))
    word(value as number)
  },
  bool: (value) => {
    if (typeof value !== 'boolean') throw unsendable(value, 'bool')
    word(1)
    out.u8(value ? 1 : 0)
  },
  text: (value) => {
    if (typeof value !== 'string') throw unsendable(value, 'text')
    if (value.length > SHORT_TEXT || !shortText(value)) longText(value)
  },
  bytea: (value) => {
    if (!(value instanceof Uint8Array)) throw unsendable(value, 'bytea')
    word(value.length)
    out.raw(value)
  },
}

/** Whether it is plain enough; if not, nothing is written. */
function shortText(value: string): boolean {
  const { length } = value
  out.ensure(LENGTH + length)
  const { buffer } = out
  const at = out.at + LENGTH
  for (let i = 0; i < length; i++) {
    const unit = value.charCodeAt(i)
    if (unit > 0x7f) return false
    buffer[at + i] = unit
  }
  word(length)
  out.at += length
  return true
}

function longText(value: string): void {
  // Three bytes for each unit at the most.
  out.ensure(LENGTH + value.length * 3)
  const length = out.buffer.write(value, out.at + LENGTH)
  word(length)
  out.at += length
}

/** The lowest 32 bits. */
function word(value: number): void {
  out.ensure(4)
  const { buffer, at } = out
  buffer[at] = value >> 24
  buffer[at + 1] = value >> 16
  buffer[at + 2] = value >> 8
  buffer[at + 3] = value
  out.at = at + 4
}

/** The lowest 16 bits. */
function half(value: number): void {
  out.u8(value >> 8)
  out.u8(value)
}
