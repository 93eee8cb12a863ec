/**
 * The same jobs, run in the worker's thread, in threads and in processes of their own: nobody
 * can tell from outside. And what only isolation can do.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { recorded } from '../../support/history.ts'
import type { Entry, Handle, Pawl, Worker, WorkerOptions } from '../../../src/index.ts'
import { job, open } from '../../../src/index.ts'
import { childId } from '../../../src/kernel/index.ts'
import { isAlive } from './alive.ts'
import { buildJobs, removeBuilt } from './built.ts'
import * as jobs from './jobs.ts'

const ALL = Object.values(jobs)
const SOURCES = [new URL('./jobs.ts', import.meta.url)]
/** The same jobs: children of their own, which most tests need, start sooner with these. */
let built: URL[]

vi.mock(import('../../../src/worker/isolation/child-entry.ts'), async (original) => {
  const { entriesFor } = await import('./built.ts')
  return entriesFor(await original())
})

beforeAll(async () => {
  built = [await buildJobs()]
})

afterAll(removeBuilt)

type Isolation = NonNullable<WorkerOptions['isolation']>

interface Workshop {
  readonly pawl: Pawl
  readonly worker: Worker
  /** A path that nobody uses. */
  readonly file: string
  readonly close: () => Promise<void>
}

async function workshop(isolation: Isolation, options: WorkerOptions = {}): Promise<Workshop> {
  const made = await openWorkshop(isolation, { modules: built, ...options })
  onTestFinished(made.close)
  return made
}

async function openWorkshop(isolation: Isolation, options: WorkerOptions): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-isolation-'))
  const pawl = await open('memory:')
  const worker = pawl.work(ALL, {
    concurrency: 2,
    isolation,
    shutdown: 0,
    ...options,
  })
  const close = async (): Promise<void> => {
    await pawl.close()
    await rm(folder, { recursive: true })
  }
  return { pawl, worker, file: join(folder, 'said'), close }
}

/** Starts a child, so that the time this takes is not that of what comes next. */
async function warm(pawl: Pawl): Promise<void> {
  await (await pawl.submit(jobs.double, { n: 1 })).result()
}

async function entries(pawl: Pawl, { id }: Handle): Promise<Entry[]> {
  const history = recorded(await pawl.history(id))
  return history.map(({ entry }) => entry)
}

async function types(pawl: Pawl, handle: Handle): Promise<Entry['type'][]> {
  return (await entries(pawl, handle)).map(({ type }) => type)
}

/** The value of the first step that is recorded from now on, or was. */
async function firstStep(handle: Handle): Promise<unknown> {
  for await (const { entry } of handle.events()) {
    if (entry.type === 'StepRecorded') return JSON.parse(entry.value)
  }
  throw new Error('It is over, and recorded nothing.')
}

describe.each(['none', 'thread', 'process'] as const)(
  'a handler with isolation %s',
  (isolation) => {
    // Children take a moment to start, so these share theirs.
    let shared: Workshop
    beforeAll(async () => {
      shared = await openWorkshop(isolation, { modules: SOURCES })
    })
    afterAll(() => shared.close())

    it('results in what it returns', async () => {
      const { pawl } = shared
      const handles = await pawl.submitMany(
        jobs.double,
        [1, 2, 3, 4, 5].map((n) => ({ input: { n } })),
      )
      expect(await Promise.all(handles.map((one) => one.result()))).toEqual([2, 4, 6, 8, 10])
    })

    it('runs where it was asked to', async () => {
      const { pawl } = shared
      const { pid, isMainThread } = await (await pawl.submit(jobs.where)).result()
      expect(pid === process.pid).toBe(isolation !== 'process')
      expect(isMainThread).toBe(isolation !== 'thread')
    })

    it('gets back in its next attempt what it recorded', async () => {
      const { pawl } = shared
      const handle = await pawl.submit(jobs.stepping)
      expect(await handle.result()).toEqual({ first: { by: 1 }, second: 2 })
    })

    it('that waits ends, with the child that it ran in, and goes on in another', async () => {
      const { pawl } = shared
      const handle = await pawl.submit(jobs.napping)
      const first = (await firstStep(handle)) as { pid: number }
      await expect.poll(() => handle.state()).toBe('SUSPENDED')
      if (isolation === 'process') {
        // At once, and not after the grace of 2 s that a run has which is told to stop.
        await expect.poll(() => isAlive(first.pid), { timeout: 1_800 }).toBe(false)
      }
      const { by, pid } = await handle.result()
      expect(by).toBe(2)
      expect(pid === first.pid).toBe(isolation !== 'process')
      const ends = (await types(pawl, handle)).filter((type) => type.startsWith('Wait'))
      expect(ends).toEqual(['WaitEnded'])
    })

    it('is heard while it runs: progress and lines', async () => {
      const { pawl } = shared
      const handle = await pawl.submit(jobs.talking)
      await firstStep(handle)
      const { progress, lines } = await handle.info()
      expect(progress).toEqual({ share: 0.5 })
      expect(lines).toEqual(['half way'])
      await handle.cancel()
    })

    it('is heard even if its lines are no text', async () => {
      const { pawl } = shared
      const handle = await pawl.submit(jobs.mumbling)
      await firstStep(handle)
      const { lines } = await handle.info()
      expect(lines.slice(0, -1)).toEqual([
        'undefined',
        'null',
        '{ half: 0.5 }',
        '[Function (anonymous)]',
      ])
      expect(lines.at(-1)).toMatch(/cannot be shown.*not today/)
      await handle.cancel()
    })

    it('commits, and its effects and children are carried out', async () => {
      const { pawl, file } = shared
      const handle = await pawl.submit(jobs.order, { file })
      expect(await handle.result()).toEqual({ isOrdered: true })
      const { id } = handle
      expect(await readFile(file, 'utf8')).toBe(`ann ${id}/0/0/0 1\nbob ${id}/0/0/1 1\n`)
      const doubled = childId({ job: id, stage: 0, segment: 0, effect: 2 })
      expect(await pawl.handle(doubled).result()).toBe(8)
    })

    it('that wants to write in the transaction of its commit is told why it cannot', async () => {
      const { pawl } = shared
      const message =
        isolation === 'none' ? /needs a database/ : /does not work in a thread or a process/
      const handle = await pawl.submit(jobs.writing)
      await expect(handle.result()).rejects.toMatchObject({
        failure: { code: 'InvalidDefinition', message: expect.stringMatching(message) as string },
      })
    })

    it('that throws fails with its code, message and stack', async () => {
      const { pawl } = shared
      const handle = await pawl.submit(jobs.broken)
      await expect(handle.result()).rejects.toMatchObject({
        failure: { type: 'RETRYABLE', code: 'E_WHEEL', message: 'the wheel came off' },
      })
      const { error } = await handle.info()
      expect(error?.stack).toMatch(/the wheel came off[^]*jobs\.ts/)
    })

    it('that throws a TerminalError fails at once', async () => {
      const { pawl } = shared
      const handle = await pawl.submit(jobs.doomed)
      await expect(handle.result()).rejects.toMatchObject({
        code: 'JobFailed',
        failure: { type: 'TERMINAL', code: 'NoSuchOrder' },
      })
    })

    it('is failed by the `classify` of its definition', async () => {
      const { pawl } = shared
      const handle = await pawl.submit(jobs.picky)
      await expect(handle.result()).rejects.toMatchObject({
        code: 'JobFailed',
        failure: { type: 'TERMINAL', message: 'no use' },
      })
    })

    it('is put off by a RetryAfter, thrown or said by `classify`, and that costs nothing', async () => {
      const { pawl } = shared
      const handle = await pawl.submit(jobs.limited)
      expect(await handle.result()).toBe(3)
      expect(await handle.info()).toMatchObject({ retryCount: 0, attempt: 3 })
    })

    it('is told by its signal that the job was cancelled', async () => {
      const { pawl, worker, file } = await workshop(isolation)
      const handle = await pawl.submit(jobs.patient, { file })
      await firstStep(handle)
      await handle.cancel({ by: 'ann', reason: 'no longer wanted' })
      await expect(handle.result()).rejects.toMatchObject({ code: 'JobWasCancelled' })
      await worker.stop()
      expect(await readFile(file, 'utf8')).toBe('Aborted cancelled by ann: no longer wanted\n')
    })

    it('is told by its signal who took its lease away, and why', async () => {
      const { pawl, worker, file } = await workshop(isolation)
      const handle = await pawl.submit(jobs.patient, { file })
      await firstStep(handle)
      await pawl.revoke(handle.id, { by: 'ann', reason: 'the host goes down' })
      await expect
        .poll(() => readFile(file, 'utf8').catch(() => ''))
        .toBe('Aborted revoked by ann: the host goes down\n')
      await worker.stop()
      expect(await types(pawl, handle)).toContain('LeaseRevoked')
    })

    it('is told by its signal that the worker stops, and the job goes back', async () => {
      const { pawl, worker, file } = await workshop(isolation)
      const handle = await pawl.submit(jobs.patient, { file })
      await firstStep(handle)
      await worker.stop()
      expect(await readFile(file, 'utf8')).toBe('Aborted shutdown\n')
      expect(await handle.state()).toBe('QUEUED')
      expect(await types(pawl, handle)).toContain('LeaseReleased')
    })

    it('that takes longer than its timeout has failed by it', async () => {
      const { pawl } = await workshop(isolation)
      const handle = await pawl.submit(jobs.slow)
      await expect(handle.result()).rejects.toMatchObject({
        code: 'JobFailed',
        failure: { code: 'TimedOut' },
      })
      // A result that comes after it changes nothing.
      expect(await types(pawl, handle)).not.toContain('ReportRefused')
    })
  },
)

describe.each(['thread', 'process'] as const)('a child that is a %s', (isolation) => {
  const DEATH = isolation === 'process' ? 'signal SIGKILL' : 'exit code 7'

  it('may block its event loop for many leases, and its job is run once', async () => {
    const { pawl } = await workshop(isolation, { concurrency: 1 })
    await warm(pawl)
    const handle = await pawl.submit(jobs.busy)
    expect(await handle.result()).toBe('done')
    expect((await handle.info()).attempt).toBe(1)
    const happened = await types(pawl, handle)
    expect(happened.filter((type) => type === 'LeaseExtended').length).toBeGreaterThan(2)
    expect(happened.filter((type) => type === 'ExecutionCommitted')).toHaveLength(1)
  })

  it('is used again, and ended with its worker', async () => {
    const { pawl, worker } = await workshop(isolation, { concurrency: 1 })
    const pids = new Set<number>()
    for (let i = 0; i < 3; i++) pids.add((await (await pawl.submit(jobs.where)).result()).pid)
    expect(pids.size).toBe(1)
    await worker.stop()
    expect([...pids].some((pid) => pid !== process.pid && isAlive(pid))).toBe(false)
  })

  it('whose handler says something on the channel of its worker is not listened to', async () => {
    const { pawl } = await workshop(isolation)
    const handle = await pawl.submit(jobs.meddling)
    expect(await handle.result()).toBe('done')
    expect((await handle.info()).lines).toEqual(['and now in order'])
  })

  it('that dies on every run brings its job into quarantine after its retries', async () => {
    const { pawl } = await workshop(isolation)
    const handle = await pawl.submit(jobs.poison)
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    expect((await handle.info()).attempt).toBe(3)
    const { reasons } = await pawl.explain(handle.id)
    expect(reasons[0]?.message).toMatch(/used up its retries \(ChildDied: /)
    const failed = (await entries(pawl, handle)).filter(({ type }) => type === 'TaskFailed')
    expect(failed.map((entry) => 'error' in entry && entry.error?.message)).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining(DEATH)),
    )
  })

  it('that dies is on record with the error that nothing caught, and is tried again by its policy', async () => {
    const { pawl } = await workshop(isolation)
    const causes = ['error', 'rejection', 'exit'] as const
    const handles = await pawl.submitMany(
      jobs.crashing,
      causes.map((input) => ({ input })),
    )
    const errors = []
    for (const handle of handles) {
      await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
      const { error } = await handle.info()
      errors.push(error)
      const [first, second] = (await pawl.history(handle.id)).filter(
        ({ type }) => type === 'LeaseGranted',
      )
      expect(Number(second?.at) - Number(first?.at)).toBeGreaterThanOrEqual(400)
    }
    expect(errors).toMatchObject(
      [
        { code: 'ChildDied', message: /exit code 1: TypeError: not a duck\.$/ },
        { code: 'ChildDied', message: /exit code 1: RangeError: too far\.$/ },
        { code: 'ChildDied', message: /exit code 3\.$/ },
      ].map(({ code, message }) => ({ code, message: expect.stringMatching(message) })),
    )
    expect(errors[0]?.stack).toMatch(/^TypeError: not a duck\n +at rejectSilly/)
    const groups = await pawl.quarantine.groups()
    expect(new Set(groups.map(({ fingerprint }) => fingerprint)).size).toBe(3)
  })

  it('that dies in an effect leaves the commit as it is, and the effect is charged', async () => {
    const { pawl } = await workshop(isolation)
    const handle = await pawl.submit(jobs.losing)
    await expect(handle.result()).rejects.toMatchObject({ code: 'JobQuarantined' })
    const { effects } = await handle.info()
    expect(effects[0]?.state).toBe('HELD')
    const happened = await types(pawl, handle)
    expect(happened.filter((type) => type === 'ExecutionCommitted')).toHaveLength(1)
    expect(happened.filter((type) => type === 'EffectStarted').length).toBeGreaterThan(1)
  })

  it('that is stuck is killed by the timeout of its job, and the next job gets another', async () => {
    const { pawl } = await workshop(isolation, { concurrency: 1 })
    await warm(pawl)
    const handle = await pawl.submit(jobs.stuck)
    const pid = await firstStep(handle)
    await expect(handle.result()).rejects.toMatchObject({ failure: { code: 'TimedOut' } })
    expect(await (await pawl.submit(jobs.double, { n: 2 })).result()).toBe(4)
    expect(isolation === 'process' && isAlive(Number(pid))).toBe(false)
  })

  it('that does not listen is killed when the time to finish is over', async () => {
    const { pawl, worker } = await workshop(isolation)
    const handle = await pawl.submit(jobs.deaf)
    const pid = await firstStep(handle)
    await worker.stop()
    expect(await handle.state()).toBe('QUEUED')
    expect(isolation === 'process' && isAlive(Number(pid))).toBe(false)
  })

  it('that finds no such job in its modules says which, and where it looked', async () => {
    const { pawl } = await workshop(isolation)
    const hidden = job('hidden', { retry: { max: 0 }, run: () => 1 })
    pawl.work([hidden], { isolation, modules: SOURCES })
    const handle = await pawl.submit(hidden)
    await expect(handle.result()).rejects.toThrow(/'hidden'.*test\/scenarios\/isolation\/jobs\.ts/)
  })

  it('that cannot import a module fails the job with the reason', async () => {
    const { pawl } = await workshop(isolation)
    const hidden = job('hidden', { retry: { max: 0 }, run: () => 1 })
    pawl.work([hidden], { isolation, modules: [new URL('./nothing.ts', import.meta.url)] })
    const handle = await pawl.submit(hidden)
    await expect(handle.result()).rejects.toThrow(/could not import .*nothing\.ts/)
  })
})

describe('a module that starts a worker itself', () => {
  it('is refused by its children, before they have children', async () => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    const recursive = job('recursive', { retry: { max: 0 }, run: () => 1 })
    const modules = [new URL('./recursive.ts', import.meta.url)]
    pawl.work([recursive], { isolation: 'process', modules })
    const handle = await pawl.submit(recursive)
    await expect(handle.result()).rejects.toThrow(/put the definitions into a module of their own/)
  })
})

describe('a child process', () => {
  it('that is killed from outside costs one attempt, and no lease', async () => {
    const { pawl } = await workshop('process')
    const handle = await pawl.submit(jobs.held)
    const pid = Number(await firstStep(handle))
    expect(pid).not.toBe(process.pid)
    process.kill(pid, 'SIGKILL')
    expect(await handle.result({ timeout: '20s' })).toBe(2)
    const { attempt, retryCount } = await handle.info()
    expect({ attempt, retryCount }).toEqual({ attempt: 2, retryCount: 1 })
    const failed = (await entries(pawl, handle)).find(({ type }) => type === 'TaskFailed')
    expect(failed).toMatchObject({ error: { message: 'Its process ended by signal SIGKILL.' } })
  })
})

describe('the options of a worker', () => {
  it.each([
    [{ isolation: 'thread' }, /needs `modules`/],
    [{ isolation: 'process', modules: [] }, /needs `modules`/],
    [{ isolation: 'process', modules: ['./jobs.ts'] }, /neither a URL nor an absolute path/],
    [{ isolation: 'fibre' as 'thread', modules: SOURCES }, /'none', 'thread' or 'process'/],
  ] as const)('are refused if they make no sense: %o', async (options, message) => {
    const pawl = await open('memory:')
    onTestFinished(() => pawl.close())
    expect(() => pawl.work(ALL, options)).toThrow(message)
  })
})
