/** Milliseconds of `queue()` while so many jobs wait in the queue. */
import type { Pawl } from '../../src/index.ts'
import { fill, quickestMs } from './fill.ts'

/** `from`: so many wait already. */
export async function queueInfoMs(pawl: Pawl, from: number, waiting: number): Promise<number> {
  await fill(pawl, from, waiting)
  return quickestMs(() => pawl.queue('default'))
}
