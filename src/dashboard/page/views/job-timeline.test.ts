/** What the timeline of a job shows, of a real one. */
import { expect, it, onTestFinished } from 'vitest'
import { effect, job, open, typed } from '../../../index.ts'
import { jobTimeline } from './job-timeline.ts'

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
