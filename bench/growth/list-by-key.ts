/** Milliseconds of `list({ key })` beside so many other jobs with keys. */
import type { Pawl } from '../../src/index.ts'
import { fill, quickestMs } from './fill.ts'

/** `from`: so many are there already, each with its number as its key. */
export async function listByKeyMs(pawl: Pawl, from: number, jobs: number): Promise<number> {
  await fill(pawl, from, jobs, (i) => ({ key: `order-${i}` }))
  const key = `order-${Math.floor(jobs / 2)}`
  return quickestMs(() => pawl.list({ key }))
}
