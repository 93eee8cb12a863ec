import { describe, expect, it, onTestFinished } from 'vitest'
import { recorded } from '../../../test/support/history.ts'
import { deferred } from '../../../test/support/engines.ts'
import type { HookedStore } from '../../../test/support/hooked-store.ts'
import { hookedEngine } from '../../../test/support/hooked-store.ts'
import type { Handle, Pawl, WorkerOptions } from '../../index.ts'
import { job, typed } from '../../index.ts'
import type { Entry } from '../../kernel/index.ts'
import { realTiming } from '../../store/clock.ts'
import type { Worker } from './worker.ts'

/** So many jobs are quick: AFTER them the worker knows its pace. The others wait for the gate. */
const QUICK = 150
const SLOW = 60
const PLACES = 10

interface Scene {
  readonly pawl: Pawl
  readonly store: HookedStore
  readonly worker: Worker
  readonly handles: readonly Handle[]
  /** Indexes of jobs, as their handlers began. */
  readonly begun: number[]
  readonly openGate: () => void
  readonly errors: readonly Error[]
  /** Of the worker's own time. */
  readonly pass: (ms: number) => void
  /** Indexes of jobs that wait in the worker. */
  readonly waiting: () => Promise<number[]>
}

/** A worker whose places are all taken by slow jobs, with others that it has claimed ahead. */
async function fullWorker(options: WorkerOptions = {}): Promise<Scene> {
  let now = 0
  const timing = { ...realTiming(), now: () => now }
  const { pawl, store, errors } = hookedEngine({ timing })
  const gate = deferred()
  const full = deferred()
  onTestFinished(async () => {
    gate.resolve()
    await pawl.close()
  })
  const begun: number[] = []
  const mixed = job('mixed', {
    input: typed<number>(),
    run: async ({ input }) => {
      begun.push(input)
      // By the worker's clock, each takes a millisecond.
      now += 1
      if (input < QUICK) return
      if (begun.length === QUICK + PLACES) full.resolve()
      await gate.promise
    },
  })
  const inputs = Array.from({ length: QUICK + SLOW }, (_, index) => ({ input: index }))
  const handles = await pawl.submitMany(mixed, inputs)
  const worker = pawl.work([mixed], { poll: '1h', ...options })
  await full.promise
  const waiting = async (): Promise<number[]> => {
    const states = await Promise.all(handles.map((handle) => handle.state()))
    return states.flatMap((state, i) => (state === 'RUNNING' && !begun.includes(i) ? [i] : []))
  }
  await expect.poll(async () => (await waiting()).length).toBeGreaterThan(0)
  const pass = (ms: number): void => void (now += ms)
  return { pawl, store, worker, handles, begun, openGate: gate.resolve, errors, pass, waiting }
}

/** Quick jobs, by claims that take a while. Other jobs become ready meanwhile, as it seems to the worker. */
async function drain(jobs: number): Promise<{ mostUnderWay: number; begun: number[] }> {
  let now = 0
  const { pawl, store } = hookedEngine({ timing: { ...realTiming(), now: () => now } })
  onTestFinished(() => pawl.close())
  const begun: number[] = []
  const quick = job('quick', {
    input: typed<number>(),
    run: async ({ input }) => void begun.push(input),
  })
  const claim = store.claim.bind(store)
  let underWay = 0
  let mostUnderWay = 0
  store.claim = async (request) => {
    underWay += 1
    mostUnderWay = Math.max(mostUnderWay, underWay)
    now += 10
    await new Promise((resolve) => setImmediate(resolve))
    worker.wake()
    const claimed = await claim(request)
    underWay -= 1
    return claimed
  }
  const inputs = Array.from({ length: jobs }, (_, index) => ({ input: index }))
  const handles = await pawl.submitMany(quick, inputs)
  const worker = pawl.work([quick], { poll: '1h' })
  await Promise.all(handles.map((handle) => handle.result()))
  return { mostUnderWay, begun }
}

async function entriesOf(pawl: Pawl, handle: Handle): Promise<Entry[]> {
  return recorded(await pawl.history(handle.id)).map(({ entry }) => entry)
}

/** The worker has the answer to an extension of the job's lease. */
async function extended(store: HookedStore, id: string): Promise<void> {
  const decided = deferred()
  store.afterExecute = (commands) => {
    if (commands.some((one) => one.type === 'ExtendLease' && one.job === id)) decided.resolve()
  }
  await decided.promise
  await new Promise((resolve) => setImmediate(resolve))
}

describe('a worker that claims ahead', () => {
  it('runs no more handlers at once than it has places, and all in their order', async () => {
    const { begun, handles, openGate } = await fullWorker()
    expect(begun).toHaveLength(QUICK + PLACES)
    openGate()
    await Promise.all(handles.map((handle) => handle.result()))
    expect(begun).toEqual(handles.map((_, i) => i))
  })

  it('claims nothing ahead before it knows its pace', async () => {
    const { pawl, handles } = await fullWorker()
    const [, granted] = await entriesOf(pawl, handles[0] as Handle)
    expect(granted).toMatchObject({ type: 'LeaseGranted', started: true })
  })

  it('claims nothing ahead while none of its handlers has ended, however quick its claims are', async () => {
    let now = 0
    const { pawl, store } = hookedEngine({ timing: { ...realTiming(), now: () => now } })
    const gate = deferred()
    const full = deferred()
    onTestFinished(async () => {
      gate.resolve()
      await pawl.close()
    })
    let begun = 0
    const slow = job('slow', {
      run: async () => {
        begun += 1
        if (begun === PLACES) full.resolve()
        await gate.promise
      },
    })
    const asked: number[] = []
    const claim = store.claim.bind(store)
    store.claim = async (request) => {
      asked.push(request.ahead ?? 0)
      now += 10
      return claim(request)
    }
    await pawl.submitMany(
      slow,
      Array.from({ length: SLOW }, () => ({ input: undefined })),
    )
    const worker = pawl.work([slow], { poll: '1h' })
    await full.promise
    await new Promise((resolve) => setImmediate(resolve))
    worker.wake()
    expect(asked).toEqual([0])
  })

  it('has the next claim under way before the last one is answered, and never a third', async () => {
    const { mostUnderWay, begun } = await drain(2_000)
    expect(mostUnderWay).toBe(2)
    expect(begun.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2_000 }, (_, i) => i))
  })

  it('has one claim under way while it finds few: two would split them into smaller groups', async () => {
    const { mostUnderWay } = await drain(100)
    expect(mostUnderWay).toBe(1)
  })

  it('adds no entry for the start of a job that is soon over', async () => {
    const { pawl, handles } = await fullWorker()
    const last = handles[QUICK - 1] as Handle
    await last.result()
    expect(await entriesOf(pawl, last)).toMatchObject([
      { type: 'JobSubmitted' },
      { type: 'LeaseGranted', started: false },
      { type: 'ExecutionCommitted' },
    ])
  })

  it('reports the start of a job that goes on for more than a moment', async () => {
    const { pawl, handles, begun, pass } = await fullWorker()
    pass(100)
    const ahead = []
    for (const index of begun.slice(QUICK)) {
      const [, granted] = await entriesOf(pawl, handles[index] as Handle)
      if (granted?.type === 'LeaseGranted' && !granted.started) ahead.push(handles[index])
    }
    expect(ahead.length).toBeGreaterThan(0)
    for (const handle of ahead as Handle[]) {
      await expect
        .poll(async () => (await entriesOf(pawl, handle)).map(({ type }) => type))
        .toContain('ExecutionStarted')
    }
  })

  it('reports no start of a job that only waits', async () => {
    const { pawl, handles, pass, waiting } = await fullWorker()
    pass(100)
    const [index] = await waiting()
    const running = handles[QUICK + PLACES - 1] as Handle
    await expect.poll(async () => (await entriesOf(pawl, running)).length).toBeGreaterThan(2)
    expect(await entriesOf(pawl, handles[index as number] as Handle)).toHaveLength(2)
  })

  it('gives back what it has not begun when it stops, before its handlers end', async () => {
    const { worker, pawl, handles, begun, openGate, waiting } = await fullWorker()
    const waited = await waiting()
    const stopped = worker.stop()
    for (const index of waited) {
      const handle = handles[index] as Handle
      await expect.poll(() => handle.state()).toBe('QUEUED')
      const entries = await entriesOf(pawl, handle)
      expect(entries.at(-1)).toMatchObject({ type: 'LeaseReleased', retries: 0 })
    }
    expect(begun).toHaveLength(QUICK + PLACES)
    openGate()
    await stopped
    expect(begun).toHaveLength(QUICK + PLACES)
  })

  it('gives back at once what would wait with more characters than it may keep', async () => {
    let now = 0
    const { pawl } = hookedEngine({ timing: { ...realTiming(), now: () => now } })
    const gate = deferred()
    onTestFinished(async () => {
      gate.resolve()
      await pawl.close()
    })
    let begun = 0
    const full = deferred()
    // Small ones first: by them the worker claims many ahead, and then large ones come.
    const sized = job('sized', {
      input: typed<string>(),
      run: async ({ input }) => {
        now += 0.1
        if (input.length < 10) return
        begun += 1
        if (begun === PLACES) full.resolve()
        await gate.promise
      },
    })
    await pawl.submitMany(
      sized,
      Array.from({ length: 2 * QUICK }, () => ({ input: 'small' })),
    )
    const large = 'x'.repeat(1_000_000)
    const handles = await pawl.submitMany(
      sized,
      Array.from({ length: SLOW }, () => ({ input: large })),
    )
    pawl.work([sized], { poll: '1h', concurrency: PLACES })
    await full.promise
    const taken = async (): Promise<number> => {
      const states = await Promise.all(handles.map((handle) => handle.state()))
      return states.filter((state) => state === 'RUNNING').length
    }
    await expect.poll(async () => (await taken()) - PLACES).toBeLessThanOrEqual(16)
    const releases = await Promise.all(handles.map((handle) => entriesOf(pawl, handle)))
    expect(releases.flat().some(({ type }) => type === 'LeaseReleased')).toBe(true)
  })

  it('gives nothing back when it is killed', async () => {
    const { worker, handles, begun, openGate, waiting } = await fullWorker()
    const waited = await waiting()
    await worker.kill()
    openGate()
    for (const index of waited) expect(await handles[index]?.state()).toBe('RUNNING')
    expect(begun).toHaveLength(QUICK + PLACES)
  })

  it('does not begin a job that was cancelled while it waited', async () => {
    const { pawl, store, handles, begun, openGate, waiting } = await fullWorker()
    const cancelled = (await waiting())[0] as number
    const { id } = handles[cancelled] as Handle
    const told = extended(store, id)
    await pawl.cancel(id)
    await told
    openGate()
    await Promise.all(handles.filter((_, i) => i !== cancelled).map((handle) => handle.result()))
    expect(begun).not.toContain(cancelled)
  })

  it('does not begin a job whose lease was lost while it waited, until it is granted again', async () => {
    const { worker, store, handles, begun, openGate, waiting } = await fullWorker()
    const lost = (await waiting())[0] as number
    const { id } = handles[lost] as Handle
    const at = { job: id, stage: 0, segment: 0 }
    await store.execute([{ type: 'RevokeLease', ...at, lease: 1, by: 'ops', reason: 'test' }])
    const told = extended(store, id)
    worker.checkLeases(id)
    await told
    openGate()
    await Promise.all(handles.map((handle) => handle.result()))
    expect(begun.filter((index) => index === lost)).toHaveLength(1)
    const info = await handles[lost]!.info()
    expect(info).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
  })

  it('extends the leases of what waits', async () => {
    const { pawl, worker, handles, waiting } = await fullWorker()
    const index = (await waiting())[0] as number
    worker.checkLeases()
    await expect
      .poll(async () => (await entriesOf(pawl, handles[index] as Handle)).at(-1)?.type)
      .toBe('LeaseExtended')
  })

  it('gives back what waits for long, since its handlers have become slow', async () => {
    const { pawl, handles, begun, pass, waiting } = await fullWorker()
    const index = (await waiting())[0] as number
    pass(2_000)
    await expect.poll(waiting, { timeout: 5_000 }).toEqual([])
    const entries = await entriesOf(pawl, handles[index] as Handle)
    expect(entries.at(-1)).toMatchObject({ type: 'LeaseReleased', retries: 0 })
    expect(begun).toHaveLength(QUICK + PLACES)
  })

  it('gives back at once what waits when it is drained, and takes it again once it is resumed', async () => {
    const { worker, handles, begun, waiting, openGate } = await fullWorker()
    worker.drain({ at: 0, by: 'ann', reason: 'the host is replaced' })
    expect(worker.state()).toMatchObject({ isDraining: true, drained: { by: 'ann' } })
    // Nothing here is old by the worker's clock: only the drain gives it back.
    await expect.poll(waiting).toEqual([])
    openGate()
    await expect.poll(() => worker.running).toBe(0)
    expect(begun).toHaveLength(QUICK + PLACES)
    worker.resume()
    await Promise.all(handles.map((handle) => handle.result()))
    expect(worker.state().drained).toBe(null)
  })
})
