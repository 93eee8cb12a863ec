/**
 * Giving up: a discard is for what is in quarantine, and a timeout may be terminal.
 */
import { describe, expect, it } from 'vitest'
import { Aborted, job, pipeline, TerminalError, typed } from '../../src/index.ts'
import { EVERY_ENGINE } from '../support/engines.ts'

const later = job('later', { run: () => undefined })
const broken = job('broken', {
  retry: { max: 0 },
  run: () => {
    throw new Error('no')
  },
})
const parts = pipeline('parts', { input: typed<number[]>(), retry: { max: 0 } }).stage('each', {
  each: 'input',
  run: ({ segment }) => {
    if (segment === 2) throw new Error('no two')
    return segment
  },
})

describe.each(EVERY_ENGINE)('a discard %s', (_name, open) => {
  it('is refused for a job that is not in quarantine, and changes nothing', async () => {
    const pawl = await open()
    const { id } = await pawl.submit(later, undefined, { delay: '1h' })
    await expect(pawl.discard(id)).rejects.toMatchObject({
      code: 'TaskNotDead',
      details: { job: id, state: 'CREATED' },
    })
    await expect(pawl.discard('nobody')).rejects.toMatchObject({ code: 'UnknownJob' })
    expect(await pawl.handle(id).state()).toBe('CREATED')
    expect(await pawl.history(id)).toHaveLength(1)
  })

  it('gives up what is in quarantine, once', async () => {
    const pawl = await open()
    pawl.work([broken, parts])
    const handle = await pawl.submit(broken)
    await handle.result().catch(() => undefined)
    for (const by of ['ann', 'bob']) await pawl.discard(handle.id, { by })
    expect(await handle.info()).toMatchObject({ state: 'FAILED', cancelled: { by: 'ann' } })
    const many = await pawl.submit(parts, [1, 2])
    await many.result().catch(() => undefined)
    const fine = { stage: 'each', segment: 0 }
    await expect(pawl.discard(many.id, fine)).rejects.toMatchObject({ code: 'TaskNotDead' })
    await pawl.discard(many.id, { stage: 'each', segment: 1, by: 'ann' })
    expect(await many.info()).toMatchObject({ state: 'FAILED', failure: { why: 'forced' } })
  })
})

describe.each(EVERY_ENGINE)('a timeout %s', (_name, open) => {
  it('is terminal if classify says so of it', async () => {
    const pawl = await open()
    const asked: unknown[] = []
    const slow = job('slow', {
      timeout: 20,
      classify: (error) => {
        asked.push(error)
        return error instanceof Aborted && error.reason === 'timed-out' ? 'terminal' : undefined
      },
      run: () => new Promise(() => undefined),
    })
    pawl.work([slow])
    const handle = await pawl.submit(slow)
    await expect(handle.result()).rejects.toMatchObject({
      code: 'JobFailed',
      why: 'terminal',
      failure: { type: 'TERMINAL', code: 'TimedOut' },
    })
    expect(asked).toHaveLength(1)
    expect(await handle.info()).toMatchObject({ attempt: 1, retryCount: 0 })
  })

  it('is terminal if the handler throws a TerminalError when it is told to stop', async () => {
    const pawl = await open()
    const slow = job('slow', {
      timeout: 20,
      retry: { max: 1, delay: 0 },
      run: ({ signal, job: { attempt } }) =>
        new Promise((_, reject) => {
          const error = attempt === 1 ? new Error('again') : new TerminalError('too slow')
          signal.addEventListener('abort', () => reject(error))
        }),
    })
    pawl.work([slow])
    const handle = await pawl.submit(slow)
    await expect(handle.result()).rejects.toMatchObject({
      failure: { type: 'TERMINAL', code: 'TerminalError', message: 'too slow' },
    })
    // Any other error on abort is what it was: a timeout.
    expect((await handle.info()).executions.map(({ error }) => error?.code)).toEqual([
      'TimedOut',
      'TerminalError',
    ])
  })
})
