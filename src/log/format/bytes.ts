/**
 * Bytes, written and read by hand: the primitives of everything that the log keeps.
 *
 * Every value is written in one way only and comes back exactly: any safe integer, any double,
 * any string, lone surrogates included. What cannot be written throws before it is on disk;
 * what cannot be read throws `MalformedBytes`, and never allocates more than the bytes at hand
 * could stand for. One entry passes here half a million times a second, hence the plain loops.
 */
import { NONE } from '../../kernel/index.ts'

/** Bytes that no writer wrote: cut off, damaged, or not what they were taken for. */
export class MalformedBytes extends Error {
  readonly offset: number
  constructor(offset: number, why: string) {
    super(`Malformed bytes at offset ${offset}: ${why}`)
    this.name = 'MalformedBytes'
    this.offset = offset
  }
}

/** What Node's buffers and strings can do and the type declarations leave out. */
interface NativeBuffer extends Buffer {
  latin1Write(text: string, at: number, length: number): number
  utf8Write(text: string, at: number, length: number): number
  ucs2Write(text: string, at: number, length: number): number
  latin1Slice(from: number, to: number): string
  utf8Slice(from: number, to: number): string
  ucs2Slice(from: number, to: number): string
}
type NativeString = string & { isWellFormed(): boolean }

/** How a text is written; part of its header. */
const ASCII = 0
const UTF8 = 1
/** For lone surrogates, which UTF-8 would replace. */
const UTF16 = 2
const KINDS = 4

/** Up to here a loop over the characters is quicker than a call out of the virtual machine. */
const SHORT_TEXT = 24
/** Up to here a loop over the bytes is quicker than a native copy. */
const SHORT_COPY = 48
const TWO_32 = 0x1_0000_0000
/** Safe integers have 53 bits: what is above the low 32 must fit in 21. */
const HIGH_END = 0x20_0000

export class ByteWriter {
  /** Replaced by a larger one when it is full: read it anew after every write. */
  buffer: Buffer
  /** How many bytes are written. */
  at = 0

  constructor(size = 1_024) {
    this.buffer = Buffer.allocUnsafeSlow(size)
  }

  /** Makes room for so many more bytes. */
  ensure(bytes: number): void {
    if (this.at + bytes > this.buffer.length) this.grow(bytes)
  }

  private grow(bytes: number): void {
    const size = Math.max(this.buffer.length * 2, this.at + bytes, 64)
    const larger = Buffer.allocUnsafeSlow(size)
    this.buffer.copy(larger, 0, 0, this.at)
    this.buffer = larger
  }

  u8(value: number): void {
    this.ensure(1)
    this.buffer[this.at++] = value
  }

  u32(value: number): void {
    this.ensure(4)
    const { buffer, at } = this
    buffer[at] = value
    buffer[at + 1] = value >>> 8
    buffer[at + 2] = value >>> 16
    buffer[at + 3] = value >>> 24
    this.at = at + 4
  }

  flag(value: boolean): void {
    this.u8(value ? 1 : 0)
  }

  /** A safe integer from 0 on, seven bits a byte, the lowest first: small ones take one byte. */
  count(value: number): void {
    if ((value & 0x7f) === value) {
      this.ensure(1)
      this.buffer[this.at++] = value
    } else {
      this.largeCount(value)
    }
  }

  private largeCount(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw unwritable(value, 'a count')
    this.ensure(8)
    const { buffer } = this
    let { at } = this
    let rest = value
    // Shifts are for 32 bits only.
    if (rest > 0x7fff_ffff) {
      const low = rest % 0x1000_0000
      rest = (rest - low) / 0x1000_0000
      buffer[at++] = (low & 0x7f) | 0x80
      buffer[at++] = ((low >>> 7) & 0x7f) | 0x80
      buffer[at++] = ((low >>> 14) & 0x7f) | 0x80
      buffer[at++] = (low >>> 21) | 0x80
    }
    while (rest > 0x7f) {
      buffer[at++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    buffer[at++] = rest
    this.at = at
  }

  /** Any safe integer: the first byte holds the sign and six bits, a count the rest. */
  integer(value: number): void {
    if (!Number.isSafeInteger(value)) throw unwritable(value, 'an integer')
    const size = value < 0 ? -value : value
    const sign = value < 0 ? 0x40 : 0
    if (size < 0x40) return this.u8(size | sign)
    const low = size & 0x3f
    this.u8(low | sign | 0x80)
    // Differences of times are doubles to the machine; most are small enough to be none.
    const small = size | 0
    this.count(small === size ? small >>> 6 : (size - low) / 0x40)
  }

  real(value: number): void {
    this.ensure(8)
    this.at = this.buffer.writeDoubleLE(value, this.at)
  }

  /** Milliseconds since 1970: four bytes and a count of the rest, six together for centuries. */
  time(value: number): void {
    const low = value >>> 0
    const rest = (value - low) / TWO_32
    const high = rest | 0
    // Also where it was a fraction, negative or no number at all.
    if (high !== rest || high < 0 || high >= HIGH_END) throw unwritable(value, 'a time')
    this.u32(low)
    this.count(high)
  }

  /** A time that is most likely near another. */
  timeFrom(base: number, value: number): void {
    if (!(value >= 0)) throw unwritable(value, 'a time')
    this.integer(value - base)
  }

  /** One of a few, by its place in the list. */
  choice<T>(choices: readonly T[], value: T): void {
    const index = choices.indexOf(value)
    if (index < 0) throw unwritable(value, `one of ${choices.join(', ')}`)
    this.u8(index)
  }

  text(value: string): void {
    const { length } = value
    if (length <= SHORT_TEXT) {
      this.ensure(length + 1)
      const { buffer } = this
      const start = this.at + 1
      let i = 0
      for (; i < length; i++) {
        const unit = value.charCodeAt(i)
        if (unit > 0x7f) break
        buffer[start + i] = unit
      }
      if (i === length) {
        buffer[start - 1] = length * KINDS + ASCII
        this.at = start + length
        return
      }
    }
    this.longText(value)
  }

  private longText(value: string): void {
    const bytes = Buffer.byteLength(value)
    if (bytes === value.length) {
      this.textHeader(bytes, ASCII)
      this.advance((this.buffer as NativeBuffer).latin1Write(value, this.at, bytes), bytes)
    } else if ((value as NativeString).isWellFormed()) {
      this.textHeader(bytes, UTF8)
      this.advance((this.buffer as NativeBuffer).utf8Write(value, this.at, bytes), bytes)
    } else {
      const units = value.length * 2
      this.textHeader(units, UTF16)
      this.advance((this.buffer as NativeBuffer).ucs2Write(value, this.at, units), units)
    }
  }

  /** Whatever a native write left out would be found out much later, when the log is read. */
  private advance(written: number, expected: number): void {
    if (written !== expected) throw new Error(`${written} of ${expected} bytes were written.`)
    this.at += written
  }

  private textHeader(bytes: number, kind: number): void {
    this.count(bytes * KINDS + kind)
    this.ensure(bytes)
  }

  /** Bytes as they are, without their length. */
  raw(bytes: Uint8Array): void {
    const { length } = bytes
    this.ensure(length)
    const { buffer, at } = this
    if (length <= SHORT_COPY) for (let i = 0; i < length; i++) buffer[at + i] = bytes[i] as number
    else buffer.set(bytes, at)
    this.at = at + length
  }
}

function unwritable(value: unknown, kind: string): RangeError {
  return new RangeError(`${String(value)} cannot be written: it is not ${kind}.`)
}

export class ByteReader {
  buffer: Buffer
  at: number
  /** Nothing is read from here on. */
  end: number

  constructor(buffer: Buffer, at = 0, end: number = buffer.length) {
    this.buffer = buffer
    this.at = at
    this.end = end
  }

  /** So that one reader can serve for many records. */
  reset(buffer: Buffer, at: number, end: number): void {
    this.buffer = buffer
    this.at = at
    this.end = end
  }

  malformed(why: string): MalformedBytes {
    return new MalformedBytes(this.at, why)
  }

  /** All that is left, only lent. */
  rest(): Uint8Array {
    return this.buffer.subarray(this.at, this.end)
  }

  u8(): number {
    if (this.at >= this.end) throw this.malformed('they end too early')
    return this.buffer[this.at++] as number
  }

  u32(): number {
    const { buffer, at } = this
    if (at + 4 > this.end) throw this.malformed('they end too early')
    this.at = at + 4
    const low = (buffer[at] as number) | ((buffer[at + 1] as number) << 8)
    const high = (buffer[at + 2] as number) | ((buffer[at + 3] as number) << 8)
    return (low | (high << 16)) >>> 0
  }

  flag(): boolean {
    const byte = this.u8()
    if (byte > 1) throw this.malformed(`${byte} is neither true nor false`)
    return byte === 1
  }

  count(): number {
    const byte = this.u8()
    return byte < 0x80 ? byte : this.largeCount(byte & 0x7f)
  }

  private largeCount(first: number): number {
    let byte = this.u8()
    let value = first | ((byte & 0x7f) << 7)
    if (byte < 0x80) return value
    byte = this.u8()
    value |= (byte & 0x7f) << 14
    if (byte < 0x80) return value
    byte = this.u8()
    value |= (byte & 0x7f) << 21
    let scale = 0x1000_0000
    while (byte >= 0x80) {
      if (scale > Number.MAX_SAFE_INTEGER) throw this.malformed('a count is too large')
      byte = this.u8()
      value += (byte & 0x7f) * scale
      scale *= 0x80
    }
    if (value > Number.MAX_SAFE_INTEGER) throw this.malformed('a count is too large')
    return value
  }

  integer(): number {
    const byte = this.u8()
    let size = byte & 0x3f
    if (byte >= 0x80) size += this.count() * 0x40
    if (size > Number.MAX_SAFE_INTEGER) throw this.malformed('an integer is too large')
    // A negative zero would be another value than what was written.
    return (byte & 0x40) === 0 || size === 0 ? size : -size
  }

  real(): number {
    const { at } = this
    if (at + 8 > this.end) throw this.malformed('they end too early')
    this.at = at + 8
    return this.buffer.readDoubleLE(at)
  }

  time(): number {
    const low = this.u32()
    const high = this.count()
    if (high >= HIGH_END) throw this.malformed('a time is too late')
    return high * TWO_32 + low
  }

  timeFrom(base: number): number {
    const time = base + this.integer()
    if (time < 0 || time > Number.MAX_SAFE_INTEGER) throw this.malformed('no such time')
    return time
  }

  choice<T>(choices: readonly T[]): T {
    const index = this.u8()
    if (index >= choices.length) throw this.malformed(`${index} is none of the choices`)
    return choices[index] as T
  }

  /** The length of a list whose elements take a byte or more each: it cannot exceed what is left. */
  length(): number {
    const length = this.count()
    if (length > this.end - this.at) throw this.malformed(`${length} elements are not there`)
    return length
  }

  /** A list whose elements take a byte or more each; the shared one if it is empty. */
  list<T>(read: () => T): T[] {
    let left = this.length()
    if (left === 0) return NONE
    const list: T[] = []
    for (; left > 0; left--) list.push(read())
    return list
  }

  text(): string {
    const header = this.count()
    const kind = header % KINDS
    const bytes = (header - kind) / KINDS
    const { buffer, at } = this
    const to = at + bytes
    if (to > this.end) throw this.malformed(`a text of ${bytes} bytes is not there`)
    this.at = to
    switch (kind) {
      case ASCII:
        return bytes === 0 ? '' : (buffer as NativeBuffer).latin1Slice(at, to)
      case UTF8:
        return (buffer as NativeBuffer).utf8Slice(at, to)
      case UTF16:
        if (bytes % 2 === 0) return (buffer as NativeBuffer).ucs2Slice(at, to)
    }
    throw this.malformed('there is no such kind of text')
  }
}
