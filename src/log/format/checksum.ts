/**
 * CRC-32, as zlib has it. Records are short, and a call into native code costs more than their
 * few bytes: those are summed here, eight at a time; what is longer goes to zlib.
 */
import { crc32 } from '../disk/crc32.ts'

/** Up to here it is quicker to sum here. */
const SHORT = 768
const POLYNOMIAL = 0xed_b8_83_20

/** Table n: the sum of one byte with n zero bytes behind it. */
const [T0, T1, T2, T3, T4, T5, T6, T7] = tables()

type ByteTables = [
  ByteTable,
  ByteTable,
  ByteTable,
  ByteTable,
  ByteTable,
  ByteTable,
  ByteTable,
  ByteTable,
]
type ByteTable = Int32Array

function tables(): ByteTables {
  const first = new Int32Array(256)
  for (let byte = 0; byte < 256; byte++) {
    let sum = byte
    for (let bit = 0; bit < 8; bit++) sum = (sum & 1) === 1 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1
    first[byte] = sum
  }
  const all = [first]
  for (let i = 1; i < 8; i++) {
    const before = all[i - 1] as ByteTable
    all.push(before.map((sum) => (sum >>> 8) ^ (first[sum & 255] as number)))
  }
  return all as ByteTables
}

/** The words of the memory that was summed last: nearly always the same again. */
let memory: ArrayBufferLike = new ArrayBuffer(0)
let words: Int32Array = new Int32Array(memory)
/** Words are read as the machine has them, so only where that is as the tables want them. */
const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1

export function checksumOf(bytes: Buffer, from: number, to: number): number {
  if (to - from > SHORT) return crc32(bytes.subarray(from, to))
  let sum = -1
  let at = from
  const start = bytes.byteOffset + from
  if ((start & 3) === 0 && isLittleEndian) {
    if (bytes.buffer !== memory) viewWords(bytes.buffer)
    const end = (bytes.byteOffset + to - 7) >> 2
    let word = start >> 2
    for (; word < end; word += 2) {
      sum ^= words[word] as number
      const next = words[word + 1] as number
      sum =
        (T7[sum & 255] as number) ^
        (T6[(sum >>> 8) & 255] as number) ^
        (T5[(sum >>> 16) & 255] as number) ^
        (T4[sum >>> 24] as number) ^
        (T3[next & 255] as number) ^
        (T2[(next >>> 8) & 255] as number) ^
        (T1[(next >>> 16) & 255] as number) ^
        (T0[next >>> 24] as number)
    }
    at = word * 4 - bytes.byteOffset
  }
  for (; at < to; at++) sum = (sum >>> 8) ^ (T0[(sum ^ (bytes[at] as number)) & 255] as number)
  return ~sum >>> 0
}

function viewWords(buffer: ArrayBufferLike): void {
  memory = buffer
  words = new Int32Array(buffer, 0, buffer.byteLength >> 2)
}
