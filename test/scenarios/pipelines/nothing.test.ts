/** Handlers that put out nothing, under schemas that tell nothing from null. */
import { describe, expect, it } from 'vitest'
import type { StandardSchema } from '../../../src/index.ts'
import { effect, job, pipeline } from '../../../src/index.ts'
import { deferred, ENGINES } from '../../support/engines.ts'

const TIMEOUT = { timeout: '10s' } as const

/** As `z.string().optional()`: text or nothing, and not null. */
const maybeText: StandardSchema<string | undefined> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      value === undefined || typeof value === 'string'
        ? { value }
        : { issues: [{ message: 'is neither text nor nothing' }] },
  },
}

describe.each(ENGINES)('nothing, %s,', (_, open) => {
  it('is what a job results in whose schema allows it', async () => {
    const pawl = await open()
    const silent = job('silent', { output: maybeText, run: () => undefined })
    pawl.work([silent])
    expect(await (await pawl.submit(silent)).result(TIMEOUT)).toBeUndefined()
  })

  it('is what a stage hands on whose schema allows it, and what a pipeline results in', async () => {
    const pawl = await open()
    const silent = pipeline('silent', { retry: { max: 0 } })
      .stage('a', { output: maybeText, run: () => undefined })
      .stage('b', { after: 'a', run: ({ outputs }) => String(outputs.a) })
      .stage('c', { output: maybeText, run: () => undefined })
    pawl.work([silent])
    const handle = await pawl.submit(silent)
    expect(await handle.result(TIMEOUT)).toEqual({ b: 'undefined', c: undefined })
  })

  it('is what an effect is given whose schema allows it', async () => {
    const pawl = await open()
    const given = deferred<unknown>()
    const mail = effect('mail', { input: maybeText, retry: { max: 0 }, run: given.resolve })
    const sending = job('sending', {
      effects: [mail],
      run: ({ commit }) => commit('sent', [mail()]),
    })
    pawl.work([sending])
    expect(await (await pawl.submit(sending)).result(TIMEOUT)).toBe('sent')
    expect(await given.promise).toBeUndefined()
  })
})
