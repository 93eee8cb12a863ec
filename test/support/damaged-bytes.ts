/** Bytes that were cut off or changed: a reader may make something of them or say no, nothing else. */
import * as fc from 'fast-check'

/** Every shorter version of some bytes; of long ones, those around their ends. */
export function* cutOff(bytes: Buffer): Generator<Buffer> {
  for (let length = 0; length < bytes.length; length++) {
    if (length > 200 && length < bytes.length - 200) continue
    yield bytes.subarray(0, length)
  }
}

export interface Damage {
  /** Where, as a share of the length. */
  readonly place: number
  readonly value: number
}

/** A few bytes with other values: any, and those that a length or a count is made of. */
export const anyDamage: fc.Arbitrary<Damage[]> = fc.array(
  fc.record({
    place: fc.double({ min: 0, max: 0.999_999, noNaN: true }),
    value: fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0x7f, 0x80, 0xfc, 0xff)),
  }),
  { minLength: 1, maxLength: 6 },
)

export function damaged(bytes: Buffer, damage: readonly Damage[]): Buffer {
  const copy = Buffer.from(bytes)
  for (const { place, value } of damage) copy[Math.floor(place * copy.length)] = value
  return copy
}
