import { expect, it } from 'vitest'
import { CorruptLog, Interning } from '../index.ts'
import type { Disk } from '../disk/disk.ts'
import type { Segment } from '../segments/segments.ts'
import { RangeFiles, readLogRange } from './log-range.ts'

it('a range whose beginning is gone is refused: nothing is folded from the middle of a log', async () => {
  const head = { format: 1, base: 512, link: 0, size: 4_096, storeId: '00', begunAt: 0 }
  const segments: Segment[] = [{ path: 'log-512', head }]
  const reading = readLogRange(
    new RangeFiles({} as Disk),
    segments,
    0,
    600,
    new Interning(),
    () => undefined,
    async () => undefined,
  )
  await expect(reading).rejects.toThrow(CorruptLog)
  await expect(reading).rejects.toThrow('the log before it is gone')
})
