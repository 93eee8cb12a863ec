/** What the timeline of a job shows, of a real one. */
import { expect, it, onTestFinished } from 'vitest'
import { effect, job, open, typed } from '../../../index.ts'
import { jobTimeline } from './job-timeline.ts'

/** Seconds after the first entry. */
const at = (s: number): string =>
  new Date(Date.parse('2026-11-18T15:00:00Z') + s * 1_000).toISOString()

const attempt = (facts: object): object => ({
  stage: null,
  segment: null,
  attempt: 1,
  worker: 'w-1',
  error: null,
  ...facts,
})

function linesOf(
  facts: object,
  entries: readonly (readonly [s: number, entry: object])[],
  now: number,
) {
  const shown = { submittedAt: at(0), completedAt: null, stages: [], ...facts }
  const history = entries.map(([s, entry]) => ({
    at: at(s),
    entry: { stage: 0, segment: 0, ...entry },
  }))
  const { lines } = jobTimeline(shown as never, history as never, Date.parse(at(now)))
  return lines.map(({ label, spans }) => [
    label(20),
    spans.map(({ kind, status, from, to }) =>
      [kind, status, ...[from, to].map((time) => (time - Date.parse(at(0))) / 1_000)].join(' '),
    ),
  ])
}

const fromServer = (answer: unknown): unknown => JSON.parse(JSON.stringify(answer))

it('has a line for each attempt with what it waited for, its steps and commit, and one for each effect', async () => {
  const pawl = await open('memory:')
  onTestFinished(() => pawl.close())
  const tell = effect('tell', { input: typed<number>(), run: () => undefined })
  let count = 0
  const works = job('works', {
    input: typed<unknown>(),
    effects: [tell],
    retry: { max: 2, delay: 1 },
    run: async ({ step, commit }) => {
      await step('look', () => 1)
      count += 1
      if (count === 1) throw new Error('once more')
      return commit('done', [tell(1)])
    },
  })
  const handle = await pawl.submit(works, 1)
  pawl.work([works])
  await handle.result()
  await expect.poll(async () => (await pawl.get(handle.id))?.state).toBe('SUCCEEDED')
  const shown = fromServer(await pawl.get(handle.id))
  const history = fromServer(await pawl.history(handle.id))
  const { lines, from, to, placeOf } = jobTimeline(shown as never, history as never, Date.now())
  const seen = lines.map(({ label, spans, marks }) => [
    label(20),
    spans.map(({ kind, status }) => `${kind} ${status}`.trim()),
    marks.map(({ kind, title }) => `${kind} ${title}`),
  ])
  expect(seen).toEqual([
    ['in line', ['queued'], []],
    ['#1', ['lease ABORTED', 'run ABORTED', 'pause'], ['step step look', 'end TaskFailed']],
    ['#2', ['lease DONE', 'run DONE'], ['commit committed']],
    ['tell', ['effect FINISHED'], []],
  ])
  expect(from).toBeLessThanOrEqual(to)
  for (const { spans } of lines) {
    for (const span of spans) {
      expect(placeOf(span.from)).toBeLessThanOrEqual(placeOf(span.to))
      expect(span.from).toBeGreaterThanOrEqual(from)
    }
  }
})

it('ends an effect with the lease that it was begun under, and says when a person resolved it', () => {
  const executions = [
    attempt({ status: 'COMMITTED', leasedAt: at(1), startedAt: at(1), finishedAt: at(5) }),
  ]
  const begun = [
    [2, { type: 'ExecutionCommitted', lease: 1, effects: [{ name: 'charge' }] }],
    [3, { type: 'EffectStarted', lease: 1, effect: 0 }],
    [5, { type: 'LeaseExpired', lease: 1, settled: [{ effect: 0, to: 'HELD', retries: 0 }] }],
  ] as const
  const resolved = [
    60,
    { type: 'EffectResolved', effect: 0, start: 1, outcome: 'happened' },
  ] as const
  const lines = (entries: Parameters<typeof linesOf>[1]) =>
    linesOf({ executions }, entries, 100).at(-1)
  expect(lines(begun.slice(0, 2))).toEqual(['charge', ['effect STARTED 3 100']])
  expect(lines(begun)).toEqual(['charge', ['effect HELD 3 5']])
  expect(lines([...begun, resolved])).toEqual([
    'charge',
    ['effect HELD 3 5', 'effect RESOLVED 60 60'],
  ])
})

it('draws nothing behind the end of a job that was cancelled while it was suspended', () => {
  const executions = [
    attempt({
      status: 'SUSPENDED',
      endedBy: 'ExecutionSuspended',
      leasedAt: at(1),
      startedAt: at(1),
      finishedAt: at(2),
    }),
  ]
  expect(linesOf({ executions, completedAt: at(10) }, [], 100)).toEqual([
    ['in line', ['queued  0 1']],
    ['#1', ['lease SUSPENDED 1 2', 'run SUSPENDED 1 2', 'suspended  2 10']],
  ])
})
