/**
 * CRC-32, as zlib has it. Records are short, and a call into native code costs more than their
 * few bytes: those are summed here, four at a time; what is longer goes to zlib.
 */
import { crc32 } from 'node:zlib'

/** Up to here it is quicker to stay. */
const SHORT = 512
const POLYNOMIAL = 0xed_b8_83_20

/** Of one byte, and of one byte with one, two and three zero bytes behind it. */
const [T0, T1, T2, T3] = tables()

function tables(): [Int32Array, Int32Array, Int32Array, Int32Array] {
  const first = new Int32Array(256)
  for (let byte = 0; byte < 256; byte++) {
    let sum = byte
    for (let bit = 0; bit < 8; bit++) sum = (sum & 1) === 1 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1
    first[byte] = sum
  }
  const behind = (table: Int32Array): Int32Array =>
    table.map((sum) => (sum >>> 8) ^ (first[sum & 255] as number))
  const second = behind(first)
  const third = behind(second)
  return [first, second, third, behind(third)]
}

export function checksumOf(bytes: Buffer, from: number, to: number): number {
  if (to - from > SHORT) return crc32(bytes.subarray(from, to))
  let sum = -1
  let at = from
  for (const end = to - 3; at < end; at += 4) {
    sum ^=
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)
    sum =
      (T3[sum & 255] as number) ^
      (T2[(sum >>> 8) & 255] as number) ^
      (T1[(sum >>> 16) & 255] as number) ^
      (T0[sum >>> 24] as number)
  }
  for (; at < to; at++) sum = (sum >>> 8) ^ (T0[(sum ^ (bytes[at] as number)) & 255] as number)
  return ~sum >>> 0
}
