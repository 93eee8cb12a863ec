/**
 * Reads bytes by the tables of `docs/log-format.md` and by nothing else: what the page says of a
 * structure is carried out. Imports nothing of the code that wrote the bytes.
 */
import { crc32 } from 'node:zlib'
import { tableOf, tablesOf } from './page-tables.ts'

export type Values = Record<string, unknown>

/** A field of a structure: how it is written, and by which bit of the mask it is there. */
interface Field {
  /** Empty: the fields of a structure, taken over. */
  readonly name: string
  readonly kind: string
  readonly bit: number | null
  readonly otherwise: string
}

/** Bytes that do not say what the page says they must. */
export class NotAsThePageSays extends Error {
  override readonly name = 'NotAsThePageSays'
}

export function hold(condition: boolean, what: string): void {
  if (!condition) throw new NotAsThePageSays(what)
}

/** Where reading has come to. */
export interface Cursor {
  readonly bytes: Buffer
  at: number
}

/** How a kind is read that the page describes in words only. */
export type Special = (cursor: Cursor, scope: Values, layout: PageLayout) => unknown

export class PageLayout {
  readonly page: string
  readonly specials: Readonly<Record<string, Special>>
  readonly #structures = new Map<string, readonly Field[]>()

  constructor(page: string, specials: Readonly<Record<string, Special>> = {}) {
    this.page = page
    this.specials = specials
    for (const { caption, head, rows } of tablesOf(page)) {
      if (head[0] === 'Structure') {
        for (const [name = '', fields = ''] of rows) this.#structures.set(name, inOrder(fields))
      } else if (head[1] === 'Written as') {
        this.#structures.set(caption, rows.map(fieldOf))
      } else if (head[0] === 'Number') {
        for (const [, name = '', fields = ''] of rows) this.#structures.set(name, inOrder(fields))
      }
    }
  }

  /**
   * A structure, where `scope` has the values that its fields may refer to. One of an older
   * version may end before some field: from there on its texts are empty.
   */
  structure(name: string, cursor: Cursor, scope: Values = {}, endsBefore?: string): Values {
    const values = Object.create(scope) as Values
    this.#fields(name, cursor, values, endsBefore)
    const { mask: _mask, ...own } = values
    return own
  }

  #fields(name: string, cursor: Cursor, values: Values, endsBefore?: string): void {
    const fields = this.#structures.get(name)
    if (fields === undefined) throw new RangeError(`The page has no structure '${name}'.`)
    let isOver = false
    for (const { name: field, kind, bit, otherwise } of fields) {
      isOver ||= field === endsBefore
      if (isOver) values[field] = ''
      else if (field === '') this.#fields(kind, cursor, values)
      else if (bit === null || hasBit(values, bit)) values[field] = this.#read(kind, cursor, values)
      else values[field] = valueOf(otherwise, values)
    }
  }

  #read(kind: string, cursor: Cursor, scope: Values): unknown {
    const [first = '', ...rest] = kind.split(' ')
    const less = /^(.+) less (\d+)$/.exec(kind)
    if (kind.startsWith('many of ')) {
      const length = count(cursor)
      return Array.from({ length }, () => this.#read(kind.slice(8), cursor, scope))
    }
    if (less !== null)
      return (this.#read(less[1] as string, cursor, scope) as number) - Number(less[2])
    switch (first) {
      case 'maybe':
        return flag(cursor) ? this.#read(rest.join(' '), cursor, scope) : null
      case 'near':
        return (valueOf(rest.join(' '), scope) as number) + integer(cursor)
      case 'one':
        return kind.slice('one of '.length).split(', ')[u8(cursor)]
      case 'sized': {
        const end = count(cursor) + cursor.at
        const value = this.#read(rest.join(' '), cursor, scope)
        hold(cursor.at === end, `${kind} is as long as it says`)
        return value
      }
      case 'bit':
      case 'bits':
        return fromBits(kind, scope)
    }
    const read = VALUES[kind]
    if (read !== undefined) return read(cursor)
    const special = this.specials[kind]
    return special === undefined
      ? this.structure(kind, cursor, scope)
      : special(cursor, scope, this)
  }

  /** A head of fixed size: its fields, with every constant and checksum checked. */
  fixed(caption: string, bytes: Buffer, at: number, bodyEnd = bytes.length): Values {
    const values: Values = {}
    for (const [offset = '', field = '', type = ''] of tableOf(this.page, caption, 'Offset').rows) {
      values[field] = fixedValue(bytes, at, at + Number(offset), type, bodyEnd, caption)
    }
    return values
  }
}

function inOrder(fields: string): Field[] {
  return fields.split('; ').map((field) => {
    const [name = '', kind] = field.split(': ')
    return kind === undefined
      ? { name: '', kind: name, bit: null, otherwise: '' }
      : { name, kind, bit: null, otherwise: '' }
  })
}

function fieldOf([name = '', kind = '', when = '', otherwise = '']: readonly string[]): Field {
  const bit = /^bit (\d+)$/.exec(when)?.[1]
  return { name, kind, bit: bit === undefined ? null : Number(bit), otherwise }
}

function hasBit(values: Values, bit: number): boolean {
  return Math.floor((values['mask'] as number) / 2 ** bit) % 2 === 1
}

/** What a cell stands for: a literal, a field that stands before, or one of two by a bit. */
function valueOf(cell: string, scope: Values): unknown {
  const choice = /^(\S+) if bit (\d+), else (\S+)$/.exec(cell)
  if (choice !== null)
    return valueOf(choice[hasBit(scope, Number(choice[2])) ? 1 : 3] as string, scope)
  if (/^-?[\d,]+$/.test(cell)) return Number(cell.replaceAll(',', ''))
  if (cell === 'null') return null
  if (cell === '[]') return []
  if (cell === 'true' || cell === 'false') return cell === 'true'
  if (cell.startsWith('not ')) return valueOf(cell.slice(4), scope) !== true
  if (cell.startsWith('last of ')) return (valueOf(cell.slice(8), scope) as unknown[]).at(-1)
  const [first = '', ...path] = cell.split('.')
  if (!(first in scope)) return cell
  return path.reduce((value, name) => (value as Values)[name], scope[first])
}

/** `bit 9: false, true` and `bits 0 to 2: WAITING, LEASED`. */
function fromBits(kind: string, scope: Values): unknown {
  const [, low = '', , high = low, choices = ''] =
    /^bits? (\d+)( to (\d+))?: (.+)$/.exec(kind) ?? []
  const most = 2 ** (Number(high) - Number(low) + 1)
  const index = Math.floor((scope['mask'] as number) / 2 ** Number(low)) % most
  const choice = choices.split(', ')[index]
  hold(choice !== undefined, `${kind} has a choice ${index}`)
  return valueOf(choice as string, scope)
}

function fixedValue(
  bytes: Buffer,
  start: number,
  at: number,
  type: string,
  bodyEnd: number,
  caption: string,
): unknown {
  const characters = /^8 characters (.+)$/.exec(type)?.[1]
  if (characters !== undefined) {
    hold(bytes.toString('latin1', at, at + 8) === characters, `${caption} begins ${characters}`)
    return characters
  }
  const name = /^up to (\d+) characters$/.exec(type)?.[1]
  if (name !== undefined) {
    return bytes.toString('latin1', at, at + Number(name)).replace(/\0+$/, '')
  }
  if (type === '16 bytes') return bytes.toString('hex', at, at + 16)
  if (type === 'f64') return bytes.readDoubleLE(at)
  if (type === 'u8') return bytes[at]
  const [size, ...rest] = type.split(' ')
  const value = size === 'u16' ? bytes.readUInt16LE(at) : bytes.readUInt32LE(at)
  if (rest[0] === 'always') hold(value === Number(rest[1]), `${caption} has ${type}`)
  if (rest[0] === 'of') {
    hold(value === checksum(bytes, start, rest.join(' '), bodyEnd), `${caption} checks: ${type}`)
  }
  return value
}

/** `of 0 to 12 and of 16 to the end of the file`. */
function checksum(bytes: Buffer, start: number, of: string, bodyEnd: number): number {
  return of.split(' and ').reduce((sum, part) => {
    const [, from = '', to = ''] = /^of (\d+) to (.+)$/.exec(part) ?? []
    const end = to.startsWith('the end') ? bodyEnd : start + Number(to)
    return crc32(bytes.subarray(start + Number(from), end), sum)
  }, 0)
}

export function u8(cursor: Cursor): number {
  hold(cursor.at < cursor.bytes.length, 'there are bytes left')
  return cursor.bytes[cursor.at++] as number
}

function flag(cursor: Cursor): boolean {
  const byte = u8(cursor)
  hold(byte <= 1, 'a flag is 0 or 1')
  return byte === 1
}

export function count(cursor: Cursor): number {
  let value = 0
  for (let scale = 1; ; scale *= 128) {
    const byte = u8(cursor)
    value += (byte % 128) * scale
    if (byte < 128) return value
  }
}

export function integer(cursor: Cursor): number {
  const byte = u8(cursor)
  const size = (byte % 64) + (byte >= 128 ? count(cursor) * 64 : 0)
  return (byte & 64) === 0 || size === 0 ? size : -size
}

function fixedSize(cursor: Cursor, size: number): number {
  cursor.at += size
  return cursor.at - size
}

function text(cursor: Cursor): string {
  const header = count(cursor)
  const encoding = (['ascii', 'utf8', 'utf16le'] as const)[header % 4]
  const start = fixedSize(cursor, Math.floor(header / 4))
  hold(cursor.at <= cursor.bytes.length, 'a text is there')
  return cursor.bytes.toString(encoding, start, cursor.at)
}

const u32 = (cursor: Cursor): number => cursor.bytes.readUInt32LE(fixedSize(cursor, 4))

const VALUES: Readonly<Record<string, (cursor: Cursor) => unknown>> = {
  u8,
  u32,
  real: (cursor) => cursor.bytes.readDoubleLE(fixedSize(cursor, 8)),
  flag,
  count,
  integer,
  time: (cursor) => {
    const low = u32(cursor)
    return low + count(cursor) * 2 ** 32
  },
  text,
}
