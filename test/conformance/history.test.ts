/**
 * The history of a job: each item says what the job was before and after it, who did it and why, and what
 * only time did is among them.
 */
import { describe, expect, it } from 'vitest'
import type { HistoryItem, Pawl } from '../../src/index.ts'
import { job, pipeline, TerminalError, typed, UnknownJob } from '../../src/index.ts'
import { EVERY_ENGINE } from '../support/engines.ts'

const flaky = job('flaky', {
  retry: { max: 2, delay: 20 },
  run: ({ job: { attempt } }) => {
    if (attempt < 3) throw new Error(`no ${attempt}`)
    return 'yes'
  },
})
const later = job('later', { run: () => undefined })
const parts = pipeline('parts', { input: typed<number[]>(), retry: { max: 1, delay: 20 } })
  .stage('each', {
    each: 'input',
    run: ({ segment, job: { attempt } }) => {
      if (attempt === 1) throw new Error('once more')
      return segment
    },
  })
  .stage('sum', { after: 'each', run: () => 1 })

/** Without what differs from run to run. */
function storyOf(history: readonly HistoryItem[]): string[] {
  return history.map(({ type, from, to }) => `${type}: ${from} -> ${to}`)
}

async function pages(pawl: Pawl, id: string, limit: number): Promise<HistoryItem[]> {
  const all: HistoryItem[] = []
  for (let after = 0; ;) {
    const page = await pawl.history(id, { after, limit })
    if (page.length === 0) return all
    all.push(...page)
    after = page.at(-1)?.position ?? after
  }
}

describe.each(EVERY_ENGINE)('the history of a job %s', (_name, open) => {
  it('has the state before and after each entry, and what only time did between them', async () => {
    const pawl = await open()
    pawl.work([flaky], { name: 'w' })
    const handle = await pawl.submit(flaky, undefined, { delay: 20 })
    expect(await handle.result()).toBe('yes')
    const history = await pawl.history(handle.id)
    expect(storyOf(history)).toEqual([
      'JobSubmitted: null -> CREATED',
      'TimePassed: CREATED -> QUEUED',
      'LeaseGranted: QUEUED -> RUNNING',
      'TaskFailed: RUNNING -> RETRYING',
      'TimePassed: RETRYING -> QUEUED',
      'LeaseGranted: QUEUED -> RUNNING',
      'TaskFailed: RUNNING -> RETRYING',
      'TimePassed: RETRYING -> QUEUED',
      'LeaseGranted: QUEUED -> RUNNING',
      'ExecutionCommitted: RUNNING -> SUCCEEDED',
    ])
    const times = history.map(({ at }) => at.getTime())
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const [submitted, due] = history
    expect((due?.at.getTime() ?? 0) - (submitted?.at.getTime() ?? 0)).toBe(20)
    expect(due).toMatchObject({ entry: null, by: 'time', reason: 'It was due.' })
    expect(due?.position).toBe(submitted?.position)
    expect(history[3]).toMatchObject({ reason: 'Error: no 1', by: history[2]?.by })
    expect(history[2]?.by).toMatch(/^w/)
    expect(submitted).toMatchObject({ by: 'client', reason: null })
    // Page by page it is the same, whatever a page ends with.
    for (const limit of [1, 2, 3, 7]) expect(await pages(pawl, handle.id, limit)).toEqual(history)
  })

  it('shows what time did last, too, and who did something and why', async () => {
    const pawl = await open()
    const { id } = await pawl.submit(later, undefined, { delay: 500, hold: true })
    await pawl.release(id, { by: 'ann', reason: 'go' })
    await expect.poll(() => pawl.handle(id).state(), { timeout: 5_000 }).toBe('QUEUED')
    expect(storyOf(await pawl.history(id))).toEqual([
      'JobSubmitted: null -> CREATED',
      'JobReleased: CREATED -> CREATED',
      'TimePassed: CREATED -> QUEUED',
    ])
    await pawl.cancel(id, { by: 'bob', reason: 'enough' })
    expect((await pawl.history(id)).slice(1)).toMatchObject([
      { by: 'ann', reason: 'go' },
      { by: 'time' },
      { by: 'bob', reason: 'enough', from: 'QUEUED', to: 'FAILED' },
    ])
  })

  it('of a pipeline has the state of the whole', async () => {
    const pawl = await open()
    pawl.work([parts], { concurrency: 1 })
    const handle = await pawl.submit(parts, [7])
    await handle.result()
    expect(storyOf(await pawl.history(handle.id))).toEqual([
      'JobSubmitted: null -> QUEUED',
      'StageOpened: QUEUED -> QUEUED',
      'LeaseGranted: QUEUED -> RUNNING',
      'TaskFailed: RUNNING -> RETRYING',
      'TimePassed: RETRYING -> RUNNING',
      'LeaseGranted: RUNNING -> RUNNING',
      'ExecutionCommitted: RUNNING -> RUNNING',
      'StageOpened: RUNNING -> RUNNING',
      'LeaseGranted: RUNNING -> RUNNING',
      'ExecutionCommitted: RUNNING -> SUCCEEDED',
    ])
  })

  it('of a job that never was is refused', async () => {
    const pawl = await open()
    await expect(pawl.history('nobody')).rejects.toThrow(UnknownJob)
    const broken = job('broken', {
      run: () => {
        throw new TerminalError('no')
      },
    })
    const { id } = await pawl.submit(broken)
    expect(await pawl.history(id, { after: Number.MAX_SAFE_INTEGER })).toEqual([])
  })
})
