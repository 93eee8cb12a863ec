/** Outputs that cannot be stored: a fault of the code, which a deploy mends. */
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../../../test/support/engines.ts'
import { job, UnserializableValue } from '../../index.ts'

const retry = { max: 2, delay: 0 }

describe.each(ENGINES)('an output that JSON cannot carry, in an engine %s,', (_, open) => {
  it('is a failure like any other: after its retries the job waits, and a deploy mends it', async () => {
    const pawl = await open()
    let runs = 0
    const wrong = job('count', {
      retry,
      run: () => {
        runs += 1
        return 10n as unknown as number
      },
    })
    const handle = await pawl.submit(wrong)
    const worker = pawl.work([wrong])
    await expect(handle.result()).rejects.toMatchObject({
      code: 'JobQuarantined',
      failure: { type: 'RETRYABLE', code: 'UnserializableValue' },
    })
    expect(runs).toBe(3)
    await worker.stop()
    pawl.work([job('count', { retry, run: () => 10 })])
    expect(await pawl.quarantine.redrive({ type: 'count' })).toMatchObject({ done: 1 })
    expect(await handle.result()).toBe(10)
  })

  it('may come out right the next time', async () => {
    const pawl = await open()
    const moody = job('moody', {
      retry,
      run: ({ job: { attempt } }) => (attempt === 1 ? Number.NaN : attempt),
    })
    pawl.work([moody])
    expect(await (await pawl.submit(moody)).result()).toBe(2)
  })

  it('is the end of the job, if the definition says so', async () => {
    const pawl = await open()
    const strict = job('strict', {
      retry,
      classify: (error) => (error instanceof UnserializableValue ? 'terminal' : undefined),
      run: () => 10n as unknown as number,
    })
    pawl.work([strict])
    const handle = await pawl.submit(strict)
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobFailed' })
    expect(await handle.info()).toMatchObject({ state: 'FAILED', attempt: 1 })
  })
})
