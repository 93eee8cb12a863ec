/**
 * Submits that are alike are written together: what is in the database then is what each would have written by itself.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { JobSpec, SubmitJob } from '../../src/kernel/index.ts'
import type { Store } from '../../src/store/index.ts'
import { systemClock } from '../../src/store/clock.ts'
import { verifySql } from '../../src/store/sql/verify/verify-database.ts'
import { plain } from '../support/specs.ts'
import { DATABASES } from './verify/test-databases.ts'

const COUNT = 40
const CHANNELS = [{ queue: 'default', type: 'test', stage: null }]

function submits(name: string, changes: Partial<JobSpec> = {}, count = COUNT): SubmitJob[] {
  return Array.from({ length: count }, (_, i) => ({
    type: 'SubmitJob',
    job: `${name}-${i}`,
    spec: plain({ input: `{"of":"${name} ${i} é \\ud83d"}`, ...changes }),
  }))
}

async function verdicts(store: Store, commands: readonly SubmitJob[]): Promise<string[]> {
  const answers = await store.execute(commands)
  return answers.map(({ verdict, rejection }) => rejection?.code ?? verdict)
}

function committed(count: number): string[] {
  return Array.from({ length: count }, () => 'committed')
}

describe.each(Object.entries(DATABASES))('on %s, submits that are alike', (_name, make) => {
  async function opened(): Promise<{ store: Store; problems: () => Promise<readonly unknown[]> }> {
    const place = await make()
    const store = await place.open(systemClock)
    onTestFinished(async () => {
      await store.close()
      await place.close()
    })
    return { store, problems: async () => (await verifySql(place.dialect)).problems }
  }

  it('are read back as they were given, in their order, and everything is as the events say', async () => {
    const { store, problems } = await opened()
    // The first batch of a process, and one that follows.
    for (const name of ['one', 'two']) {
      expect(await verdicts(store, submits(name))).toEqual(committed(COUNT))
    }
    for (const { job, spec } of [...submits('one'), ...submits('two')]) {
      const record = await store.query({ kind: 'job', job })
      expect(record?.job.spec.input).toBe(spec.input)
    }
    const claimed = await store.claim({
      worker: 'w',
      request: 1,
      channels: CHANNELS,
      max: 3 * COUNT,
      started: true,
    })
    expect(claimed.map(({ job }) => job)).toEqual(
      [...submits('one'), ...submits('two')].map(({ job }) => job),
    )
    expect(await problems()).toEqual([])
    const { entries, traffic } = await store.query({ kind: 'metrics' })
    expect(entries.JobSubmitted).toBe(2 * COUNT)
    expect(traffic.map(({ submitted }) => submitted)).toEqual([2 * COUNT])
  })

  it('are answered as the first time when they come again, and refused with other content', async () => {
    const { store, problems } = await opened()
    await store.execute(submits('one'))
    const again = [...submits('new', {}, 10), ...submits('one'), ...submits('newer', {}, 10)]
    expect(await verdicts(store, again)).toEqual(committed(again.length))
    expect(await verdicts(store, submits('one', { input: '"other"' }))).toEqual(
      Array.from({ length: COUNT }, () => 'IdReused'),
    )
    expect(await problems()).toEqual([])
  })

  it('are told apart where one id is given twice', async () => {
    const { store, problems } = await opened()
    const [first, ...others] = submits('one') as [SubmitJob, ...SubmitJob[]]
    const twin = { ...first, spec: plain({ input: '"other"' }) }
    expect(await verdicts(store, [first, ...others, first, twin])).toEqual([
      ...committed(COUNT + 1),
      'IdReused',
    ])
    expect(await problems()).toEqual([])
  })

  it('wait for their turn behind jobs of groups', async () => {
    const { store, problems } = await opened()
    await store.execute(submits('grouped', { group: 'g' }))
    await store.execute(submits('one'))
    const claimed = await store.claim({
      worker: 'w',
      request: 1,
      channels: CHANNELS,
      max: 4,
      started: true,
    })
    const grouped = claimed.filter(({ job }) => job.startsWith('grouped'))
    expect([claimed.length, grouped.length]).toEqual([4, 2])
    expect(await problems()).toEqual([])
  })

  it('are in the counts and lists of jobs', async () => {
    const { store } = await opened()
    await store.execute(submits('one'))
    const { groups } = await store.query({ kind: 'counts', by: 'type', limit: 10 })
    expect(groups.map(({ name, states }) => [name, states.QUEUED])).toEqual([['test', COUNT]])
  })

  it('are news for a watch', async () => {
    const { store } = await opened()
    const watch = (await store.watchNew())[Symbol.asyncIterator]()
    await store.execute(submits('one'))
    const seen: string[] = []
    while (seen.length < COUNT) {
      const { value } = await watch.next()
      if (value?.entry.type === 'JobSubmitted') seen.push(value.entry.job)
    }
    await watch.return?.()
    expect(seen).toEqual(submits('one').map(({ job }) => job))
  })
})
