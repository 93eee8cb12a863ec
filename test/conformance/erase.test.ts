/** Jobs that are erased: what every store says of them, before and after it is compacted. */
import { describe, expect, it } from 'vitest'
import type { Command } from '../../src/kernel/index.ts'
import { onRecord, plain } from '../support/specs.ts'
import type { Bench } from './bench.ts'
import { setUp, STORES } from './bench.ts'
import { endPipeline, endPlain, SECRET, SECRET_TEXT, stateOf } from './secret-jobs.ts'

/** Everything that can be asked about a job, as text: of now, and of the moment before it was erased. */
async function saidOf({ store }: Bench, job: string): Promise<string> {
  const history = await store.query({ kind: 'history', job, limit: 99 })
  const answers: unknown[] = [
    await store.query({ kind: 'job', job }),
    await store.query({ kind: 'overview', job }),
    await store.query({ kind: 'outputs', job, stage: 0, after: -1, limit: 9 }),
    await store.query({ kind: 'jobs', key: 'k', limit: 9 }),
    await store.query({
      kind: 'stream',
      job,
      stage: 0,
      segment: 0,
      name: 'log',
      from: 0,
      limit: 9,
    }),
    history,
  ]
  const before = history.findLast(({ entry }) => entry.type !== 'JobErased')
  // A directory that was compacted has nothing of its past.
  if (before === undefined) return JSON.stringify(answers)
  for await (const { position, entry } of store.watch(0)) {
    if ('job' in entry && entry.job === job) answers.push(entry)
    if (position >= before.position) break
  }
  const past = await store.at({ position: before.position })
  answers.push(await past.job(job))
  for await (const one of past.jobs({})) answers.push(one)
  return JSON.stringify(answers)
}

const erase = (job: string): Command => {
  return { type: 'EraseJob', job, by: 'dpo', reason: 'asked for' }
}

describe.each(Object.keys(STORES))('of a job that was erased, the %s store', (kind) => {
  it('has nothing of what it was given and made, and knows that it ran', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await endPlain(bench)
    expect(await saidOf(bench, 'a')).toContain(SECRET_TEXT)
    expect((await send(erase('a'))).verdict).toBe('committed')
    expect(await saidOf(bench, 'a')).not.toContain(SECRET_TEXT)
    const view = await store.query({ kind: 'job', job: 'a' })
    expect(view?.state).toBe('SUCCEEDED')
    expect(view?.job.erased).toMatchObject({ at: clock.time, by: 'dpo', reason: 'asked for' })
    await store.compact?.()
    expect(await saidOf(bench, 'a')).not.toContain(SECRET_TEXT)
    const history = await store.query({ kind: 'history', job: 'a', limit: 99 })
    // A directory gives up the history before it.
    const types = kind.startsWith('directory') ? [] : ['JobErased']
    expect(history.slice(-1).map(({ entry }) => entry.type)).toEqual(types)
    await store.close()
  })

  it('answers as before: erased again, its id, its key, a late report, and forgotten', async () => {
    const bench = await setUp(kind)
    const { store, send, clock } = bench
    await endPlain(bench)
    const [first, again, other] = await store.execute([
      erase('a'),
      erase('a'),
      { type: 'SubmitJob', job: 'z', spec: plain({ key: 'k', input: '"other"' }) },
    ])
    expect([first, again, other].map((answer) => answer?.verdict)).toEqual(
      Array.from({ length: 3 }, () => 'committed'),
    )
    expect(other?.value).toBe('a')
    const byId = await send({ type: 'SubmitJob', job: 'a', spec: plain({ input: '"other"' }) })
    expect(byId).toMatchObject({ verdict: 'committed', value: 'a' })
    const late = { job: 'a', stage: 0, segment: 0, lease: 1, worker: 'w' }
    const report = { ...late, name: 'late', value: SECRET, definitionVersion: 1 }
    expect((await send({ type: 'RecordStep', ...report })).verdict).toBe('cancelled')
    clock.time += 10
    const forgotten = await send({ type: 'ForgetJob', job: 'a', endedBefore: clock.time })
    expect(forgotten.verdict).toBe('committed')
    expect(await stateOf(bench, 'a')).toBeUndefined()
    await store.close()
  })

  it('has nothing in any task of a pipeline', async () => {
    const bench = await setUp(kind)
    const { store, send } = bench
    await endPipeline(bench)
    const before = await store.query({ kind: 'overview', job: 'p' })
    expect(await saidOf(bench, 'p')).toContain(SECRET_TEXT)
    expect((await send(erase('p'))).verdict).toBe('committed')
    await store.compact?.()
    expect(await saidOf(bench, 'p')).not.toContain(SECRET_TEXT)
    expect(await stateOf(bench, 'p')).toBe('SUCCEEDED')
    const after = await store.query({ kind: 'overview', job: 'p' })
    const states = (view: typeof before) => view?.stages.map(({ name, state }) => [name, state])
    expect(states(after)).toEqual(states(before))
    await store.close()
  })

  it('refuses it while it is not over', async () => {
    const { store, send } = await setUp(kind)
    await send({ type: 'SubmitJob', job: 'a', spec: plain() })
    expect((await send(erase('a'))).rejection?.code).toBe('JobNotFinal')
    expect((await send(erase('b'))).rejection?.code).toBe('UnknownJob')
    await send({ type: 'CancelJob', job: 'a', ...onRecord })
    expect((await send(erase('a'))).verdict).toBe('committed')
    await store.close()
  })
})
