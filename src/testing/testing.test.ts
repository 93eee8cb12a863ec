import { readFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { recorded } from '../../test/support/history.ts'
import type { JobDefinition, RetryOptions } from '../index.ts'
import { Aborted, child, job, open, TerminalError, typed } from '../index.ts'
import { BadRequest, MemoryStore } from '../store/index.ts'
import type { TestEngine, TestEngineOptions } from './index.ts'
import { NotSettled, testEngine } from './index.ts'

function engine(options?: TestEngineOptions): TestEngine {
  const pawl = testEngine(options)
  onTestFinished(() => pawl.close())
  return pawl
}

const PACKAGE = new URL('../../package.json', import.meta.url)
const START = Date.UTC(2025, 0, 1)
const double = job('double', { input: typed<{ n: number }>(), run: ({ input }) => input.n * 2 })
const never = (): Promise<never> => new Promise(() => undefined)

const BACKOFF: RetryOptions = { max: 5, backoff: 'exponential', jitter: 0 }

/** Fails so often, then returns how often it was called. */
function flaky(failures: number, retry = BACKOFF): JobDefinition<'flaky', undefined, number> {
  let calls = 0
  return job('flaky', {
    retry,
    run: () => {
      calls += 1
      if (calls <= failures) throw new Error(`no ${calls}`)
      return calls
    },
  })
}

/** Everything that is on record of a job that lost its worker and failed, but the stacks. */
async function story(): Promise<string> {
  const pawl = engine()
  pawl.crash.beforeCommit('flaky')
  const { history } = await pawl.runOne(flaky(3, { ...BACKOFF, jitter: 1 }))
  return JSON.stringify(history, (key, value: unknown) => (key === 'stack' ? null : value), 1)
}

describe('time', () => {
  it('begins on a fixed date, or on the one that is given', () => {
    expect(engine().now).toBe(START)
    expect(engine({ start: new Date(5) }).now).toBe(5)
    expect(() => engine({ start: Number.NaN })).toThrow('`start` must be a date')
  })

  it('passes only when it is told to', async () => {
    const pawl = engine()
    await pawl.advance('1.5h')
    expect(pawl.now).toBe(START + 5_400_000)
    await pawl.advanceTo(new Date(START + 6_000_000))
    expect(pawl.now).toBe(START + 6_000_000)
    await pawl.runUntilIdle()
    expect(pawl.now).toBe(START + 6_000_000)
  })

  it('does not run backwards', async () => {
    const pawl = engine()
    await expect(pawl.advanceTo(START - 1)).rejects.toThrow('time does not run backwards')
    await expect(async () => pawl.advance(-1)).rejects.toThrow('must be a duration')
  })

  it('is the one of every entry, and everything happens when it is due, in order', async () => {
    const pawl = engine()
    const ran: string[] = []
    const note = job('note', {
      input: typed<string>(),
      run: ({ input }) => {
        ran.push(`${input} at ${(pawl.now - START) / 1_000}`)
      },
    })
    await pawl.submit(note, 'c', { delay: '3s' })
    await pawl.submit(note, 'a', { delay: '1s' })
    await pawl.submit(note, 'b', { at: START + 2_000 })
    await pawl.advance('2s')
    expect(ran).toEqual(['a at 1', 'b at 2'])
    await pawl.advance('10d')
    expect(ran).toEqual(['a at 1', 'b at 2', 'c at 3'])
    const history = recorded(await pawl.history('note-1'))
    expect(history.map(({ entry }) => entry.at - START)).toEqual([0, 3_000, 3_000])
  })

  it('may be moved by a handler, as if its work took so long', async () => {
    const pawl = engine()
    const slow = job('slow', { run: () => pawl.advance('10m') })
    const { info } = await pawl.runOne(slow)
    expect(info.attempt).toBe(1)
    expect(info.completedAt).toEqual(new Date(START + 600_000))
  })

  it('of a year is no longer than that of a second, even while a lease is held', async () => {
    const pawl = engine()
    const slow = job('slow', { lease: '1d', run: never })
    await pawl.submit(slow)
    await pawl.submit(double, { n: 1 }, { delay: '300d' })
    await pawl.advance('1h')
    expect((await pawl.handle('slow-1').info()).executions).toHaveLength(1)
    await pawl.cancel('slow-1')
    await pawl.advance('365d')
    expect(await pawl.handle('double-1', double).result()).toBe(2)
  })

  it('goes on when the test has put fakes in the place of clock and timers', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const pawl = engine({ patience: 5 })
    expect((await pawl.runOne(flaky(2))).output).toBe(3)
    await pawl.submit(job('stuck', { run: never }))
    await expect(pawl.runUntilIdle()).rejects.toThrow('within 5 ms of real time')
  })

  it('lets a rate through at the very moment it may go on', async () => {
    const pawl = engine()
    const starts: number[] = []
    const limits = [{ key: 'api', rate: { count: 2, per: '1s' } }] as const
    const call = job('call', { limits, run: () => starts.push(pawl.now - START) })
    for (let i = 0; i < 5; i++) await pawl.submit(call)
    await pawl.runUntilIdle()
    expect(starts).toEqual([0, 0])
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(starts).toEqual([0, 0, 500, 1_000, 1_500])
    await pawl.configure('default', { rate: { count: 1, per: '10s' } })
    for (let i = 0; i < 3; i++) await pawl.submit(double, { n: i })
    const from = pawl.now
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(pawl.now - from).toBe(20_000)
  })
})

describe('an engine for tests', () => {
  it('begins nothing by itself: a job that was submitted is queued until jobs are run', async () => {
    const pawl = engine()
    expect((await pawl.runOne(double, { n: 2 })).output).toBe(4)
    const handle = await pawl.submit(double, { n: 1 })
    await new Promise(setImmediate)
    expect(await handle.state()).toBe('QUEUED')
    await pawl.runUntilIdle()
    expect(await handle.result()).toBe(2)
  })

  it('tells the same story again: times, ids and workers', async () => {
    const first = await story()
    expect(first).toContain('"worker": "worker-2"')
    expect(await story()).toBe(first)
  })

  it('counts ids, and takes none that the test gave itself', async () => {
    const pawl = engine()
    await pawl.submit(double, { n: 1 }, { id: 'double-2' })
    await pawl.submitMany(double, [{ input: { n: 2 } }, { input: { n: 3 } }])
    const { jobs } = await pawl.list()
    expect(jobs.map(({ id }) => id)).toEqual(['double-2', 'double-1', 'double-3'])
  })

  it('leaves jobs to a worker that the test starts, which begins at once', async () => {
    const pawl = engine({ jobs: [double] })
    const most = { now: 0, ever: 0 }
    const narrow = job('narrow', {
      run: async () => {
        most.now += 1
        most.ever = Math.max(most.ever, most.now)
        await new Promise(setImmediate)
        most.now -= 1
      },
    })
    await pawl.submitMany(
      narrow,
      Array.from({ length: 5 }, () => ({ input: undefined })),
    )
    pawl.work([narrow], { concurrency: 1, name: 'mine' })
    const handle = await pawl.submit(narrow)
    await handle.result()
    await pawl.runUntilIdle()
    expect(most.ever).toBe(1)
    expect((await handle.info()).executions[0]?.worker).toBe('mine')
  })

  it('leaves signals to the process of the test', async () => {
    const before = process.listenerCount('SIGTERM')
    const pawl = engine()
    await pawl.runOne(double, { n: 1 })
    pawl.work([double])
    expect(process.listenerCount('SIGTERM')).toBe(before)
  })

  it('takes in new jobs at any time: what runs, runs on, and nothing is begun twice', async () => {
    const pawl = engine()
    const stuck = await pawl.submit(job('stuck', { run: never }))
    await pawl.advance(0)
    const again = await pawl.submit(double, { n: 1 })
    await pawl.advance('5m')
    expect((await stuck.info()).executions).toMatchObject([
      { worker: 'worker-1', finishedAt: null },
    ])
    const more = await pawl.submit(double, { n: 2 })
    await pawl.submit(job('other', { run: () => undefined }))
    await pawl.advance(0)
    expect((await again.info()).executions).toMatchObject([{ worker: 'worker-2' }])
    expect((await more.info()).executions).toMatchObject([{ worker: 'worker-3' }])
  })

  it('runs the newest definition of a name, and jobs in queues of their own', async () => {
    const pawl = engine()
    expect((await pawl.runOne(double, { n: 1 })).output).toBe(2)
    const triple = job('double', { input: typed<{ n: number }>(), run: ({ input }) => input.n * 3 })
    expect((await pawl.runOne(triple, { n: 1 }, { queue: 'other' })).output).toBe(3)
  })

  it('runs children whose definitions it knows, and leaves the others', async () => {
    const other = job('other', { run: () => 1 })
    const parent = job('parent', {
      run: ({ commit }) => commit('ok', [], [child(double, { n: 4 }), child(other)]),
    })
    const pawl = engine({ jobs: [double] })
    await pawl.runOne(parent)
    await pawl.runUntilIdle({ skipWaiting: true })
    const { jobs } = await pawl.list()
    expect(jobs.map(({ type, state }) => `${type} ${state}`)).toEqual([
      'parent SUCCEEDED',
      'double SUCCEEDED',
      'other QUEUED',
    ])
  })

  it('throws an error of the engine that no call waited for', async () => {
    const pawl = engine()
    const claim = vi.spyOn(MemoryStore.prototype, 'claim')
    onTestFinished(() => claim.mockRestore())
    claim.mockRejectedValueOnce(new BadRequest('it makes no sense'))
    pawl.work([double])
    await expect(pawl.advance('1s')).rejects.toMatchObject({ code: 'BadRequest' })
  })

  it('is closed at once, and tells handlers that still run', async () => {
    const pawl = engine()
    let reason: unknown
    const stuck = job('stuck', {
      run: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
            reject(signal.reason as Error)
          })
        }),
    })
    await pawl.submit(stuck)
    await pawl.advance(0)
    await pawl.close()
    expect(reason).toBeInstanceOf(Aborted)
  })
})

describe('runUntilIdle', () => {
  it('runs what is due, and waits for handlers that need real time', async () => {
    const pawl = engine()
    const read = job('read', { run: async () => (await readFile(PACKAGE, 'utf8')).length })
    const now = await pawl.submit(read)
    const later = await pawl.submit(double, { n: 1 }, { delay: '1s' })
    await pawl.runUntilIdle()
    expect(await now.result()).toBeGreaterThan(100)
    expect(await later.state()).toBe('CREATED')
  })

  it('stops at a retry, unless it is to skip the waiting', async () => {
    const pawl = engine()
    const handle = await pawl.submit(flaky(3))
    await pawl.runUntilIdle()
    expect(await handle.state()).toBe('RETRYING')
    expect(pawl.now).toBe(START)
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(await handle.result()).toBe(4)
    expect(pawl.now).toBe(START + 7_000)
  })

  it('that skips the waiting leaves what waits for a person', async () => {
    const pawl = engine()
    const doomed = job('doomed', {
      retry: { max: 1 },
      run: () => {
        throw new Error('no')
      },
    })
    const held = await pawl.submit(double, { n: 1 }, { hold: true, delay: '1h' })
    const dead = await pawl.submit(doomed)
    await pawl.pause('slow')
    const paused = await pawl.submit(double, { n: 1 }, { queue: 'slow' })
    await pawl.runUntilIdle({ skipWaiting: true })
    expect(await held.state()).toBe('CREATED')
    expect(await dead.state()).toBe('QUARANTINED')
    expect(await paused.state()).toBe('QUEUED')
    expect(pawl.now).toBe(START + 1_000)
    await pawl.release(held.id)
    await pawl.resume('slow')
    await pawl.runUntilIdle({ skipWaiting: true })
    expect([await held.result(), await paused.result()]).toEqual([2, 2])
  })

  it('names the jobs whose handlers never settle', async () => {
    const pawl = engine({ patience: 0 })
    const stuck = job('stuck', { run: never })
    await pawl.submit(stuck)
    await pawl.submit(double, { n: 1 }, { delay: '1s' })
    const error = await pawl.runUntilIdle({ skipWaiting: true }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(NotSettled)
    expect(error).toMatchObject({
      code: 'NotSettled',
      open: [{ id: 'stuck-1', type: 'stuck', state: 'RUNNING', attempt: 1, worker: 'worker-1' }],
    })
    expect(String(error)).toContain("job stuck-1 ('stuck'): RUNNING, attempt 1, held by worker-1")
  })

  it.each([0, '1s'] as const)('gives up on jobs without end that are %s apart', async (delay) => {
    const endless: JobDefinition<'endless', undefined, null> = job('endless', {
      run: ({ commit }) => commit(null, [], [child(endless, undefined, { delay })]),
    })
    const pawl = engine({ rounds: 50 })
    await pawl.submit(endless)
    await expect(pawl.runUntilIdle({ skipWaiting: true })).rejects.toThrow(
      /no end to it after 50 rounds\. Still open:\n {2}- job .* \('endless'\)/,
    )
  })
})

describe('runOne', () => {
  it('gives output, info and history of a job that had to be retried, in no time', async () => {
    const pawl = engine()
    const { output, info, history } = await pawl.runOne(flaky(3))
    expect(output satisfies number).toBe(4)
    expect(info).toMatchObject({ state: 'SUCCEEDED', attempt: 4, retryCount: 3 })
    expect(history.map(({ type }) => type)).toEqual([
      'JobSubmitted',
      ...Array.from({ length: 3 }, () => ['LeaseGranted', 'TaskFailed', 'TimePassed']).flat(),
      'LeaseGranted',
      'ExecutionCommitted',
    ])
    expect(pawl.now).toBe(START + 7_000)
  })

  it('does not wait for other jobs', async () => {
    const pawl = engine()
    await pawl.submit(job('stuck', { run: never }))
    await pawl.submit(double, { n: 1 }, { delay: '1d' })
    expect((await pawl.runOne(double, { n: 3 })).output).toBe(6)
    expect(pawl.now).toBe(START)
  })

  it('throws the error of a job that has no result', async () => {
    const pawl = engine()
    const doomed = job('doomed', {
      run: () => {
        throw new TerminalError('never', { code: 'Never' })
      },
    })
    await expect(pawl.runOne(doomed)).rejects.toMatchObject({
      code: 'JobFailed',
      failure: { code: 'Never' },
    })
    await expect(pawl.runOne(flaky(9))).rejects.toMatchObject({ code: 'JobQuarantined' })
  })

  it('says so if the job cannot go on', async () => {
    const pawl = engine()
    await expect(pawl.runOne(double, { n: 1 }, { hold: true })).rejects.toThrow(
      /Job double-1 does not go on by itself.*\n {2}- job double-1 \('double'\): CREATED/,
    )
  })
})

describe('a job that runs', () => {
  it('is cancelled: its handler is told at once, and what it returns does not count', async () => {
    const pawl = engine()
    const reasons: unknown[] = []
    const slow = job('slow', {
      run: async ({ signal }) => {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve)
        })
        reasons.push((signal.reason as Aborted).reason)
        return 'too late'
      },
    })
    const handle = await pawl.submit(slow)
    await pawl.advance(0)
    expect(await handle.state()).toBe('RUNNING')
    await handle.cancel({ by: 'ann', reason: 'changed her mind' })
    await pawl.runUntilIdle()
    expect(reasons).toEqual(['cancelled'])
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobWasCancelled' })
  })

  it('keeps its lease as long as it lives, and is stopped by its timeout', async () => {
    const pawl = engine()
    const slow = job('slow', { timeout: '5m', retry: { max: 0 }, run: never })
    const handle = await pawl.submit(slow)
    await pawl.advance('4m')
    expect(await handle.info()).toMatchObject({ state: 'RUNNING', attempt: 1 })
    await pawl.advance('1m')
    expect(await handle.info()).toMatchObject({
      state: 'QUARANTINED',
      error: { code: 'TimedOut' },
    })
  })
})

describe('the package', () => {
  it('exports the kit for tests, and a build has it', async () => {
    const text = await readFile(PACKAGE, 'utf8')
    const { exports } = JSON.parse(text) as { exports: Record<string, unknown> }
    expect(exports['./testing']).toEqual({
      types: './dist/testing/index.d.ts',
      default: './dist/testing/index.js',
    })
  })

  it('has an engine for tests that keeps who set a schedule, and why', async () => {
    const pawl = engine()
    const on = { by: 'ann', reason: 'for the night' }
    await pawl.schedule('nightly', { job: flaky(0), every: '24h' }, on)
    for await (const { entry } of pawl.watch()) {
      expect(entry).toMatchObject({ type: 'ScheduleSet', ...on })
      break
    }
  })

  it('has an engine for tests that is an engine', async () => {
    const real = await open('memory:')
    onTestFinished(() => real.close())
    expect(engine()).toBeInstanceOf(real.constructor)
  })
})
