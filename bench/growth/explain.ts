/** Milliseconds of `explain()` of a job while so many others wait in its queue. */
import type { Pawl } from '../../src/index.ts'
import { fill, quickestMs, waits } from './fill.ts'

/** `from`: so many wait already. */
export async function explainMs(pawl: Pawl, from: number, waiting: number): Promise<number> {
  await fill(pawl, from, waiting)
  const { id } = await pawl.submit(waits, 0)
  return quickestMs(() => pawl.explain(id))
}
