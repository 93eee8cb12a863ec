import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { Dice } from '../../../test/model/properties/dice.ts'
import { checksumOf } from './checksum.ts'

describe('the checksum', () => {
  it('is that of zlib, for every length and place', () => {
    const dice = new Dice(1)
    for (const offset of [0, 1, 4, 8]) {
      const bytes = Buffer.alloc(2_000 + offset).subarray(offset)
      for (let i = 0; i < bytes.length; i++) bytes[i] = dice.below(256)
      for (let length = 0; length < 900; length++) {
        const from = dice.below(1_000)
        const to = from + length
        expect(checksumOf(bytes, from, to)).toBe(crc32(bytes.subarray(from, to)))
      }
      // To the very end of the memory.
      expect(checksumOf(bytes, 1_990, 2_000)).toBe(crc32(bytes.subarray(1_990, 2_000)))
    }
  })
})
