/**
 * Every time that the API gives is a Date, near now: by its field names, in all answers about jobs, queues
 * and the engine.
 */
import { describe, expect, it } from 'vitest'
import type { Notice, Pawl } from '../../src/index.ts'
import { job, pipeline, TerminalError, typed } from '../../src/index.ts'
import { deferred, EVERY_ENGINE } from '../support/engines.ts'

/** `retryAt`, `since`, `now`, `at`, `until`, `time`, `oldest`, `newest`. */
const TIME = /(?:At|^at|^since|^now|^until|^time|^oldest|^newest|Since)$/

/** Paths of times that are no Date. An entry is as the log has it. */
function wrongTimes(value: unknown, path = ''): string[] {
  if (value instanceof Date || typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => {
    if (key === 'entry') return []
    const here = `${path}.${key}`
    const isWrong = TIME.test(key) && one !== null && !(one instanceof Date)
    return isWrong ? [here] : wrongTimes(one, here)
  })
}

const broken = job('broken', {
  retry: { max: 0 },
  run: () => {
    throw new Error('no')
  },
})
const failing = job('failing', {
  run: () => {
    throw new TerminalError('no')
  },
})
const parts = pipeline('parts', { input: typed<number[]>() }).stage('each', {
  each: 'input',
  run: ({ segment }) => segment,
})

async function answersOf(pawl: Pawl, ids: readonly string[]): Promise<unknown> {
  const each = ids.map(async (id) => [
    await pawl.get(id),
    await pawl.history(id),
    await pawl.executions(id),
    await pawl.explain(id),
  ])
  return [
    ...(await Promise.all(each)),
    await pawl.list(),
    await pawl.queue('slow'),
    await pawl.health(),
    await pawl.metrics(),
    await pawl.quarantine.list(),
    await pawl.quarantine.groups(),
    await pawl.schedules(),
  ]
}

describe.each(EVERY_ENGINE)('times %s', (_name, open) => {
  it('are Dates in every answer and notice', async () => {
    const inside = deferred()
    const gate = deferred()
    const slow = job('slow', {
      queue: 'slow',
      stalled: { after: 1 },
      run: async () => {
        inside.resolve()
        await gate.promise
      },
    })
    const notices: Notice[] = []
    const pawl = await open({ onNotice: (notice) => notices.push(notice), unservedAfter: 1 })
    await pawl.configure('slow', { concurrency: 1 })
    await pawl.schedule('often', { job: failing, every: '1h' })
    pawl.work([slow, broken, failing, parts])
    const first = await pawl.submit(slow)
    await inside.promise
    const handles = [
      first,
      await pawl.submit(slow),
      await pawl.submit(broken),
      await pawl.submit(failing),
      await pawl.submit(parts, [1, 2]),
      await pawl.submit(broken, undefined, { delay: '1h' }),
    ]
    await Promise.allSettled(handles.slice(2, 5).map((handle) => handle.result()))
    await expect.poll(() => notices.map(({ kind }) => kind)).toContain('stalled')
    const answers = await answersOf(
      pawl,
      handles.map(({ id }) => id),
    )
    expect(wrongTimes(answers)).toEqual([])
    expect(wrongTimes(notices)).toEqual([])
    expect(JSON.stringify(answers).length).toBeGreaterThan(5_000)
    gate.resolve()
    await first.result()
  })
})

it('a time that is no Date would be noticed', () => {
  expect(wrongTimes({ a: [{ since: 1, leasedAt: new Date() }], startedAt: null })).toEqual([
    '.a.0.since',
  ])
})
