/**
 * What a process submits keeps neither its own reports nor its own claims waiting, however much it is.
 */
import { describe, expect, it } from 'vitest'
import { job, typed } from '../../src/index.ts'
import { deferred, EVERY_ENGINE } from '../support/engines.ts'

const JOBS = 24_000
/**
 * In the store when the report comes, and what is submitted while that is answered: of a few transactions,
 * with up to 1,000 each, on a machine that has other things to do as well.
 */
const MOST_BEFORE = JOBS / 3

const noted = job('noted', { input: typed<number>(), run: () => null })

describe.each(EVERY_ENGINE)('24,000 submits at once %s', (_, open) => {
  it('keep no report waiting', async () => {
    const pawl = await open()
    let submitted = 0
    const submits = Array.from({ length: JOBS }, async (__, i) => {
      await pawl.submit(noted, i)
      submitted += 1
    })
    // One is in the store, and the others are on their way.
    await Promise.race(submits)
    await pawl.pause('other')
    expect(submitted).toBeLessThan(MOST_BEFORE)
    await Promise.all(submits)
  })

  it('keep no claim waiting', async () => {
    const pawl = await open()
    const started = deferred()
    const waiting = job('waiting', { run: () => started.resolve() })
    await pawl.submit(waiting)
    let submitted = 0
    const submits = Array.from({ length: JOBS }, async (__, i) => {
      await pawl.submit(noted, i)
      submitted += 1
    })
    await Promise.race(submits)
    pawl.work([waiting])
    await started.promise
    expect(submitted).toBeLessThan(MOST_BEFORE)
    await Promise.all(submits)
  })
})
