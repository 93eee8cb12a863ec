import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { Dice } from '../../test/properties/dice.ts'
import { checksumOf } from './checksum.ts'

describe('the checksum', () => {
  it('is that of zlib, for every length and place', () => {
    const dice = new Dice(1)
    const bytes = Buffer.from(Array.from({ length: 2_000 }, () => dice.below(256)))
    for (let length = 0; length < 600; length++) {
      const from = dice.below(1_000)
      const to = from + length
      expect(checksumOf(bytes, from, to)).toBe(crc32(bytes.subarray(from, to)))
    }
  })
})
