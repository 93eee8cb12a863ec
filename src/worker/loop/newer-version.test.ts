/**
 * A worker with an older definition meets jobs that a newer one recorded: it gives them back, and
 * that costs them nothing.
 */
import { describe, expect, it } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred, ENGINES } from '../../../test/support/engines.ts'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import { plain, promise } from '../../../test/support/specs.ts'
import type { Notice, Pawl } from '../../index.ts'
import { effect, job, pipeline, typed } from '../../index.ts'
import { MemoryStore, systemClock } from '../../store/index.ts'
import { testEngine } from '../../testing/index.ts'

const TIMEOUT = { timeout: '30s' } as const

function greet(version: number, run: () => string = () => `by ${version}`) {
  const upgrades = Object.fromEntries(
    Array.from({ length: version - 1 }, (_, i) => [i + 1, (input: unknown) => input]),
  )
  // None of them may be used up by a worker that cannot run it.
  return job('greet', { version, upgrades, retry: { max: 0 }, input: typed<string>(), run })
}

const staged = (version: number) =>
  pipeline('two').stage('only', { version, retry: { max: 0 }, run: () => `by ${version}` })

const napping = (version: number) =>
  job('napping', {
    version,
    upgrades: { 1: (input) => input },
    run: async ({ step, sleep }) => {
      await step('step', () => version)
      await sleep('nap', 1_000)
      return `by ${version}`
    },
  })

const other = job('other', { run: () => 'other' })

/** How often each kind of entry is in the history of a job. */
async function counts(pawl: Pawl, id: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const { entry } of recorded(await pawl.history(id)))
    found[entry.type] = (found[entry.type] ?? 0) + 1
  return found
}

describe.each(ENGINES)('a job of a newer version than a worker knows, %s', (_, open) => {
  it('is given back, costs no retry, is told of, and goes to a worker that knows it', async () => {
    const notices: Notice[] = []
    const pawl = await open({ onNotice: (notice) => notices.push(notice) })
    const handle = await pawl.submit(greet(2), 'ann')
    const old = pawl.work([greet(1)])
    await expect.poll(() => notices.filter(({ kind }) => kind === 'newer-version')).toHaveLength(1)
    pawl.work([greet(2)])
    expect(await handle.result(TIMEOUT)).toBe('by 2')
    expect(notices).toContainEqual({
      kind: 'newer-version',
      job: handle.id,
      type: 'greet',
      stage: null,
      queue: 'default',
      worker: old.name,
      version: 2,
      known: 1,
    })
    const { LeaseReleased, TaskFailed } = await counts(pawl, handle.id)
    expect(LeaseReleased).toBe(1)
    expect(TaskFailed).toBeUndefined()
  })
})

describe.each(ENGINES)('a job that a newer version recorded a step or a wait of, %s', (_, open) => {
  it('is given back by a worker that knows only the older one', async () => {
    const notices: Notice[] = []
    const pawl = await open({ onNotice: (notice) => notices.push(notice) })
    const newer = pawl.work([napping(2)])
    const handle = await pawl.submit(napping(1))
    await expect.poll(() => handle.state()).toBe('SUSPENDED')
    await newer.stop()
    pawl.work([napping(1)])
    await expect.poll(() => notices.filter(({ kind }) => kind === 'newer-version')).toHaveLength(1)
    pawl.work([napping(2)])
    expect(await handle.result(TIMEOUT)).toBe('by 2')
  })
})

describe('a worker that gave a job back because it is too new', () => {
  it('does not take it again at once: every few seconds it has a look', async () => {
    const pawl = testEngine({ rounds: 200 })
    pawl.work([greet(1)])
    const handle = await pawl.submit(greet(2), 'ann')
    await pawl.advance('1m')
    const { LeaseGranted = 0, LeaseReleased } = await counts(pawl, handle.id)
    expect(LeaseGranted).toBeGreaterThan(3)
    expect(LeaseGranted).toBeLessThan(15)
    expect(LeaseReleased).toBe(LeaseGranted)
    expect((await handle.info()).state).toBe('QUEUED')
    pawl.work([greet(2)])
    await pawl.runUntilIdle()
    expect(await handle.result()).toBe('by 2')
    await pawl.close()
  })

  it('has taken a token of its rate: that its handler did not begin is on no record', async () => {
    const limits = [{ key: 'mail', rate: { count: 1, per: '1m' } }] as const
    const pawl = testEngine()
    const old = pawl.work([greet(1)])
    const handle = await pawl.submit(greet(2), 'ann', { limits })
    await pawl.runUntilIdle()
    expect(await counts(pawl, handle.id)).toMatchObject({ LeaseGranted: 1, LeaseReleased: 1 })
    await old.stop()
    pawl.work([greet(2)])
    await pawl.advance('59s')
    expect((await handle.info()).state).toBe('QUEUED')
    await pawl.advance('1s')
    expect(await handle.result()).toBe('by 2')
    await pawl.close()
  })

  it('goes on with jobs of other kinds, and with older ones that came with it', async () => {
    const pawl = testEngine()
    const before = await pawl.submit(greet(2), 'ann')
    const known = await pawl.submit(greet(1), 'bob')
    pawl.work([greet(1), other])
    await pawl.runUntilIdle()
    expect(await known.result()).toBe('by 1')
    const beside = await pawl.submit(other)
    await pawl.runUntilIdle()
    expect(await beside.result()).toBe('other')
    const behind = await pawl.submit(greet(1), 'cleo')
    await pawl.runUntilIdle()
    expect((await behind.info()).state).toBe('QUEUED')
    await pawl.advance('5s')
    expect(await behind.result()).toBe('by 1')
    expect(await counts(pawl, before.id)).toMatchObject({ LeaseGranted: 2, LeaseReleased: 2 })
    await pawl.close()
  })

  it('has given it back when it has stopped', async () => {
    const { pawl, store } = hookedEngine()
    const handle = await pawl.submit(greet(2), 'ann')
    const giving = deferred()
    const goOn = deferred()
    store.beforeExecute = async (commands) => {
      if (!commands.some(({ type }) => type === 'ReleaseLease')) return
      giving.resolve()
      await goOn.promise
    }
    const worker = pawl.work([greet(1)])
    await giving.promise
    const ends: string[] = []
    const stopped = worker.stop().then(() => ends.push('stopped'))
    // As many turns as a worker that holds nothing takes to stop, and more.
    await pawl.work([other]).stop()
    await pawl.work([other]).stop()
    ends.push('given back')
    goOn.resolve()
    await stopped
    expect(ends).toEqual(['given back', 'stopped'])
    expect((await handle.info()).state).toBe('QUEUED')
    await pawl.close()
  })

  it('tells once of many that it gives back together', async () => {
    const notices: Notice[] = []
    const { pawl } = hookedEngine({ onNotice: (notice) => notices.push(notice) })
    const inputs = ['a', 'b', 'c'].map((input) => ({ input }))
    const handles = await pawl.submitMany(greet(2), inputs)
    pawl.work([greet(1)])
    for (const { id } of handles) {
      await expect.poll(async () => (await counts(pawl, id))['LeaseReleased']).toBe(1)
    }
    expect(notices).toMatchObject([{ kind: 'newer-version', version: 2, known: 1 }])
    await pawl.close()
  })

  it('has not touched what was committed: its effects are for a newer worker', async () => {
    const store = new MemoryStore(systemClock)
    const spec = { ...plain({ type: 'greet', version: 2, input: '"ann"' }) }
    await store.execute([{ type: 'SubmitJob', job: 'a', spec }])
    const channels = [{ queue: 'default', type: 'greet', stage: null }]
    await store.claim({ worker: 'gone', request: 1, channels, max: 1, started: true })
    const task = { job: 'a', stage: 0, segment: 0, lease: 1 }
    const effects = [promise({ name: 'receipt', input: '"r"' })]
    await store.execute([
      { type: 'CommitExecution', ...task, worker: 'gone', output: '"done"', effects },
      { type: 'RevokeLease', ...task, by: 'test', reason: 'its worker is gone' },
    ])
    const calls: number[] = []
    const by = (version: number) => {
      const receipt = effect('receipt', {
        input: typed<string>(),
        run: () => void calls.push(version),
      })
      const upgrades: Record<number, (input: unknown) => unknown> =
        version === 1 ? {} : { 1: (input) => input }
      return job('greet', { version, upgrades, effects: [receipt], run: () => 'done' })
    }
    const notices: Notice[] = []
    const { pawl } = hookedEngine({ store, onNotice: (notice) => notices.push(notice) })
    pawl.work([by(1)])
    await expect.poll(() => notices).toMatchObject([{ kind: 'newer-version', job: 'a' }])
    expect(calls).toEqual([])
    pawl.work([by(2)])
    expect(await pawl.handle('a').result(TIMEOUT)).toBe('done')
    expect(calls).toEqual([2])
    await pawl.close()
  })
})

describe('a stage of a newer version than a worker knows', () => {
  it('is given back, though its pipeline is of the same', async () => {
    const pawl = testEngine()
    pawl.work([staged(1)])
    const handle = await pawl.submit(staged(2))
    await pawl.advance('20s')
    expect(await counts(pawl, handle.id)).toMatchObject({ LeaseReleased: 5 })
    pawl.work([staged(2)])
    await pawl.runUntilIdle()
    expect(await handle.result()).toBe('by 2')
    await pawl.close()
  })
})
