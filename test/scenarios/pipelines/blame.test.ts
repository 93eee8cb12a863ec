/** Which task a pipeline names when it fails, or waits for a person, and several could be meant. */
import { describe, expect, it } from 'vitest'
import { JobFailed, JobQuarantined, pipeline, TerminalError, typed } from '../../../src/index.ts'
import { deferred, ENGINES } from '../../support/engines.ts'

const TIMEOUT = { timeout: '20s' } as const
const NEVER = { max: 0 } as const

describe.each(ENGINES)('a pipeline %s', (_, open) => {
  it('blames what failed, and not what only waits for a person', async () => {
    const pawl = await open()
    const isDead = deferred()
    const told = deferred<unknown>()
    const mixed = pipeline('mixed', { retry: NEVER })
      .stage('dead', {
        run: () => {
          throw new Error('used up')
        },
      })
      .stage('failed', {
        run: async () => {
          await isDead.promise
          throw new TerminalError('for good')
        },
      })
      .stage('undo', { onFailure: true, run: ({ failure }) => told.resolve(failure.stage) })
    const handle = await pawl.submit(mixed)
    pawl.work([mixed])
    for await (const { entry } of handle.events()) if (entry.type === 'TaskFailed') break
    isDead.resolve()
    const error: unknown = await handle.result(TIMEOUT).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(JobFailed)
    expect(error).toHaveProperty('message', expect.stringContaining(`failed in stage 'failed'`))
    expect(await told.promise).toBe('failed')
    expect((await handle.info()).error?.message).toBe('for good')
  })

  it('names the segment that waits for a person, and not one that failed before it', async () => {
    const pawl = await open()
    const mixed = pipeline('mixed', { input: typed<string[]>(), retry: NEVER }).stage('item', {
      each: 'input',
      tolerate: 1,
      run: ({ segment }) => {
        throw segment === 'failed' ? new TerminalError('for good') : new Error('used up')
      },
    })
    pawl.work([mixed])
    const handle = await pawl.submit(mixed, ['failed', 'dead'])
    const error: unknown = await handle.result(TIMEOUT).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(JobQuarantined)
    expect(error).toHaveProperty('message', expect.stringContaining(`'item', segment 1 and waits`))
  })

  it('shows and explains the segment that waits for a person behind many that failed', async () => {
    const pawl = await open()
    const many = Array.from({ length: 25 }, () => 'failed')
    const mixed = pipeline('mixed', { input: typed<string[]>(), retry: NEVER }).stage('item', {
      each: 'input',
      tolerate: 25,
      run: ({ segment }) => {
        throw segment === 'failed' ? new TerminalError('for good') : new Error('used up')
      },
    })
    pawl.work([mixed])
    const handle = await pawl.submit(mixed, [...many, 'dead'])
    await handle.result(TIMEOUT).catch(() => undefined)
    const { stages, error } = await handle.info()
    expect(stages[0]?.troubled).toHaveLength(20)
    expect(stages[0]?.troubled.at(-1)).toMatchObject({ segment: 25, state: 'DEAD' })
    expect(error?.message).toBe('used up')
    const { reasons } = await pawl.explain(handle.id)
    expect(reasons.map(({ what }) => what)).toEqual(['quarantined'])
  })
})
