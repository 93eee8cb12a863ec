/** Fills an engine with jobs that wait, and times calls: what the measurements of growth share. */
import type { Pawl } from '../../src/index.ts'
import { job, typed } from '../../src/index.ts'

const PAGE = 1_000
const CALLS = 20

/** A job that no worker of a measurement runs. */
export const waits = job('waits', { input: typed<number>(), run: () => null })

/** Submits jobs until so many were submitted by this function; `from`: so many were before. */
export async function fill(
  pawl: Pawl,
  from: number,
  to: number,
  options: (i: number) => { key?: string; queue?: string; group?: string } = () => ({}),
): Promise<void> {
  for (let first = from; first < to; first += PAGE) {
    const count = Math.min(PAGE, to - first)
    const jobs = Array.from({ length: count }, (_, i) => ({
      input: first + i,
      options: options(first + i),
    }))
    await pawl.submitMany(waits, jobs)
  }
}

/** Milliseconds of the quickest of several calls: other work of the machine only makes a call slower. */
export async function quickestMs(call: () => Promise<unknown>): Promise<number> {
  let quickest = Infinity
  for (let i = 0; i < CALLS; i++) {
    const began = performance.now()
    await call()
    quickest = Math.min(quickest, performance.now() - began)
  }
  return quickest
}
