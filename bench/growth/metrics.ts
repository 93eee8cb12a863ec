/** Milliseconds of `metrics()` while so many jobs wait. */
import type { Pawl } from '../../src/index.ts'
import { fill, quickestMs } from './fill.ts'

/** `from`: so many wait already. */
export async function metricsMs(pawl: Pawl, from: number, waiting: number): Promise<number> {
  await fill(pawl, from, waiting)
  return quickestMs(() => pawl.metrics())
}
